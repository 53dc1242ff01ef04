package import CASStore
package import HotPush
import Origin
import Platform
package import Storage
import Synchronization

/// The files of an origin in a bucket that a server needs, in a directory laid out as an origin.
///
/// A server that reads this directory thus answers from a bucket. ``look()`` fetches the files that change and stores
/// them in the publisher's order: a history before its pointer, and before both everything that answers about them
/// depend on. Files that never change are fetched on request (``bring(_:since:)``), from a `CachedStorage`.
///
/// A pointer or a history that is older than the one here is an old copy, and ignored. If the bucket cannot be
/// reached, everything here continues to be answered. Thread-safe.
package final class OriginMirror: Sendable {
    struct SeenChannel: Sendable {
        var pointer: ChannelPointer?
        var systems: [ClientSystem] = []
        var needs: [PlacedFile] = []
        /// Why its offers are still unknown; `nil` if they are here.
        var problem: StoreError?
    }

    struct State: Sendable {
        var seen: [ChannelName: SeenChannel] = [:]
        var needed: [CacheHold] = []
        var listed = ListedFiles()
        var channels: Set<ChannelName> = []
        /// The digests of copies here that the log has proved, by path.
        var proved: [String: ObjectID] = [:]
        var isLooking = false
        /// When the last look ended (monotonic clock), and how long it took.
        var looked = (at: SystemClock.milliseconds, time: Int64(0))
        /// Archives sent since the last fetch, by tag.
        var archives: [ObjectID: CacheHold] = [:]
    }

    let cache: CachedStorage
    let state = Mutex(State())
    let turn = ThreadGate(limit: 1)
    private let directory: MirrorDirectory

    var negatives: NegativeCache { cache.negatives }

    /// Opens the directory of a mirror, creating it if necessary; asks nothing of the bucket.
    /// - Throws: `.foreignCache`, `.busy`, `.unsupportedFormat`; what creating it throws.
    package init(
        _ bucket: any ObjectStorage, at path: String, _ options: CachedStorage.Options,
        on fileSystem: any FileSystem = POSIXFileSystem()
    ) throws(StoreError) {
        do throws(StoreError) {
            directory = try MirrorDirectory(path, of: bucket.place, fileSystem)
        } catch {
            throw MirrorDirectory.advised(error, path)
        }
        var options = options
        options.naming = { key in OriginKey(path: key).flatMap { NamedFile(PlacedFile($0)) } }
        // Every origin has both files; one of them may be the file that does not answer.
        options.sentinels = [OriginLayout.marker, OriginLayout.channelList]
        options.advise = { MirrorDirectory.advised($0, path) }
        cache = CachedStorage(bucket, in: directory.copies, options)
    }

    package var path: String { directory.copies.place }

    /// Loads what is in the directory, and looks at the bucket for the first time.
    /// - Returns: the origin in the directory.
    /// - Throws: `.noOrigin`; what the bucket throws if there is nothing here to answer from.
    package func begin() throws(StoreError) -> DirectoryOrigin {
        do throws(StoreError) { cache.begin(with: try directory.files()) } catch {
            throw MirrorDirectory.advised(error, path)
        }
        // Tells publishers that the origin is in a bucket.
        try cache.keep(OriginLayout.logMark, [], EntityTag(""))
        try takeOver()
        let isWarm = cache.digest(of: OriginLayout.marker) != nil
        if let error = failureOfLook() {
            guard isWarm, error.mayMeanLoss else { throw error }
            tell(error)
        }
        return try DirectoryOrigin(path, fileSystem: directory.fileSystem)
    }

    private func takeOver() throws(StoreError) {
        for (channel, systems) in try announcedChannels() {
            let seen = try known(of: channel, systems)
            // Only the bucket can tell that a channel does not exist.
            if seen.pointer != nil { state.withLock { $0.seen[channel] = seen } }
            for case let file? in seen.needs.map(NamedFile.init) { _ = try cache.proves(file) }
        }
        finishNeeds()
    }

    package var isLooking: Bool { state.withLock { $0.isLooking } }

    package func look() {
        if let error = failureOfLook(), error.code != .interrupted { tell(error) }
    }

    private func failureOfLook() -> StoreError? {
        let began = SystemClock.milliseconds
        state.withLock { $0.isLooking = true }
        defer {
            let now = SystemClock.milliseconds
            state.withLock { ($0.isLooking, $0.looked) = (false, (now, now - began)) }
        }
        do throws(StoreError) { try lookOnce() } catch { return error }
        negatives.note(nil)
        negatives.tell(nil, of: cache.place)
        return nil
    }

    /// Reports, once until looks end in time again, that no look, however slow its answers, has ended for `limit` ms.
    package func tellIfLate(after limit: Int64) {
        let looked = state.withLock { $0.looked }
        let time = SystemClock.milliseconds - looked.at
        // After a look that took very long, the next one may take as long.
        guard time >= limit || looked.time < limit else { return }
        let late = StoreError(
            .network,
            "\(cache.place) answers too slowly: no look for changes has ended for \(time / 1_000) s; "
                + NegativeCache.goesOn)
        negatives.tell(time >= limit ? late.message : nil, of: "the time of looks", late)
    }

    private func tell(_ error: StoreError) {
        if error.isUnanswered { return negatives.note(error) }
        negatives.tell("\(error.message); \(NegativeCache.goesOn)", of: cache.place)
    }
}

extension StoreError.Code {
    /// The directory is not a cache of this origin: it holds something else, or another origin's cache.
    package static let foreignCache = Self("foreignCache")
    /// It is unknown what a channel offers: its pointer has not come from the bucket yet.
    package static let unseenChannel = Self("unseenChannel")
}

extension NamedFile {
    /// `nil` for a file that is not named by its own bytes.
    init?(_ file: PlacedFile) {
        if case .delta = file.key.kind { return nil }
        self.init(
            file.key.path, name: file.name.path, file.key.address, byteCount: file.byteCount,
            byteCountMax: file.key.byteCountMax)
    }
}
