package import CASStore
package import HotPush
import Storage
import Synchronization

// The files that never change: they come when they are asked for.
extension OriginMirror {
    /// A file that an answer consists of.
    package typealias Piece = AnswerBody.File

    // MARK: What is here

    /// Keeps what a body is read from, if all is here.
    ///
    /// Those who send the same archive share one hold: it names up to 65,535 files. The newest ones stay until something
    /// is fetched, so what is sent over and over is not looked through each time.
    package func hold(_ body: AnswerBody) -> MirrorHold? {
        guard case .archive = body.source else { return cache.pin(allOf: body.files.map(\.name)) }
        if let shared = state.withLock({ $0.holds[body.tag]?.hold }) { return shared }
        let names = body.files.map(\.name)
        guard let hold = cache.pin(allOf: names) else { return nil }
        state.withLock { state in
            if state.holds.values.reduce(names.count, { $0 + $1.idleCount }) > Self.idleMax {
                state.forgetIdle()
            }
            state.holds[body.tag] = SharedHold(hold: hold, idle: hold, fileCount: names.count)
        }
        return hold
    }

    private static var idleMax: Int { 65_536 }

    /// A hold, as long as somebody has it.
    struct SharedHold: Sendable {
        weak var hold: MirrorHold?
        /// The same, as long as its files need not go.
        var idle: MirrorHold?
        let fileCount: Int

        var idleCount: Int { idle == nil ? 0 : fileCount }
    }

    /// Removes a file that is not what its name says: it comes anew when it is asked for.
    package func drop(_ name: OriginKey) throws(StoreError) {
        try cache.drop(name)
        // Whoever asks for an archive from now on has to be told that this file lacks.
        state.withLock { $0.holds = [:] }
    }

    /// What a device's request needs that is not here.
    package enum Lack: Sendable, Hashable {
        /// A file that never changes.
        case file(PlacedFile)
        /// The pointer of a channel that nobody has asked for before.
        case pointer(ChannelName)
    }

    /// What the request for a file of the origin needs that is not here; `nil` if it can be answered.
    package func lack(_ file: ServedFile) -> Lack? {
        if let channel = file.channel { return isUnwatched(channel) ? .pointer(channel) : nil }
        guard let placed = PlacedFile(file), !cache.has(placed.name) else { return nil }
        return cache.isAbsent(placed.key.path) ? nil : .file(placed)
    }

    // MARK: Bringing

    /// Fetches what lacks of the pieces of an answer, and keeps them.
    ///
    /// - Parameter then: called once, on whatever thread.
    package func bring(
        _ pieces: [Piece], then: @escaping @Sendable (Result<MirrorHold, StoreError>) -> Void
    ) {
        let hold = cache.pin(pieces.map(\.name))
        do throws(StoreError) {
            let files = try placed(pieces.filter { !cache.has($0.name) })
            fetch(files, areKnown: true) { then($0.map(Result.failure) ?? .success(hold)) }
        } catch {
            then(.failure(error))
        }
    }

    /// Fetches a file that a device asks for by its path.
    ///
    /// - Parameter then: called once, on whatever thread; no failure if it is not in the bucket.
    package func bring(
        _ file: PlacedFile, then: @escaping @Sendable (StoreError?) -> Void
    ) {
        // Where the documents of a release are damaged, a device may know its files from elsewhere.
        let listed = try? find([file.name])[file.name]
        fetch([listed ?? file], areKnown: listed != nil) { [cache] failure in
            // What a release lists is there: a refusal may pass.
            guard let failure,
                failure.code == .missingFromBucket
                    || listed == nil && failure.code == .accessDenied
            else { return then(failure) }
            cache.noteAbsence(file.key.path)
            then(nil)
        }
    }

    /// Fetches what lacks of the pieces of an answer, keeps them, and returns when all are here.
    package func bringNow(_ pieces: [Piece]) throws(StoreError) -> MirrorHold {
        let hold = cache.pin(pieces.map(\.name))
        try Self.waiting { then in
            bring(pieces) { result in
                if case .failure(let error) = result { then(error) } else { then(nil) }
            }
        }
        return hold
    }

    /// Fetches a file that a device asks for by its path, and returns when it is here, or is known not to be there.
    package func bringNow(_ file: PlacedFile) throws(StoreError) {
        try Self.waiting { bring(file, then: $0) }
    }

    /// Fetches the documents that lack.
    func bringNow(_ files: [PlacedFile]) throws(StoreError) {
        var lacking: [PlacedFile] = []
        for file in files where try !cache.proves(file.name) { lacking.append(file) }
        for file in lacking {
            if let failure = laggards.failure(of: file.key.path) { throw failure }
        }
        try Self.waiting { fetch(lacking, areKnown: true, then: $0) }
    }

    private func fetch(
        _ files: [PlacedFile], areKnown: Bool, then: @escaping @Sendable (StoreError?) -> Void
    ) {
        // What comes may need the room of what nobody sends.
        if !files.isEmpty { state.withLock { $0.forgetIdle() } }
        cache.fetch(files, areKnown: areKnown, then: then)
    }

    private static func waiting(
        _ begin: (@escaping @Sendable (StoreError?) -> Void) -> Void
    ) throws(StoreError) {
        let outcome = Mutex<StoreError?>(nil)
        let bell = ThreadBell()
        begin { failure in
            outcome.withLock { $0 = failure }
            bell.ring()
        }
        bell.wait()
        if let failure = outcome.withLock({ $0 }) { throw failure }
    }

    // MARK: Where files stand

    /// Where pieces stand in the bucket.
    /// - Throws: `.missingFromBucket` if no release lists one of them any more.
    private func placed(_ pieces: [Piece]) throws(StoreError) -> [PlacedFile] {
        let sizes = Dictionary(pieces.map { ($0.name, $0.byteCount) }) { first, _ in first }
        let found = try find(Set(sizes.keys), isThorough: true)
        return try sizes.map { (name, byteCount) throws(StoreError) in
            guard let file = found[name], file.byteCount ?? byteCount == byteCount else {
                throw StoreError(
                    .missingFromBucket,
                    "\(name.path) belongs to a release that \(bucket.place) offers no more",
                    object: name.address)
            }
            return file
        }
    }

    /// Where files stand, of what the pointers list.
    /// - Parameter isThorough: whether the documents of releases are read that the table has no room for.
    private func find(
        _ names: Set<OriginKey>, isThorough: Bool = false
    ) throws(StoreError) -> [OriginKey: PlacedFile] {
        var listed = state.withLock { $0.listed }
        var found: [OriginKey: PlacedFile] = [:]
        func look(in files: ListedFiles) -> Bool {
            for name in names where found[name] == nil { found[name] = files.file(name) }
            return found.count == names.count
        }
        if look(in: listed) { return found }
        let known = listed.releases
        let beyond = listed.read(in: cache, upTo: options.tableCountMax)
        state.withLock { state in if state.listed.releases == known { state.listed = listed } }
        if look(in: listed) { return found }
        var failure = listed.failure
        for release in isThorough ? beyond : [] {
            var own = ListedFiles([release])
            _ = own.read(in: cache)
            if look(in: own) { return found }
            failure = failure ?? own.failure
        }
        if let failure { throw failure }
        return found
    }

    /// Takes stock after a look: what the pointers list, and what must stay for it.
    func settleNeeds() {
        let needed = state.withLock { state in
            let before = state.listed.releases
            state.listed.offer(state.pointers.sorted { $0.key < $1.key }.map(\.value))
            if state.listed.releases != before { cache.forgetAbsences() }
            return Set(state.needs.values.flatMap(\.files).map(\.name))
        }
        let hold = cache.pin(Array(needed))
        state.withLock { $0.needed = [hold] }
        do throws(StoreError) { try cache.trim(to: cache.limit) } catch {
            reach.tell(error.message, of: "the room of the cache")
        }
    }
}
