package import CASStore
package import HotPush
import Storage
import Synchronization

// The files that never change: they come when they are asked for.
extension OriginMirror {
    /// A file that an answer consists of.
    package typealias Piece = AnswerBody.File

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
        return absences.has(placed.key) ? nil : .file(placed)
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
        // Where the documents of a release are damaged, a device may know its files from elsewhere.
        let listed =
            (try? find([file.name])[file.name])
            ?? (absences.areTooMany ? deviceFile(file.name) : nil)
        fetch([listed ?? file], areListed: listed != nil) { [self] failure in
            guard let failure, MirrorFetch.isAbsence(failure) else { return then(failure) }
            // What a release lists is there: a refusal may pass.
            guard listed == nil || failure.code != .accessDenied else { return then(failure) }
            absences.note(file.key)
            then(nil)
        }
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
        for file in lacking { if let failure = laggards.failure(of: file.key) { throw failure } }
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
        let found = try find(Set(unique.keys), isThorough: true)
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

    /// Where files stand, of what the pointers list.
    /// - Parameter isThorough: whether the documents of releases are read that the table has no room for.
    private func find(
        _ names: Set<PlacedFile.Name>, isThorough: Bool = false
    ) throws(StoreError) -> [PlacedFile.Name: PlacedFile] {
        var found = state.withLock { state in
            names.reduce(into: [:]) { found, name in found[name] = state.documents[name] }
        }
        guard found.count < names.count else { return found }
        let places = places()
        for name in names where found[name] == nil { found[name] = places.file(name) }
        var failure = places.failure
        for release in isThorough ? places.beyond : [] where found.count < names.count {
            var own = PlaceTable()
            add(release, to: &own)
            for name in names where found[name] == nil { found[name] = own.file(name) }
            failure = failure ?? own.failure
        }
        if let failure, found.count < names.count { throw failure }
        return found
    }

    /// Where the files stand of all that is listed; what came since the last time is added.
    private func places() -> PlaceTable {
        let (listed, known) = state.withLock { ($0.listed, $0.places) }
        if known.releases.count == listed.count, known.releases == listed { return known }
        let before = Set(known.releases)
        let isGrown = before.isSubset(of: listed)
        var table = isGrown ? known : PlaceTable()
        for release in listed where !(isGrown && before.contains(release)) {
            if table.count < options.tableCountMax {
                add(release, to: &table)
            } else {
                table.beyond.append(release)
            }
        }
        table.releases = listed
        state.withLock { $0.places = table }
        return table
    }

    private func add(_ release: ListedRelease, to table: inout PlaceTable) {
        table.add(release) { () throws(StoreError) in
            let name = PlacedFile.Name(.facts, release.facts)
            return try ContentFacts(
                document(name, limit: ContentFacts.byteCountMax), named: release.facts)
        } _: { (address) throws(StoreError) in
            try document(PlacedFile.Name(.places, address), limit: Int(Places.byteCountMax))
        }
    }

    /// Where a file stands that the documents list which devices fetch first: strangers who ask for what nobody offers keep
    /// no device from it.
    private func deviceFile(_ name: PlacedFile.Name) -> PlacedFile? {
        guard name.kind == .object || name.kind == .pack else { return nil }
        let known = state.withLock { $0.devices }
        var devices = known
        devices.read(has: shelf.has) { (name) throws(StoreError) in
            try document(name, limit: Int(name.byteCountMax))
        }
        if !devices.isSame(as: known) {
            state.withLock { state in
                if state.devices.isOfSameReleases(as: devices) { state.devices = devices }
            }
        }
        return devices.file(name)
    }

    private func document(
        _ name: PlacedFile.Name, limit: Int
    ) throws(StoreError) -> [UInt8] {
        let path = name.path(in: 0)
        // Fetched by the next look, if it has been lost.
        guard let bytes = try directory.contents(path, limit: limit) else {
            throw StoreError(.missingFromBucket, "\(path) is not in \(printable(self.path))")
        }
        return bytes
    }

    /// Says where the files stand that a pointer lists which is about to be here.
    func list(also pointer: ChannelPointer, _ systems: [ClientSystem]) {
        state.withLock { state in
            let known = Set(state.listed)
            let news = pointer.releases.compactMap(ListedRelease.init).filter {
                !known.contains($0)
            }
            if !systems.isEmpty { state.listed = news + state.listed }
            state.documents.merge(pointer.placedDocuments) { known, _ in known }
        }
    }

    /// Takes stock after a look: what the pointers list, and what must stay for it.
    func settleNeeds() {
        let (needed, byteCount) = state.withLock { state -> (Set<PlacedFile.Name>, Int64) in
            var seen: Set<ListedRelease> = []
            let pointers = state.pointers.sorted { $0.key < $1.key }.map(\.value)
            // Of a channel that no system's clients get, the facts are not here.
            let listed = pointers.filter { state.needs[$0.channel]?.systems.isEmpty == false }
                .flatMap(\.releases).compactMap(ListedRelease.init)
                .filter { seen.insert($0).inserted }
            if listed != state.listed {
                state.listed = listed
                absences.forgetKeys()
            }
            state.documents = pointers.reduce(into: [:]) { documents, pointer in
                documents.merge(pointer.placedDocuments) { known, _ in known }
            }
            state.devices.offer(pointers)
            // What lacked may be here now.
            if state.places.failure != nil { state.places = PlaceTable() }
            return (
                Set(state.needs.values.flatMap(\.files).map(\.name)),
                state.byteCounts.values.reduce(0, +)
            )
        }
        do throws(StoreError) {
            try shelf.need(needed, besides: byteCount)
        } catch {
            reach.tell(error.message, of: Self.roomPart)
        }
    }

    private static var roomPart: String { "the room of the cache" }
}

extension ChannelPointer {
    /// The documents that it names, and where they stand.
    fileprivate var placedDocuments: [PlacedFile.Name: PlacedFile] {
        var documents: [PlacedFile.Name: PlacedFile] = [:]
        for release in releases {
            var files = ListedRelease(release)?.documents ?? []
            if let version = release.version {
                let name = PlacedFile.Name(.manifest, version.manifest)
                files.append(
                    PlacedFile(name, in: version.epoch, byteCount: version.manifestByteCount))
                if let places = version.places {
                    files.append(PlacedFile(PlacedFile.Name(.places, places), in: version.epoch))
                }
            }
            if let delivery = release.delivery {
                files.append(
                    PlacedFile(
                        PlacedFile.Name(.delivery, delivery.address), in: delivery.epoch,
                        byteCount: delivery.byteCount))
            }
            for file in files where documents[file.name] == nil { documents[file.name] = file }
        }
        return documents
    }
}
