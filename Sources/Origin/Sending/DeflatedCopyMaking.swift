import Archives
import CASStore
import HotPush
import Storage
import Synchronization
import VersionTree

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
    func make(
        _ objects: [Reference], existing: [ObjectID: Int64] = [:]
    ) throws(StoreError) {
        let lacking = objects.filter { made[$0.address] == nil }
        guard !lacking.isEmpty else { return }
        let home = PackingHome(
            versions: source.versions, storage: source.storage, options: options)
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

    private func facts(
        of object: Reference, _ worker: Worker
    ) throws(StoreError) -> ObjectFacts {
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
