package import CASStore
package import HotPush
import Platform
package import Storage
import StrictJSON
import Synchronization

/// The files of an origin in a bucket, as far as a server needs them, in a directory that is laid out as an origin.
///
/// So who reads that directory answers from a bucket. The files that change are looked at again by ``look()``, and get
/// there in the publisher's order: a history before its pointer, and before both all that answers about them depend
/// on. What never changes comes when somebody asks for it (``OriginMirror/bring(_:then:)``), is compared with its
/// name before it has it, and goes when there is too much: what was used longest ago first, and nothing that is being
/// sent (``MirrorHold``).
///
/// A pointer or a history that is older than the one here is an old copy, and ignored. If the bucket cannot be
/// reached, all that is here goes on being answered. Several threads may use it at once.
package final class OriginMirror: Sendable {
    /// How a mirror is kept.
    package struct Options: Sendable {
        /// The most bytes of files on the disk; what all answers depend on counts, and stays.
        package var byteCount: Int64 = 10 << 30
        /// When the places of so many files are in memory, those of other releases are read for each request: about 50 MB.
        package var tableCountMax = 1 << 20
        /// A file that has kept a look waiting so long and did not come is asked for beside the next ones, in milliseconds.
        package var patience: Int64 = 2_000
        /// What reaches the directory.
        package var fileSystem: any FileSystem = POSIXFileSystem()
        /// The clock, in seconds since 1970.
        package var now: @Sendable () -> Int64 = secondsNow
        /// Told what an operator should know.
        package var notice: @Sendable (String) -> Void = { _ in }

        /// Makes the usual options.
        package init() {}
    }

    struct State: Sendable {
        /// Of the files that change and are here.
        var tags: [String: MirroredTag] = [:]
        var areTagsNoted = true
        /// How many bytes the files have that change and are here.
        var byteCounts: [String: Int64] = [:]
        /// The digests of copies here that the log has proved, by their paths.
        var proved: [String: ObjectID] = [:]
        /// The pointers that are here.
        var pointers: [ChannelName: ChannelPointer] = [:]
        /// What answers about a channel depend on.
        var needs: [ChannelName: ChannelNeeds] = [:]
        /// The channels that were looked at: what they offer is here.
        var seen: Set<ChannelName> = []
        /// Why nothing is known yet of what other channels offer.
        var unseen: [ChannelName: StoreError] = [:]
        /// What the pointers list, each once.
        var listed: [ListedRelease] = []
        /// The documents that the pointers name.
        var documents: [PlacedFile.Name: PlacedFile] = [:]
        /// Where the files stand of what is listed; made when somebody asks.
        var places = PlaceTable()
        /// What castree's own devices are offered; read when strangers ask for too much.
        var devices = DeviceFiles()
        /// The origin's channels, as it lists them.
        var channels: Set<ChannelName> = []
        /// Those whose pointers castree's own devices have asked for.
        var others: Set<ChannelName> = []
        /// When the last look ended, by the monotonic clock, and how long it took.
        var looked = (at: SystemClock.milliseconds, time: Int64(0))
        /// What is being sent, by the tags of archives.
        var holds: [ObjectID: SharedHold] = [:]
        /// The holds of archives that were sent last, whether or not somebody sends them now; counted by their files.
        var idle = State.idleHolds

        /// Lets those files go that nobody sends.
        mutating func forgetIdle() { idle = Self.idleHolds }

        private static var idleHolds: BoundedCache<ObjectID, MirrorHold> {
            BoundedCache(limit: 65_536)
        }
    }

    /// What answers about a channel to the clients of some systems depend on.
    struct ChannelNeeds: Sendable {
        var systems: [ClientSystem]
        var files: [PlacedFile]
    }

    let bucket: any ObjectStorage
    let directory: MirrorDirectory
    let shelf: MirrorShelf
    let reach: MirrorReach
    let fetching: MirrorFetching
    let absences = MirrorAbsences()
    let laggards: MirrorLaggards
    let options: Options
    let state = Mutex(State())
    /// One look at a time.
    let turn = ThreadGate(limit: 1)

    /// Opens the directory of a mirror, and makes it if need be; nothing is asked of the bucket.
    ///
    /// - Throws: `.foreignCache`, `.busy`, `.unsupportedFormat`; what making it throws.
    package init(
        _ bucket: any ObjectStorage, at path: String, _ options: Options = Options()
    ) throws(StoreError) {
        self.bucket = bucket
        self.options = options
        let directory: MirrorDirectory
        do throws(StoreError) {
            directory = try MirrorDirectory(
                path, of: bucket.place, fileSystem: options.fileSystem)
        } catch {
            throw MirrorDirectory.advised(error)
        }
        let shelf = MirrorShelf(directory, MirrorIndex.Limit(byteCount: options.byteCount))
        let laggards = MirrorLaggards(patience: options.patience) { (key) throws(StoreError) in
            _ = try bucket.get(key, ReadRequest(byteCountMax: Self.askedMax)) { _ in }
        }
        let reach = MirrorReach(bucket.place) { () throws(StoreError) in
            try Self.probe(bucket, laggards)
        } notice: {
            options.notice($0)
        }
        let fetch = MirrorFetch(
            bucket: bucket, directory: directory, shelf: shelf, reach: reach, absences: absences,
            laggards: laggards)
        self.laggards = laggards
        self.directory = directory
        self.shelf = shelf
        self.reach = reach
        fetching = MirrorFetching(threadMax: bucket.parallelCount - Self.lookingCount) {
            (file, isListed) in
            isListed ? fetch.fetch(file) : fetch.fetchStray(file)
        }
    }

    /// So many requests at once are kept for what looks ask for: clients' files that hang must not keep news away.
    static let lookingCount = 4
    /// More than any of those files has.
    private static let askedMax: Int64 = 1 << 30

    /// Whether anything of the bucket answers: one of the two files that every origin has may be what does not.
    private static func probe(
        _ bucket: any ObjectStorage, _ laggards: MirrorLaggards
    ) throws(StoreError) {
        var failure: StoreError?
        for key in [OriginLayout.marker, OriginLayout.channelList] {
            if let known = laggards.failure(of: key) {
                failure = known
                continue
            }
            let began = SystemClock.milliseconds
            do throws(StoreError) {
                _ = try bucket.head(key)
                return
            } catch {
                guard MirrorReach.isLoss(error) else { return }
                laggards.note(key, error, since: began)
                failure = error
            }
        }
        if let failure { throw failure }
    }

    /// The directory.
    package var path: String { directory.path }

    /// Takes what is in the directory, and looks at the bucket for the first time.
    ///
    /// - Returns: the origin in the directory.
    /// - Throws: `.noOrigin`; what the bucket throws if there is nothing here to answer from.
    package func begin() throws(StoreError) -> DirectoryOrigin {
        defer { noteLook(since: SystemClock.milliseconds) }
        try directory.replace(OriginLayout.logMark, with: [])
        try shelf.scan()
        let isWarm = try takeOver()
        do throws(StoreError) {
            try lookOnce()
            reach.note(nil)
        } catch {
            guard isWarm, error.code == .accessDenied || MirrorReach.isLoss(error) else {
                throw error
            }
            tell(error)
        }
        return try DirectoryOrigin(directory.path, fileSystem: options.fileSystem)
    }

    /// Looks whether something has changed in the bucket, and says what keeps it from that.
    package func look() {
        let began = SystemClock.milliseconds
        defer { noteLook(since: began) }
        do throws(StoreError) {
            try lookOnce()
            reach.note(nil)
            reach.tell(nil, of: bucket.place)
        } catch {
            if error.code != .interrupted { tell(error) }
        }
    }

    /// Says that no look has ended for so long, in milliseconds; once, until they end in time again.
    ///
    /// A bucket that answers, but so slowly that a look takes very long, is neither reached nor out of reach.
    package func tellIfLate(after limit: Int64) {
        let looked = state.withLock { $0.looked }
        let time = SystemClock.milliseconds - looked.at
        // One that took very long is no sign of the next one's end.
        guard time >= limit || looked.time < limit else { return }
        reach.tell(
            time >= limit ? "late" : nil, of: "the time of looks",
            saying: "\(bucket.place) answers too slowly: no look for changes has ended for "
                + "\(time / 1_000) s; what is in the cache goes on being answered")
    }

    private func noteLook(since began: Int64) {
        let now = SystemClock.milliseconds
        state.withLock { $0.looked = (now, now - began) }
    }

    private func tell(_ error: StoreError) {
        if MirrorReach.isLoss(error) {
            reach.note(error)
        } else {
            reach.tell(
                "\(error.message); what is in the cache goes on being answered", of: bucket.place)
        }
    }

    // MARK: At the start

    /// Believes of the files that change those that are what was noted of them; forgets the others.
    /// - Returns: whether there is an origin.
    private func takeOver() throws(StoreError) -> Bool {
        var tags = directory.notedTags()
        for (path, tag) in tags {
            let bytes = try directory.contents(path, limit: ClientHistory.byteCountMax)
            if let bytes, try ObjectID(of: bytes) == tag.digest { continue }
            tags[path] = nil
            // One that came just before a kill is whole; one that a power cut has torn is no JSON.
            if let bytes, (try? JSONValue.parse(bytes)) != nil { continue }
            try directory.remove(path)
        }
        state.withLock { $0.tags = tags }
        try countChangingFiles()
        for (channel, systems) in Self.channels(of: try mirroredConfigurations()) {
            try takeOverPointer(of: channel)
            let files = try needs(of: channel, systems)
            state.withLock { $0.needs[channel] = ChannelNeeds(systems: systems, files: files) }
            for file in files { try proveDocument(file) }
        }
        settleNeeds()
        return tags[OriginLayout.marker] != nil
    }

    private func takeOverPointer(of channel: ChannelName) throws(StoreError) {
        let bytes = try directory.contents(
            OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax)
        // What cannot be read is answered with its reason, until another one comes.
        let pointer = bytes.flatMap { try? ChannelPointer(parsing: $0, of: channel) }
        state.withLock { $0.pointers[channel] = pointer }
    }

    /// Compares a document that an earlier process has left with its name.
    func proveDocument(_ file: PlacedFile) throws(StoreError) {
        guard shelf.has(file.name), !shelf.isProven(file.name) else { return }
        let path = file.name.path(in: 0)
        let bytes: [UInt8]?
        do throws(StoreError) {
            bytes = try directory.contents(path, limit: Int(file.name.byteCountMax))
        } catch {
            // Too large, or unreadable: fetched anew like one with other bytes.
            bytes = nil
        }
        if let bytes, try ObjectID(of: bytes) == file.name.address {
            shelf.prove([file.name])
        } else {
            try shelf.drop(file.name)
        }
    }
}
