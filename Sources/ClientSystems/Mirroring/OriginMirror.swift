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
        /// The digests of copies here that the log has proved, by their paths.
        var proved: [String: ObjectID] = [:]
        /// The pointers that are here.
        var pointers: [ChannelName: ChannelPointer] = [:]
        /// What answers about a channel depend on.
        var needs: [ChannelName: ChannelNeeds] = [:]
        /// Keeps all that.
        var needed: [MirrorHold] = []
        /// The channels that were looked at: what they offer is here.
        var seen: Set<ChannelName> = []
        /// Why nothing is known yet of what other channels offer.
        var unseen: [ChannelName: StoreError] = [:]
        /// What the pointers list.
        var listed = ListedFiles()
        /// The origin's channels, as it lists them.
        var channels: Set<ChannelName> = []
        /// Those whose pointers castree's own devices have asked for.
        var others: Set<ChannelName> = []
        /// When the last look ended, by the monotonic clock, and how long it took.
        var looked = (at: SystemClock.milliseconds, time: Int64(0))
        /// Archives that are being sent, or were sent last, by their tags.
        var holds: [ObjectID: SharedHold] = [:]

        /// Lets those files go that nobody sends.
        mutating func forgetIdle() {
            for tag in holds.keys { holds[tag]?.idle = nil }
            holds = holds.filter { $0.value.hold != nil }
        }
    }

    /// What answers about a channel to the clients of some systems depend on.
    struct ChannelNeeds: Sendable {
        var systems: [ClientSystem]
        var files: [PlacedFile]
    }

    let cache: MirrorCache
    let reach: MirrorReach
    let laggards: MirrorLaggards
    let options: Options
    let state = Mutex(State())
    /// One look at a time.
    let turn = ThreadGate(limit: 1)

    var bucket: any ObjectStorage { cache.bucket }

    /// Opens the directory of a mirror, and makes it if need be; nothing is asked of the bucket.
    ///
    /// - Throws: `.foreignCache`, `.busy`, `.unsupportedFormat`; what making it throws.
    package init(
        _ bucket: any ObjectStorage, at path: String, _ options: Options = Options()
    ) throws(StoreError) {
        self.options = options
        let directory: MirrorDirectory
        do throws(StoreError) {
            directory = try MirrorDirectory(path, of: bucket.place, options.fileSystem)
        } catch {
            throw MirrorDirectory.advised(error, path)
        }
        let laggards = MirrorLaggards(patience: options.patience) { (key) throws(StoreError) in
            _ = try bucket.get(key, ReadRequest(byteCountMax: Self.askedMax)) { _ in }
        }
        reach = MirrorReach(bucket.place) { () throws(StoreError) in
            try Self.probe(bucket, laggards)
        } notice: {
            options.notice($0)
        }
        let limit = MirrorIndex.Limit(byteCount: options.byteCount)
        cache = MirrorCache(bucket, directory, limit, reach, laggards)
        self.laggards = laggards
    }

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
    package var path: String { cache.directory.path }

    /// Takes what is in the directory, and looks at the bucket for the first time.
    ///
    /// - Returns: the origin in the directory.
    /// - Throws: `.noOrigin`; what the bucket throws if there is nothing here to answer from.
    package func begin() throws(StoreError) -> DirectoryOrigin {
        defer { noteLook(since: SystemClock.milliseconds) }
        try cache.scan()
        // Whoever would publish here is told that the origin is in a bucket.
        try cache.keep(OriginLayout.logMark, [], EntityTag(""))
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
        return try DirectoryOrigin(path, fileSystem: options.fileSystem)
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
        let late =
            "\(bucket.place) answers too slowly: no look for changes has ended for "
            + "\(time / 1_000) s; what is in the cache goes on being answered"
        reach.tell(time >= limit ? late : nil, of: "the time of looks", known: "late")
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

    /// Takes what earlier processes have left.
    /// - Returns: whether there is an origin.
    private func takeOver() throws(StoreError) -> Bool {
        for (channel, systems) in Self.channels(of: try mirroredConfigurations()) {
            try takeOverPointer(of: channel)
            let files = try needs(of: channel, systems)
            state.withLock { $0.needs[channel] = ChannelNeeds(systems: systems, files: files) }
            for file in files { _ = try cache.proves(file.name) }
        }
        settleNeeds()
        return cache.digest(of: OriginLayout.marker) != nil
    }

    private func takeOverPointer(of channel: ChannelName) throws(StoreError) {
        let bytes = try cache.contents(
            OriginLayout.pointer(channel), limit: ChannelPointer.byteCountMax)
        // What cannot be read is answered with its reason, until another one comes.
        let pointer = bytes.flatMap { try? ChannelPointer(parsing: $0, of: channel) }
        state.withLock { $0.pointers[channel] = pointer }
    }
}

extension StoreError.Code {
    /// The directory is no cache of this origin: it holds something else, or that of another one.
    package static let foreignCache = Self("foreignCache")
    /// A file that should be in the bucket is not, or has other bytes than its name says.
    package static let missingFromBucket = Self("missingFromBucket")
    /// Nobody knows what a channel offers: its pointer has not come from the bucket yet.
    package static let unseenChannel = Self("unseenChannel")
}
