package import CASStore
package import HotPush
import Synchronization
import VersionTree

/// An origin in a directory as a server of clients reads it: what has been read is kept in memory until its file
/// changes.
///
/// **Never half.** The publisher writes a history before its pointer; so the pointer is looked at first and the history
/// afterwards. Then the history knows all that the pointer offers, and what it knows besides is left out
/// (``ClientChannel``): an answer is that of before a change, or that of after it.
///
/// Each look-up costs a stat(2) for the pointer and one for the history. Those that would have to read a file throw
/// ``Platform/StoreError/Code/unread`` unless they may, so that a loop can leave the reading to another thread. Several
/// threads may use it at once.
package final class OriginReader: Sendable {
    /// What is kept in memory, in bytes, about.
    package struct Limits: Sendable {
        /// Manifests and facts of releases, as they are used.
        package var contents = 24 << 20
        /// The same, where a client fetches their files: no check waits because of what others fetch.
        package var fetchedContents = 16 << 20
        /// Small objects and documents.
        package var bytes = 4 << 20
        /// How long archives are, which takes long to find: some hundreds.
        package var archiveByteCounts = 256 << 10
        /// Answers that take long to write.
        package var encoded = 4 << 20
        /// The largest object or document that is read whole.
        package var largest = Int(ClientDocument.byteCountMax)

        package init() {}
    }

    struct ChannelKey: Hashable, Sendable {
        let channel: ChannelName
        let system: ClientSystem
    }

    struct ContentKey: Hashable, Sendable {
        let manifest: ObjectID
        let content: ObjectID
        let facts: ObjectID
    }

    /// What a file was found to say, until it changes.
    struct Kept<Value: Sendable>: Sendable {
        /// `nil`: there was no file.
        var status: FileStatus?
        var outcome: Result<Value?, StoreError>
        /// Another number for each reading.
        var reading: UInt64

        func isOf(_ now: FileStatus?) -> Bool {
            switch (status, now) {
            case (nil, nil): true
            case (let status?, let now?): now.isUnchanged(since: status)
            default: false
            }
        }
    }

    struct Joined: Sendable {
        var pointer: UInt64
        var history: UInt64
        var channel: ClientChannel
        var number: UInt64
    }

    struct State: Sendable {
        var readings: UInt64 = 0
        var configurations: [ClientSystem: Kept<ClientConfiguration>] = [:]
        var pointers: [ChannelName: Kept<ChannelPointer>] = [:]
        var histories: [ChannelKey: Kept<ClientHistory>] = [:]
        var joined: [ChannelKey: Joined] = [:]
        var proofs: [ChannelKey: Proof] = [:]
        var files: RecentlyUsed<String, Kept<[UInt8]>>
        var contents: RecentlyUsed<ContentKey, ClientContent>
        var fetchedContents: RecentlyUsed<ContentKey, ClientContent>
        var bytes: RecentlyUsed<ObjectID, [UInt8]>
        var archiveByteCounts: RecentlyUsed<String, Int64?>
        var encoded: RecentlyUsed<String, [UInt8]>

        mutating func nextReading() -> UInt64 {
            readings += 1
            return readings
        }
    }

    package let origin: DirectoryOrigin
    let trust: OriginTrust?
    let baseURL: String?
    let limits: Limits
    let now: @Sendable () -> Int64
    /// Why nobody knows what a channel offers whose pointer is not here; `nil` if there is no such channel.
    package let whyUnseen: @Sendable (ChannelName) -> StoreError?
    /// Called between the look at a pointer and that at its history; for tests.
    let afterPointer: @Sendable () -> Void
    let state: Mutex<State>

    /// - Parameters:
    ///   - trust: whose pointers count; `nil` for what stands there.
    ///   - baseURL: where the server is for clients, whatever the configurations say; without a slash at its end.
    ///   - now: the clock, in seconds since 1970, by which signed pointers expire.
    ///   - whyUnseen: asked of a channel whose pointer is not here; `nil` if there is no such channel.
    package init(
        _ origin: DirectoryOrigin, trust: OriginTrust? = nil, baseURL: String? = nil,
        limits: Limits = Limits(), now: @escaping @Sendable () -> Int64 = secondsNow,
        whyUnseen: @escaping @Sendable (ChannelName) -> StoreError? = { _ in nil },
        afterPointer: @escaping @Sendable () -> Void = {}
    ) {
        self.origin = origin
        self.trust = trust
        self.baseURL = baseURL
        self.limits = limits
        self.now = now
        self.whyUnseen = whyUnseen
        self.afterPointer = afterPointer
        state = Mutex(
            State(
                files: RecentlyUsed(limit: limits.bytes),
                contents: RecentlyUsed(limit: limits.contents, keepsOneLarger: true),
                fetchedContents: RecentlyUsed(
                    limit: limits.fetchedContents, keepsOneLarger: true),
                bytes: RecentlyUsed(limit: limits.bytes, keepsOneLarger: true),
                archiveByteCounts: RecentlyUsed(limit: limits.archiveByteCounts),
                encoded: RecentlyUsed(limit: limits.encoded, keepsOneLarger: true)))
    }

    /// Reads another origin by the same rules.
    func moved(to origin: DirectoryOrigin) -> OriginReader {
        OriginReader(
            origin, trust: trust, baseURL: baseURL, limits: limits, now: now,
            whyUnseen: whyUnseen, afterPointer: afterPointer)
    }
}

extension StoreError.Code {
    /// A file would have to be read, which is not allowed here: ask again where it is.
    package static let unread = Self("unread")
    /// Something would have to be put together that takes long, which is not allowed here: ask again where it is.
    package static let unplanned = Self("unplanned")
}
