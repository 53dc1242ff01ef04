import Buckets
package import CASStore
package import HotPush
import Synchronization

// The files that never change: they come when they are asked for.
extension OriginMirror {
    /// A file that an answer consists of.
    package typealias Piece = AnswerBody.File

    /// How long it is believed that something is not in the bucket, in milliseconds.
    private static var absenceTime: Int64 { 60_000 }

    // MARK: What is here

    /// Keeps what a body is read from, if all is here and was compared with its names since this process began.
    ///
    /// Those who send the same archive share one hold: it names up to 65,535 files. The newest ones stay until something
    /// is fetched, so what is sent over and over is not looked through each time.
    package func hold(_ body: AnswerBody) -> MirrorHold? {
        guard case .archive = body.source else {
            return shelf.holdProven(body.files.map(\.name))
        }
        let shared = state.withLock { $0.idle.value(of: body.tag) ?? $0.holds[body.tag]?.hold }
        if let shared { return shared }
        let names = body.files.map(\.name)
        guard let hold = shelf.holdProven(names) else { return nil }
        state.withLock { state in
            if state.holds.count >= Self.holdMax {
                state.holds = state.holds.filter { $0.value.hold != nil }
            }
            state.holds[body.tag] = SharedHold(hold: hold)
            state.idle.insert(body.tag, hold, cost: names.count)
        }
        return hold
    }

    private static var holdMax: Int { 256 }

    /// A hold, as long as somebody else has it.
    struct SharedHold: Sendable {
        weak var hold: MirrorHold?
    }

    /// Whether the bytes of a file were compared with its name since this process began.
    package func isProven(_ name: PlacedFile.Name) -> Bool { shelf.isProven(name) }

    /// Notes that files are what their names say.
    package func prove(_ pieces: [Piece]) { shelf.prove(pieces.map(\.name)) }

    /// Removes a file that is not what its name says: it comes anew when it is asked for.
    package func drop(_ name: PlacedFile.Name) throws(StoreError) {
        try shelf.drop(name)
        // Whoever asks for an archive from now on has to be told that this file lacks.
        state.withLock { state in
            state.holds = [:]
            state.forgetIdle()
        }
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
        guard let placed = PlacedFile(file), !shelf.has(placed.name) else { return nil }
        let at = state.withLock { $0.absent.value(of: placed.key) }
        if let at, SystemClock.milliseconds - at < Self.absenceTime { return nil }
        return .file(placed)
    }

    // MARK: Bringing

    /// Fetches what lacks of the pieces of an answer, and keeps them.
    ///
    /// - Parameter then: called once, on whatever thread.
    package func bring(
        _ pieces: [Piece], then: @escaping @Sendable (Result<MirrorHold, StoreError>) -> Void
    ) {
        let hold = shelf.hold(pieces.map(\.name))
        do throws(StoreError) {
            let files = try placed(pieces.filter { !shelf.has($0.name) })
            fetch(files, areListed: true) { failure in
                if let failure { return then(.failure(failure)) }
                then(.success(hold))
            }
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
        let listed: PlacedFile?
        do throws(StoreError) {
            listed = try find([file.name])[file.name]
        } catch {
            return then(error)
        }
        fetch([listed ?? file], areListed: listed != nil) { [self] failure in
            guard let failure, Self.isAbsence(failure) else { return then(failure) }
            state.withLock { state in
                state.absent.insert(file.key, SystemClock.milliseconds, cost: 1)
            }
            then(nil)
        }
    }

    /// Whether an error says that a file is not there: those who may not list are refused it.
    private static func isAbsence(_ error: StoreError) -> Bool {
        [.missingFromBucket, .accessDenied].contains(error.code)
    }

    /// Fetches what lacks of the pieces of an answer, keeps them, and returns when all are here.
    package func bringNow(_ pieces: [Piece]) throws(StoreError) -> MirrorHold {
        let outcome = Mutex<Result<MirrorHold, StoreError>?>(nil)
        let bell = ThreadBell()
        bring(pieces) { result in
            outcome.withLock { $0 = result }
            bell.ring()
        }
        bell.wait()
        guard let result = outcome.withLock({ $0 }) else {
            throw StoreError(.interrupted, "nothing was fetched")
        }
        return try result.get()
    }

    /// Fetches a file that a device asks for by its path, and returns when it is here, or is known not to be there.
    package func bringNow(_ file: PlacedFile) throws(StoreError) {
        try waiting { then in bring(file, then: then) }
    }

    /// Fetches the documents that lack.
    func bringNow(_ files: [PlacedFile]) throws(StoreError) {
        for file in files { try proveDocument(file) }
        let lacking = files.filter { !shelf.has($0.name) }
        try waiting { then in fetch(lacking, areListed: true, then: then) }
    }

    private func waiting(
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

    private func fetch(
        _ files: [PlacedFile], areListed: Bool, then: @escaping @Sendable (StoreError?) -> Void
    ) {
        guard !files.isEmpty else { return then(nil) }
        // What comes may need the room of what nobody sends.
        state.withLock { $0.forgetIdle() }
        let errand = MirrorErrand(files.count, then: then)
        guard fetching.add(files, areListed: areListed, for: errand) else {
            return then(
                StoreError(.tooLarge, "more files are asked for than \(bucket.place) gives"))
        }
    }

    // MARK: Where files stand

    /// Where pieces stand in the bucket.
    /// - Throws: `.missingFromBucket` if no release lists one of them any more.
    private func placed(_ pieces: [Piece]) throws(StoreError) -> [PlacedFile] {
        guard !pieces.isEmpty else { return [] }
        var unique: [PlacedFile.Name: Int64] = [:]
        for piece in pieces { unique[piece.name] = piece.byteCount }
        let found = try find(Set(unique.keys))
        return try unique.map { (name, byteCount) throws(StoreError) in
            guard let file = found[name], file.byteCount == byteCount else {
                throw StoreError(
                    .missingFromBucket,
                    "\(name.path(in: 0)) belongs to a release that \(bucket.place) offers no more",
                    object: name.address)
            }
            return file
        }
    }

    /// Where objects and twins stand, of what the pointers list.
    private func find(
        _ names: Set<PlacedFile.Name>
    ) throws(StoreError) -> [PlacedFile.Name: PlacedFile] {
        var missing = names
        var found: [PlacedFile.Name: PlacedFile] = [:]
        for release in state.withLock({ $0.listed }) where !missing.isEmpty {
            guard let placement = try placement(of: release) else { continue }
            for name in missing { found[name] = placement.file(name) }
            missing = missing.filter { found[$0] == nil }
        }
        return found
    }

    private func placement(of release: ListedRelease) throws(StoreError) -> ReleasePlacement? {
        if let known = state.withLock({ $0.placements.value(of: release) }) { return known }
        let path = PlacedFile.Name(.facts, release.facts).path(in: 0)
        // Fetched by the next look, if it has been lost.
        guard let bytes = try directory.contents(path, limit: ContentFacts.byteCountMax) else {
            return nil
        }
        let facts = try ContentFacts(bytes, named: release.facts)
        let placement = try ReleasePlacement(release, facts) { (address) throws(StoreError) in
            let path = PlacedFile.Name(.places, address).path(in: 0)
            let places = try directory.contents(path, limit: Int(Places.byteCountMax))
            guard let places else {
                throw StoreError(.missingFromBucket, "\(path) is not in \(printable(self.path))")
            }
            return places
        }
        state.withLock { $0.placements.insert(release, placement, cost: placement.cost) }
        return placement
    }

    /// Says where the files stand that a pointer lists which is about to be here.
    func list(also pointer: ChannelPointer) {
        state.withLock { state in
            let known = Set(state.listed)
            let news = pointer.releases.compactMap(ListedRelease.init).filter {
                !known.contains($0)
            }
            state.listed = news + state.listed
        }
    }

    /// Takes stock after a look: what the pointers list, and what must stay for it.
    func settleNeeds() {
        let needed = state.withLock { state -> Set<PlacedFile.Name> in
            var seen: Set<ListedRelease> = []
            let releases = state.pointers.sorted { $0.key < $1.key }.flatMap(\.value.releases)
            let listed = releases.compactMap(ListedRelease.init).filter { seen.insert($0).inserted }
            if listed != state.listed {
                state.listed = listed
                state.absent = BoundedCache(limit: 1_024)
            }
            return Set(state.needs.values.flatMap(\.files).map(\.name))
        }
        shelf.need(needed)
    }
}
