import Archives
import CASStore
import HotPush
import Storage
import Synchronization
import VersionTree

/// Brings what other systems' clients need of a release into the origin: its facts and their deflated copies.
///
/// Rule U applies as for objects: each lost race decides anew which copies are used and made. Belongs to one thread.
final class FactsUpload {
    private let version: PublishedVersion
    private let channel: ChannelName
    private let objects: [Reference]
    private let making: DeflatedCopyMaking
    private let watch: UploadWatch
    private var source: ReleaseSource { making.source }
    private var seen: SeenFiles { source.seen }
    private var options: PublisherOptions { making.options }
    private var isLooking: Bool { options.looks(in: seen.storage) }
    private var listed: Set<Int64> = []
    /// The facts placed, and the deflated copies sent for them; `nil` if none were.
    private(set) var placed: PlannedFacts?
    private var sent = FileFigures()

    /// - Throws: `.tooLarge` for a version with too many files.
    init(
        _ manifest: Manifest, _ version: PublishedVersion, for channel: ChannelName,
        _ making: DeflatedCopyMaking, _ watch: UploadWatch
    ) throws(StoreError) {
        objects = Array(manifest.references)
        guard objects.count <= ContentFacts.objectCountMax else {
            throw StoreError(
                .tooLarge,
                "version \(manifest.version) has \(objects.count) different files; the clients of other systems are told of at "
                    + "most \(ContentFacts.objectCountMax)")
        }
        self.version = version
        self.channel = channel
        self.making = making
        self.watch = watch
    }

    struct Plan {
        let facts: ContentFacts
        let address: ObjectID
        /// What the release has already, if it is complete; `nil` if something is to be sent.
        var existing: PublishedFacts?
        var lacking: [Reference] = []
        /// In the order of the deflated copies.
        var epochs: [Int64] = []

        init(_ facts: ContentFacts, existing: PublishedFacts? = nil) throws(StoreError) {
            self.facts = facts
            self.existing = existing
            address =
                if let existing { existing.address } else {
                    try ObjectID(of: facts.serialized())
                }
        }
    }

    /// Decides what to send for a commit upon a state; sends nothing.
    /// - Parameter existing: the origin's epochs of objects that the store may not have.
    func plan(in state: OriginState, existing: [ObjectID: Int64] = [:]) throws(StoreError) -> Plan {
        if let plan = try self.existing(in: state) { return plan }
        let known = try known(in: state)
        let others = objects.filter { known.objects[$0.address] == nil }
        try making.make(others, existing: existing)
        var plan = try Plan(
            ContentFacts(
                Array(known.objects.values) + others.compactMap { making.made[$0.address] }))
        let epoch = state.entry.epoch
        let deflatedCopies = plan.facts.deflatedCopies
        let unknown = deflatedCopies.filter {
            known.epochs[$0.address] == nil && !known.missing.contains($0.address)
        }
        try seen.look(for: unknown, .deflatedCopy, upon: epoch, besides: &listed)
        let made = Set(others.compactMap { making.made[$0.address]?.deflatedCopy?.address })
        for deflatedCopy in deflatedCopies {
            let existing =
                made.contains(deflatedCopy.address) ? nil : known.epochs[deflatedCopy.address]
            let place = existing ?? seen.epoch(of: .deflatedCopy, deflatedCopy.address, upon: epoch)
            plan.epochs.append(place ?? epoch)
            if place == nil { plan.lacking.append(deflatedCopy) }
        }
        return plan
    }

    /// Brings in what is missing, for a commit upon a state.
    /// - Parameter state: replaced by the newest one if the upload took so long that its files are useless.
    func place(
        in state: inout OriginState, existing: [ObjectID: Int64] = [:]
    ) throws(StoreError) -> PublishedFacts {
        while true {
            let plan = try plan(in: state, existing: existing)
            placed = PlannedFacts(plan)
            placed?.deflatedCopies = sent
            if let existing = plan.existing { return existing }
            let epoch = state.entry.epoch
            try making.send(
                plan.lacking.map { SizedKey(.deflatedCopy, $0.address, in: epoch, $0.byteCount) })
            for deflatedCopy in plan.lacking { sent.add(deflatedCopy.byteCount) }
            placed?.deflatedCopies = sent
            if let newer = try watch.state(ahead: state) {
                state = newer
                continue
            }
            return try sendDocuments(plan, epoch)
        }
    }

    private func sendDocuments(_ plan: Plan, _ epoch: Int64) throws(StoreError) -> PublishedFacts {
        let facts = StorageBody(plan.facts.serialized(), address: plan.address)
        let published = PublishedFacts(
            address: plan.address, epoch: epoch,
            places: try seen.send(Places(plan.epochs), in: epoch))
        try seen.send(facts, OriginKey(.facts, facts.address, in: epoch))
        source.note(plan.facts, published)
        return published
    }

    /// What an offered release has of the same version.
    private func existing(in state: OriginState) throws(StoreError) -> Plan? {
        let own = state.pointers[channel].map { [$0] } ?? []
        let others = state.pointers.sorted { $0.key < $1.key }.map(\.value)
        for release in (own + others).flatMap(\.releases)
        where release.facts != nil && release.version?.manifest == version.manifest {
            guard let live = LiveRelease(release), let facts = try source.facts(of: live)
            else { continue }
            if isLooking, try !stands(live) { continue }
            return try Plan(facts, existing: release.facts)
        }
        return nil
    }

    private func stands(_ release: LiveRelease) throws(StoreError) -> Bool {
        guard let deflatedCopies = try source.deflatedCopies(of: release) else { return false }
        return try seen.storage.missing(of: deflatedCopies, options).isEmpty
    }

    /// What releases know: the facts by object, the deflated copies' epochs, and which of these are missing or wrong.
    private typealias Known = (
        objects: [ObjectID: ObjectFacts], epochs: [ObjectID: Int64], missing: Set<ObjectID>
    )

    /// - Throws: what reading throws. Damaged files count as unknown.
    private func known(in state: OriginState) throws(StoreError) -> Known {
        var known: Known = ([:], [:], [])
        for release in state.newest(first: channel, each: { $0.facts?.address })
        where known.objects.count < objects.count {
            guard let facts = try source.facts(of: release),
                let deflatedCopies = try source.deflatedCopies(of: release)
            else { continue }
            for deflatedCopy in deflatedCopies where known.epochs[deflatedCopy.key.address] == nil {
                known.epochs[deflatedCopy.key.address] = deflatedCopy.key.epoch
            }
            for object in objects where known.objects[object.address] == nil {
                guard let found = facts[object.address], found.byteCount == object.byteCount
                else { continue }
                known.objects[object.address] = found
            }
        }
        guard isLooking else { return known }
        let deflatedCopies = Set(known.objects.values.compactMap(\.deflatedCopy)).map {
            SizedKey(.deflatedCopy, $0.address, in: known.epochs[$0.address] ?? 0, $0.byteCount)
        }
        let missing = try seen.storage.missing(of: deflatedCopies, options)
        known.missing = missing
        known.objects = known.objects.filter { object in
            object.value.deflatedCopy.map { !missing.contains($0.address) } ?? true
        }
        return known
    }
}

extension PlannedFacts {
    init(_ plan: FactsUpload.Plan) {
        facts = plan.facts
        address = plan.address
        writesFile = plan.existing == nil
        for deflatedCopy in plan.lacking { deflatedCopies.add(deflatedCopy.byteCount) }
    }
}

/// Makes facts and deflated copies of objects for an origin, each once, where packs are made; belongs to one thread.
final class DeflatedCopyMaking {
    let source: ReleaseSource
    let options: PublisherOptions
    private let keepsDeflatedCopies: Bool
    private var place: PackingPlace?
    /// By object.
    private(set) var made: [ObjectID: ObjectFacts] = [:]
    /// The file of each deflated copy, in the directory of the work.
    private var names: [ObjectID: String] = [:]

    /// - Parameter keepsDeflatedCopies: whether to keep deflated copies for sending; otherwise nothing is left
    ///   anywhere.
    init(_ source: ReleaseSource, _ options: PublisherOptions, keepsDeflatedCopies: Bool = true) {
        self.source = source
        self.options = options
        self.keepsDeflatedCopies = keepsDeflatedCopies
    }

    /// Makes what is missing.
    /// - Parameters:
    ///   - objects: sorted by address.
    ///   - existing: the origin's epochs of objects that the store may not have; empty if it has all.
    /// - Throws: `.missingObject`, `.damagedObject`; `.interrupted`; what reading and writing throws.
    func make(_ objects: [Reference], existing: [ObjectID: Int64] = [:]) throws(StoreError) {
        let lacking = objects.filter { made[$0.address] == nil }
        guard !lacking.isEmpty else { return }
        let home = PackingHome(versions: source.versions, storage: source.storage, options: options)
        if place == nil, keepsDeflatedCopies { place = try home.openPlace() }
        let fetched = try fetch(lacking, existing, home)
        let making = FactsMaking(
            source: PackSource(source.versions?.store, origin: fetched, home.fileSystem),
            work: place?.work.raw, fileSystem: home.fileSystem, options: options,
            progress: options.watching(
                .deflating, total: lacking.reduce(0) { $0.addingClamped($1.byteCount) }))
        for object in try making.run(lacking) {
            made[object.address] = object
            if let deflatedCopy = object.deflatedCopy {
                names[deflatedCopy.address] = FactsMaking.deflatedName(of: object.address)
            }
        }
        withExtendedLifetime(fetched) {}
    }

    private func fetch(
        _ objects: [Reference], _ existing: [ObjectID: Int64], _ home: PackingHome
    ) throws(StoreError) -> OpenedDirectory? {
        guard let place, !existing.isEmpty else { return nil }
        var wanted: [SizedKey] = []
        for object in objects {
            guard let epoch = existing[object.address],
                try source.versions?.store.objects.open(object.address) == nil
            else { continue }
            wanted.append(SizedKey(.object, object.address, in: epoch, object.byteCount))
        }
        return try home.fetch(wanted, into: place, saying: "what the store here is missing")
    }

    func send(_ deflatedCopies: [SizedKey]) throws(StoreError) {
        guard let place, !deflatedCopies.isEmpty else { return }
        let names = names
        try source.seen.send(deflatedCopies, options) { (wanted) throws(StoreError) in
            try place.fileSystem.open(
                place.work.raw, names[wanted.key.address] ?? "", .reading, mode: 0)
        }
    }

    /// Removes what was made, so that whoever cleans up after packing finds nobody at work.
    func close() { place = nil }

    /// Deflates an open file in memory; `nil` if this zlib gives other bytes.
    static func deflatedCopy(
        _ address: ObjectID, _ byteCount: Int64, of file: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> [UInt8]? {
        let deflater = try Deflater()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var deflatedCopy: [UInt8] = []
        deflatedCopy.reserveCapacity(Int(byteCount))
        try fileSystem.forEachPiece(of: file, buffer: buffer) { (piece) throws(StoreError) in
            try deflater.add(piece) { (bytes) throws(StoreError) in deflatedCopy += bytes }
        }
        _ = try deflater.finish { (bytes) throws(StoreError) in deflatedCopy += bytes }
        guard deflatedCopy.count == byteCount, try ObjectID(of: deflatedCopy) == address else {
            return nil
        }
        return deflatedCopy
    }
}

/// Makes facts and deflated copies on all processors, in constant memory however large an object is.
private struct FactsMaking: Sendable {
    let source: PackSource
    /// Where deflated copies are left; `nil` to keep none.
    let work: Int32?
    let fileSystem: any FileSystem
    let options: PublisherOptions
    let progress: PackingProgress

    static func deflatedName(of object: ObjectID) -> String { "twin-\(object)" }

    /// - Throws: `.missingObject`, `.damagedObject`, `.mismatch`; `.interrupted`; what reading and writing throws.
    func run(_ objects: [Reference]) throws(StoreError) -> [ObjectFacts] {
        let made = Mutex<[ObjectFacts]>([])
        let making = self
        try Parallel.run(workers: Parallel.workerCount, count: objects.count, chunk: 4) {
            (chunks) throws(StoreError) in
            let worker = try Worker()
            while let chunk = chunks.nextChunk() {
                var facts: [ObjectFacts] = []
                for position in chunk {
                    facts.append(try making.facts(of: objects[position], worker))
                }
                made.withLock { $0 += facts }
            }
        }
        return made.withLock { $0 }
    }

    private final class Worker {
        let deflater: Deflater
        var checker: ObjectChecker
        var crc32: Digester
        var md5: Digester
        var deflatedCopy: Digester

        init() throws(StoreError) {
            deflater = try Deflater()
            checker = try ObjectChecker()
            crc32 = try Digester(.crc32)
            md5 = try Digester(.md5)
            deflatedCopy = try Digester(.sha256)
        }

        /// Forgets an object that was abandoned halfway.
        func reset() {
            deflater.reset()
            crc32.reset()
            md5.reset()
            deflatedCopy.reset()
        }
    }

    private func facts(of object: Reference, _ worker: Worker) throws(StoreError) -> ObjectFacts {
        let name = Self.deflatedName(of: object.address)
        var found: ObjectFacts
        if let work {
            let file = try fileSystem.open(work, name, .creating, mode: 0o666)
            found = try read(object, worker, into: file.raw)
        } else {
            found = try read(object, worker, into: nil)
        }
        guard found.address == object.address else {
            throw StoreError(
                .damagedObject,
                "the bytes of object \(object.address) do not match its address; "
                    + "run castree fsck --repair, add the content again, then publish",
                object: object.address)
        }
        if let deflatedCopy = found.deflatedCopy, deflatedCopy.byteCount >= object.byteCount {
            found.deflatedCopy = nil
            if let work { try fileSystem.removeIfPresent(work, name) }
        }
        return found
    }

    /// - Returns: also a deflated copy that is not smaller.
    private func read(
        _ object: Reference, _ worker: Worker, into file: Int32?
    ) throws(StoreError) -> ObjectFacts {
        worker.reset()
        let keep = { (piece: UnsafeRawBufferPointer) throws(StoreError) in
            worker.deflatedCopy.update(piece)
            if let file { try fileSystem.write(file, piece) }
        }
        let buffer = worker.checker.buffer
        do throws(StoreError) {
            try source.forEachPiece(of: object, buffer: buffer) { (piece) throws(StoreError) in
                if options.isInterrupted() { throw .publishingInterrupted }
                worker.checker.update(piece)
                worker.crc32.update(piece)
                worker.md5.update(piece)
                try worker.deflater.add(piece, keep)
                progress.advance(by: Int64(piece.count))
            }
        } catch {
            _ = worker.checker.finish()
            throw error
        }
        let byteCount = try worker.deflater.finish(keep)
        return ObjectFacts(
            address: worker.checker.finish().address, byteCount: object.byteCount,
            crc32: worker.crc32.finish { $0.reduce(0) { $0 << 8 | UInt32($1) } },
            md5: worker.md5.finish { Hex.string(Array($0)) },
            deflatedCopy: Reference(
                address: worker.deflatedCopy.finish { ObjectID(unchecked: $0) },
                byteCount: byteCount))
    }
}
