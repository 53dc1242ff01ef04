import HotPush
import Platform

/// What an answer may depend on in an origin; tests have one in memory.
protocol ClientOrigin {
    /// What a channel offers to the clients of a system; `nil` if there is no such channel.
    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel?
    /// Says that the request is for files of a release, before those are looked up: no check waits for what that takes.
    ///
    /// - Parameter composing: whether an archive of them is composed, which always takes long.
    func willFetch(composing: Bool) throws(StoreError)
    /// The files of an offer; `nil` if the origin no longer holds them.
    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent?
    /// A document's bytes; `nil` if the origin does not hold it.
    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]?
    /// The length of an archive that takes long to compose, or that there is none.
    ///
    /// - Parameter name: says all that it depends on: who asks again may get what was found before.
    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64?
    /// The bytes of an answer that names so many files that it takes long to write.
    ///
    /// - Parameter name: says all that it depends on: who asks again may get what was written before.
    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8]
}
