import HotPush
import Platform

/// The parts of an origin that an answer may depend on; tests keep one in memory.
protocol ClientOrigin {
    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel?
    /// Announces that the request is for files of a release, before they are looked up: update checks must not wait
    /// behind that work.
    /// - Parameter composing: whether an archive is composed of them, which always takes long.
    func willFetch(composing: Bool) throws(StoreError)
    /// Returns `nil` if the origin no longer holds the files.
    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent?
    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]?
    /// The length of an archive that takes long to compose; `nil` if there is none.
    /// - Parameter name: identifies everything the result depends on, so that it can be cached.
    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64?
    /// The bytes of an answer that names so many files that writing it takes long.
    /// - Parameter name: identifies everything the result depends on, so that it can be cached.
    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8]
}
