package import CASStore
package import HotPush
import Synchronization
import VersionTree

/// An origin in a directory as a server of clients reads it, in memory until a file changes.
///
/// **Consistency.** The publisher writes a history before its pointer, so the reader looks at the pointer first and
/// the history afterwards. The history then knows all that the pointer offers, and ``ClientChannel`` leaves out the
/// rest: an answer is the one from before a change, or the one from after it.
///
/// Each look-up costs a stat(2) for the pointer and one for the history. If one needs to read a file and may not, it
/// throws ``Platform/StoreError/Code/unread``, so that an event loop can leave the reading to another thread.
/// Thread-safe.
package final class OriginReader: Sendable {
    /// Approximate bytes kept in memory.
    package struct Limits: Sendable {
        /// Manifests and facts of releases, by update checks.
        package var contents = 24 << 20
        /// The same for downloads, separate so that update checks never wait for what downloads displace.
        package var fetchedContents = 16 << 20
        package var bytes = 4 << 20
        /// Lengths of archives, which take long to find: some hundreds.
        package var archiveByteCounts = 256 << 10
        package var encoded = 4 << 20
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

    struct Kept<Value: Sendable>: Sendable {
        var status: FileStatus?
        var outcome: Result<Value?, StoreError>
        var reading: UInt64
        /// When a missing file was last looked for in the log, which may name it by now.
        var missedAt: Int64 = 0

        func isOf(_ now: FileStatus?, at time: Int64) -> Bool {
            switch (status, now) {
            case (nil, nil): 0..<5 ~= time - missedAt
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
    /// Why it is unknown what a channel without a pointer here offers; `nil` if there is no such channel.
    package let whyUnseen: @Sendable (ChannelName) -> StoreError?
    /// For tests: called between the look at a pointer and the look at its history.
    let afterPointer: @Sendable () -> Void
    let state: Mutex<State>

    /// - Parameters:
    ///   - trust: whose pointers count; `nil` to accept any.
    ///   - baseURL: the server's URL for clients, overriding the configurations; without a trailing slash.
    ///   - now: the clock, in seconds since 1970, by which signed pointers expire.
    ///   - whyUnseen: why it is unknown what a channel without a pointer here offers; `nil` if there is no such
    ///     channel.
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

    func moved(to origin: DirectoryOrigin) -> OriginReader {
        OriginReader(
            origin, trust: trust, baseURL: baseURL, limits: limits, now: now,
            whyUnseen: whyUnseen, afterPointer: afterPointer)
    }
}

extension StoreError.Code {
    /// A file would have to be read, which is not allowed here; repeat the call where it is.
    package static let unread = Self("unread")
    /// A download would have to be prepared, which takes long and is not allowed here; repeat the call where it is.
    package static let unplanned = Self("unplanned")
}
