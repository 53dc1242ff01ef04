package import CASStore
package import HotPush
import Platform
package import Storage
import Synchronization

/// The files of an origin in a bucket, as far as a server needs them, in a directory that is laid out as an origin.
///
/// So who reads that directory answers from a bucket. The files that change are looked at again by ``look()``, and get
/// there in the publisher's order: a history before its pointer, and before both all that answers about them depend
/// on. What never changes comes when somebody asks for it (``bring(_:since:)``), from a `CachedStorage`.
///
/// A pointer or a history that is older than the one here is an old copy, and ignored. If the bucket cannot be
/// reached, all that is here goes on being answered. Several threads may use it at once.
package final class OriginMirror: Sendable {
    /// A channel, as far as it is known.
    struct SeenChannel: Sendable {
        /// The pointer that is here.
        var pointer: ChannelPointer?
        /// To the clients of which systems it is told.
        var systems: [ClientSystem] = []
        /// What answers to them depend on.
        var needs: [PlacedFile] = []
        /// Why nothing is known yet of what it offers; else that is here.
        var trouble: StoreError?
    }

    struct State: Sendable {
        var seen: [ChannelName: SeenChannel] = [:]
        /// Keeps what answers depend on.
        var needed: [CacheHold] = []
        /// What the pointers list.
        var listed = ListedFiles()
        /// The origin's channels, as it lists them.
        var channels: Set<ChannelName> = []
        /// The digests of copies here that the log has proved, by their paths.
        var proved: [String: ObjectID] = [:]
        var isLooking = false
        /// When the last look ended, by the monotonic clock, and how long it took.
        var looked = (at: SystemClock.milliseconds, time: Int64(0))
        /// Archives that were sent since something was fetched, by their tags.
        var archives: [ObjectID: CacheHold] = [:]
    }

    let cache: CachedStorage
    let state = Mutex(State())
    /// One look at a time.
    let turn = ThreadGate(limit: 1)
    /// Keeps other processes out of it.
    private let directory: MirrorDirectory

    var negatives: NegativeCache { cache.negatives }

    /// Opens the directory of a mirror, and makes it if need be; nothing is asked of the bucket.
    ///
    /// - Parameter options: how the cache is kept.
    /// - Throws: `.foreignCache`, `.busy`, `.unsupportedFormat`; what making it throws.
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
        // One of the two files that every origin has may be what does not answer.
        options.sentinels = [OriginLayout.marker, OriginLayout.channelList]
        options.advise = { MirrorDirectory.advised($0, path) }
        cache = CachedStorage(bucket, in: directory.copies, options)
    }

    /// The directory.
    package var path: String { directory.copies.place }

    /// Takes what is in the directory, and looks at the bucket for the first time.
    ///
    /// - Returns: the origin in the directory.
    /// - Throws: `.noOrigin`; what the bucket throws if there is nothing here to answer from.
    package func begin() throws(StoreError) -> DirectoryOrigin {
        do throws(StoreError) { cache.begin(with: try directory.files()) } catch {
            throw MirrorDirectory.advised(error, path)
        }
        // Whoever would publish here is told that the origin is in a bucket.
        try cache.keep(OriginLayout.logMark, [], EntityTag(""))
        try takeOver()
        let isWarm = cache.digest(of: OriginLayout.marker) != nil
        if let error = failureOfLook() {
            guard isWarm, error.mayMeanLoss else { throw error }
            tell(error)
        }
        return try DirectoryOrigin(path, fileSystem: directory.fileSystem)
    }

    /// Takes what earlier processes have left.
    private func takeOver() throws(StoreError) {
        for (channel, systems) in try toldChannels() {
            let seen = try known(of: channel, systems)
            // Whether there is no such channel, the bucket says.
            if seen.pointer != nil { state.withLock { $0.seen[channel] = seen } }
            for case let file? in seen.needs.map(NamedFile.init) { _ = try cache.proves(file) }
        }
        settleNeeds()
    }

    /// Whether a look is under way.
    package var isLooking: Bool { state.withLock { $0.isLooking } }

    /// Looks whether something has changed in the bucket, and says what keeps it from that.
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

    /// Says that no look has ended for so long, in milliseconds; once, until they end in time again.
    ///
    /// A bucket that answers, but so slowly that a look takes very long, is neither reached nor out of reach.
    package func tellIfLate(after limit: Int64) {
        let looked = state.withLock { $0.looked }
        let time = SystemClock.milliseconds - looked.at
        // One that took very long is no sign of the next one's end.
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
    /// The directory is no cache of this origin: it holds something else, or that of another one.
    package static let foreignCache = Self("foreignCache")
    /// Nobody knows what a channel offers: its pointer has not come from the bucket yet.
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
