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
        /// What saves bytes, and answers do not depend on.
        var patches: [PlacedFile] = []
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
            var seen = try known(of: channel, systems)
            seen.patches = try keptPatches(of: channel)
            // Only the bucket can tell that a channel does not exist.
            if seen.pointer != nil { state.withLock { $0.seen[channel] = seen } }
            for case let file? in (seen.needs + seen.patches).map(NamedFile.init) {
                _ = try cache.proves(file)
            }
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

    // The files that change: fetches their current state from the bucket in an order that keeps answers consistent.

    /// Looks at all files that change; throws only errors of the whole bucket.
    func lookOnce() throws(StoreError) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        do throws(StoreError) {
            try lookAtMarker()
            try take(.channelList)
            let names = try cache.kept(ChangingFile.channelList).flatMap {
                // A list left by an earlier process may be torn; then no channel may be requested.
                try? ChannelList.names(parsing: $0)
            }
            state.withLock { $0.channels = Set(names ?? []) }
            for system in ClientSystem.allCases.sorted() { try take(.configuration(of: system)) }
            var channels = try announcedChannels()
            for channel in state.withLock({ $0.seen.keys.filter($0.channels.contains) })
            where channels[channel] == nil {
                channels[channel] = []
            }
            try forgetOthers(than: channels)
            let all = channels.sorted { $0.key < $1.key }
            defer { finishLook() }
            try cache.inParallel(all.count) { (index) throws(StoreError) in
                try self.lookAtChannel(all[index].key, all[index].value)
            }
            // A wrong version of the trust may have been mended.
            try lookAtTrust(
                upTo: state.withLock { $0.seen.values.compactMap(\.pointer?.trustVersion).max() })
        } catch {
            // Without configurations no client is answered at all.
            for channel in (try? announcedChannels())?.keys.sorted() ?? [] {
                noteUnseen(channel, because: error)
            }
            throw error
        }
    }

    /// Begins to follow the pointer of a channel that one of castree's own devices requests.
    package func watch(_ channel: ChannelName) {
        turn.enter()
        defer { turn.leave(limit: 1) }
        // Another request may have come first.
        guard isUnwatched(channel) else { return }
        do throws(StoreError) {
            if let refusal = negatives.refusal {
                return noteUnseen(channel, because: refusal)
            }
            // If its first look failed, other systems' clients may also get this channel.
            try lookAtChannel(channel, announcedChannels()[channel] ?? [])
        } catch {
            negatives.note(error)
        }
        finishLook()
    }

    /// Whether the origin lists a channel of which nothing is here.
    func isUnwatched(_ channel: ChannelName) -> Bool {
        state.withLock { state in
            let isKnown = state.seen[channel].map { $0.problem == nil } ?? false
            return state.channels.contains(channel) && !isKnown
                && state.seen.values.count { $0.systems.isEmpty } < Self.watchedMax
        }
    }

    /// The most channels followed only for castree's own devices.
    private static var watchedMax: Int { 256 }

    private func finishLook() {
        finishNeeds()
        do throws(StoreError) { try cache.noteTags() } catch {
            negatives.tell(error.message, of: "the tags")
        }
    }

    // MARK: One file

    func find(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        do throws(StoreError) {
            return try cache.news(of: file.path, limit: file.limit)
        } catch {
            // Without the right to list, S3 answers 403 for missing files.
            guard error.code == .accessDenied, cache.digest(of: file.path) == nil,
                file.path != OriginLayout.marker
            else { throw error }
            return .same
        }
    }

    /// The bucket's state of a file that concerns one part of the origin.
    ///
    /// If that file is too large, forbidden or unavailable, the mirror still updates the other parts.
    func findPart(_ file: ChangingFile) throws(StoreError) -> DocumentNews {
        let part = "reading \(file.path)"
        do throws(StoreError) {
            let news = try find(file)
            negatives.tell(nil, of: part)
            return news
        } catch {
            // Without a marker there is no origin, and nothing here to keep.
            guard file.path != OriginLayout.marker || cache.digest(of: file.path) != nil,
                error.code == .tooLarge || error.mayMeanLoss && !negatives.isLost(error)
            else { throw error }
            negatives.tell("\(error.message); what it said before counts", of: part, error)
            return .same
        }
    }

    /// Decides what to take of the bucket's answer, and reports what is wrong with the rest.
    func judged(
        _ file: ChangingFile, _ news: DocumentNews
    ) throws(StoreError) -> FileChange {
        var (taken, complaint) = (news, String?.none)
        // Nobody deletes what the log names.
        if case .gone = news {
            complaint = try objection(to: file, "is gone")
            if complaint != nil { taken = .same }
        } else if case .changed(let bytes, _) = news {
            // A damaged copy here is not worth keeping.
            let before = try cache.kept(file).flatMap { try? file.order($0) }
            let order: Int64?
            do throws(StoreError) { order = try file.order(bytes) } catch {
                // A damaged file explains the error to clients, unless there is an older good copy to answer from.
                complaint = error.message + (before == nil ? "" : "; what it said before counts")
                order = nil
            }
            if let before, let order, order < before {
                complaint = try objection(to: file, "is an older copy")
            }
            if before != nil, complaint != nil { taken = .same }
        }
        negatives.tell(complaint, of: file.path)
        return (file, taken)
    }

    private func take(_ file: ChangingFile) throws(StoreError) {
        try put(judged(file, findPart(file)))
    }

    func put(_ change: FileChange) throws(StoreError) {
        switch change.news {
        case .same: break
        case .changed(let bytes, let tag): try cache.keep(change.file.path, bytes, tag)
        case .gone: try forget(change.file.path)
        }
    }

    func forget(_ path: String) throws(StoreError) {
        try cache.forget(path)
        state.withLock { $0.proved[path] = nil }
    }

    /// Why a bucket's copy that is older than the copy here, or gone, does not count; `nil` if it does.
    ///
    /// Anyone who may write to the bucket may have written either. The log decides, so the copy here counts unless
    /// the log contradicts it; a copy that the log proved is not checked again.
    /// - Throws: errors that mean that the bucket cannot be reached.
    private func objection(
        to file: ChangingFile, _ problem: String
    ) throws(StoreError) -> String? {
        let (path, digest) = (file.path, cache.digest(of: file.path))
        let older = "\(path) in \(cache.place) \(problem), and the one here counts"
        let mended = "\(older); the next publish there mends it"
        if let digest, state.withLock({ $0.proved[path] }) == digest { return mended }
        do throws(StoreError) {
            guard let bytes = try cache.kept(file),
                try LoggedCopies.prove(bytes, at: path, in: cache)
            else { return nil }
        } catch {
            if negatives.isLost(error) || error.code == .interrupted { throw error }
            return "\(older) until the log says which of them is right: \(error.message)"
        }
        state.withLock { $0.proved[path] = digest }
        return mended
    }

    // MARK: The origin

    private func lookAtMarker() throws(StoreError) {
        let marker = ChangingFile.marker(of: cache.place)
        let news = try findPart(marker)
        if case .changed(let bytes, let tag) = news {
            _ = try marker.order(bytes)
            try cache.keep(marker.path, bytes, tag)
        }
        // Keep a marker that is gone from the bucket: without it nothing would be answered after a restart.
        if case .gone = news {} else if cache.digest(of: marker.path) != nil { return }
        throw StoreError(
            .noOrigin, "there is no origin in \(cache.place); castree publish creates one")
    }

    /// Fetches the versions of the trust that pointers name; before the first change of keys there is no file.
    /// - Parameter isMissingOnly: whether to leave those that are here alone.
    func lookAtTrust(upTo version: Int64?, isMissingOnly: Bool = false) throws(StoreError) {
        guard let version, version > TrustFile.firstVersion else { return }
        for version in TrustFile.firstVersion + 1...min(version, Self.trustMax) {
            let file = ChangingFile.trust(version)
            if isMissingOnly, cache.digest(of: file.path) != nil { continue }
            // Readers verify it against its own signatures.
            if case .changed(let bytes, let tag) = try findPart(file) {
                try cache.keep(file.path, bytes, tag)
            }
            // Each is verified against the one before.
            if cache.digest(of: file.path) == nil { return }
        }
    }

    private static var trustMax: Int64 { 1_000 }

    /// The channels that clients of other systems get, with those systems, by the configurations here.
    func announcedChannels() throws(StoreError) -> [ChannelName: [ClientSystem]] {
        var channels: [ChannelName: [ClientSystem]] = [:]
        for system in ClientSystem.allCases.sorted() {
            // A damaged configuration sets nothing; the answer reports it.
            let configuration = try cache.kept(.configuration(of: system)).flatMap {
                try? ClientConfiguration(parsing: $0, of: system)
            }
            guard let configuration, configuration.isEnabled else { continue }
            for channel in Set(configuration.deployments.values) {
                channels[channel, default: []].append(system)
            }
        }
        return channels
    }

    // MARK: The files that never change: they are fetched on request

    // MARK: What is here

    /// Holds the files that a body is read from; `nil` if one is missing.
    ///
    /// Senders of the same archive share one hold, which names up to 65,535 files. The newest holds stay until
    /// something is fetched, so that repeated requests need not check all files each time.
    package func hold(_ body: AnswerBody) -> CacheHold? {
        if !body.isArchive { return cache.pin(allOf: body.files.map(\.name.path)) }
        if let shared = state.withLock({ $0.archives[body.tag] }) { return shared }
        guard let hold = cache.pin(allOf: body.files.map(\.name.path)) else { return nil }
        let count = state.withLock {
            $0.archives.values.reduce(hold.names.count) { $0 + $1.names.count }
        }
        if count > Self.heldCountMax { forgetArchives() }
        state.withLock { $0.archives[body.tag] = hold }
        return hold
    }

    private static var heldCountMax: Int { 65_536 }

    private func forgetArchives() { state.withLock { $0.archives = [:] } }

    /// Removes a file that does not match its name; the next request fetches it again.
    package func drop(_ name: OriginKey) throws(StoreError) {
        try cache.drop(name.path)
        // Later requests for an archive must notice that this file is missing.
        forgetArchives()
    }

    /// What a device's request needs and is missing here.
    package enum Lack: Sendable, Hashable {
        case file(PlacedFile)
        case pointer(ChannelName)
    }

    /// What a request for a file of the origin needs and is missing here; `nil` if it can be answered.
    package func lack(_ file: ServedFile) -> Lack? {
        if let channel = file.channel { return isUnwatched(channel) ? .pointer(channel) : nil }
        guard let placed = PlacedFile(file), !cache.has(placed.name.path) else { return nil }
        return negatives.isMissing(placed.key.path) ? nil : .file(placed)
    }

    // MARK: Bringing

    /// Fetches what a device's request needs, and remembers what the bucket does not have or refuses.
    /// - Parameter since: when it was requested, in milliseconds; by default now.
    package func bring(_ lack: Lack, since: Int64? = nil) throws(StoreError) {
        switch lack {
        case .pointer(let channel): watch(channel)
        case .file(let file):
            let listed = listed(file)
            do throws(StoreError) {
                try fetch([listed ?? file], listed == nil ? .asked : .listed, since)
            } catch {
                // A file that a release lists exists, so the refusal may be temporary.
                let isRefused = listed == nil && error.code == .accessDenied
                guard isRefused || error.code == .missingFromBucket else { throw error }
                negatives.note(error, of: file.key.path, isMissing: true)
            }
        }
    }

    /// Fetches the missing pieces of an answer, and keeps them.
    /// - Throws: `.missingFromBucket`, also if no current release lists one of them; what fetching throws.
    package func bring(
        _ pieces: [AnswerBody.File], since: Int64? = nil
    ) throws(StoreError) -> CacheHold {
        let hold = cache.pin(pieces.map(\.name.path))
        let lacking = pieces.filter { !cache.has($0.name.path) }
        let sizes = Dictionary(lacking.map { ($0.name, $0.byteCount) }) { first, _ in first }
        let found = try find(Set(sizes.keys))
        let files = try sizes.map { (name, byteCount) throws(StoreError) in
            guard let file = found[name], file.byteCount ?? byteCount == byteCount else {
                throw StoreError(
                    .missingFromBucket,
                    "\(name.path) belongs to a release that \(cache.place) offers no more",
                    object: name.address)
            }
            return file
        }
        try fetch(files, .listed, since)
        return hold
    }

    /// The location of a file in a current release; `nil` if none is known to list it.
    package func listed(_ file: PlacedFile) -> PlacedFile? {
        // Where the documents of a release are damaged, a device may know its files from elsewhere.
        (try? find([file.name]))?[file.name]
    }

    func bringDocuments(_ files: [PlacedFile]) throws(StoreError) {
        try fetch(files.filter { !cache.has($0.name.path) }, .needed)
    }

    private func fetch(
        _ files: [PlacedFile], _ demand: FetchDemand, _ since: Int64? = nil
    ) throws(StoreError) {
        if files.isEmpty { return }
        // Incoming files may need the space of archives that nobody sends.
        forgetArchives()
        try cache.fetch(files.compactMap(NamedFile.init), demand, since: since)
    }

    // MARK: Where files stand

    private func find(_ names: Set<OriginKey>) throws(StoreError) -> [OriginKey: PlacedFile] {
        var listed = state.withLock { $0.listed }
        func found() -> [OriginKey: PlacedFile] {
            Dictionary(
                uniqueKeysWithValues: names.compactMap { name in
                    listed.file(name).map { (name, $0) }
                })
        }
        if case let all = found(), all.count == names.count { return all }
        let known = listed.releases
        listed.read(in: cache)
        state.withLock { [listed] state in
            if state.listed.releases == known { state.listed = listed }
        }
        let all = found()
        if all.count < names.count, let failure = listed.failure { throw failure }
        return all
    }

    /// After a look, determines what the pointers list and what must stay for it.
    func finishNeeds() {
        let needed = state.withLock { state in
            let before = state.listed.releases
            let seen = state.seen.sorted { $0.key < $1.key }.map(\.value)
            state.listed.offer(seen.compactMap(\.pointer))
            if state.listed.releases != before { negatives.forgetMissing() }
            return Set(seen.flatMap { $0.needs + $0.patches }.map(\.name.path))
        }
        let hold = cache.pin(Array(needed))
        state.withLock { $0.needed = [hold] }
        do throws(StoreError) { try cache.trim() } catch {
            negatives.tell(error.message, of: "the space of the cache")
        }
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

extension CachedStorage {
    func kept(_ file: ChangingFile) throws(StoreError) -> [UInt8]? {
        try kept(file.path, limit: file.limit)
    }
}
