package import HotPush
package import Platform
package import VersionTree

/// What a decider may look up in an origin; tests have one in memory.
package protocol ClientOrigin {
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
    /// A small object's bytes; `nil` if the origin does not hold it.
    func bytes(of address: ObjectID, byteCount: Int64) throws(StoreError) -> [UInt8]?
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

extension ClientOrigin {
    package func willFetch(composing: Bool) throws(StoreError) {}

    package func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? { try find() }

    package func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] { try write() }
}

/// The files of a release, and what is known of each.
package struct ClientContent: Sendable {
    /// The files.
    package var manifest: Manifest
    /// CRC-32, MD5 and twin of each object.
    package var facts: ContentFacts

    /// Whether an answer that names all files takes so long to write that others should not wait for it: a millisecond.
    var isLong: Bool { manifest.count > 500 }

    /// Makes one.
    package init(manifest: Manifest, facts: ContentFacts) {
        self.manifest = manifest
        self.facts = facts
    }
}

/// Answers the clients of one system: no clock, no file, no network of its own.
package protocol ClientDecider: SendableMetatype {
    /// The system.
    static var system: ClientSystem { get }
    /// The answer to a request; `nil` if the path is none of this system's.
    ///
    /// Names only what `origin` offers to this request, and only URLs that some decider answers.
    /// - Throws: what reading the origin throws. A request that is wrong is an answer, no error.
    static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer?
}
