import Archives
import CASStore
import Synchronization

/// Makes facts of objects, with their twins: on all processors, in the same memory however large an object is.
final class FactsMaking: Sendable {
    private let source: PackSource
    private let fileSystem: any FileSystem
    private let options: PublisherOptions
    /// Where twins are left, under ``twinName(of:)``; `nil` to keep none.
    private let work: Int32?
    private let bytesTotal: Int64
    private let bytesDone = Atomic<Int64>(0)

    /// - Parameters:
    ///   - source: what has the objects.
    ///   - work: the directory in which twins are left; `nil` to keep none.
    ///   - byteCount: how many bytes there are to be read.
    init(
        _ source: PackSource, in work: Int32?, _ fileSystem: any FileSystem,
        _ options: PublisherOptions, byteCount: Int64
    ) {
        self.source = source
        self.work = work
        self.fileSystem = fileSystem
        self.options = options
        bytesTotal = byteCount
    }

    /// What the file with a twin is called until it gets its name.
    static func twinName(of object: ObjectID) -> String { "twin-\(object)" }

    /// The facts of objects, sorted by address.
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
        return made.withLock { $0 }.sorted { $0.address < $1.address }
    }

    /// What one thread works with.
    private final class Worker {
        let deflater: Deflater
        var checker: ObjectChecker
        var crc32: Digester
        var md5: Digester
        var twin: Digester

        init() throws(StoreError) {
            deflater = try Deflater()
            checker = try ObjectChecker()
            crc32 = try Digester(.crc32)
            md5 = try Digester(.md5)
            twin = try Digester(.sha256)
        }

        /// Forgets an object that was left half-way.
        func reset() {
            deflater.reset()
            crc32.reset()
            md5.reset()
            twin.reset()
        }
    }

    private func facts(
        of object: Reference, _ worker: Worker
    ) throws(StoreError) -> ObjectFacts {
        let name = Self.twinName(of: object.address)
        let found: Found
        if let work {
            let file = try fileSystem.open(
                work, name, .creating, mode: 0o666)
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
        let isSmaller = found.twin.byteCount < object.byteCount
        if !isSmaller, let work { try fileSystem.removeIfPresent(work, name) }
        return ObjectFacts(
            address: object.address, byteCount: object.byteCount, crc32: found.crc32,
            md5: found.md5, twin: isSmaller ? found.twin : nil)
    }

    private struct Found {
        var address: ObjectID
        var crc32: UInt32
        var md5: String
        var twin: ObjectFacts.Twin
    }

    private func read(
        _ object: Reference, _ worker: Worker, into file: Int32?
    ) throws(StoreError) -> Found {
        worker.reset()
        let keep = { (piece: UnsafeRawBufferPointer) throws(StoreError) in
            worker.twin.update(piece)
            if let file { try self.fileSystem.write(file, piece) }
        }
        let buffer = worker.checker.buffer
        do throws(StoreError) {
            try source.forEachPiece(of: object, buffer: buffer) { (piece) throws(StoreError) in
                if options.isInterrupted() { throw .publishingInterrupted }
                worker.checker.update(piece)
                worker.crc32.update(piece)
                worker.md5.update(piece)
                try worker.deflater.add(piece, keep)
                advance(by: Int64(piece.count))
            }
        } catch {
            _ = worker.checker.finish()
            throw error
        }
        let byteCount = try worker.deflater.finish(keep)
        return Found(
            address: worker.checker.finish().address,
            crc32: worker.crc32.finish { $0.reduce(0) { $0 << 8 | UInt32($1) } },
            md5: worker.md5.finish { Hex.string(Array($0)) },
            twin: ObjectFacts.Twin(
                address: worker.twin.finish { ObjectID(unchecked: $0) }, byteCount: byteCount))
    }

    private func advance(by byteCount: Int64) {
        let done = bytesDone.add(byteCount, ordering: .relaxed).newValue
        options.progress(
            PublishProgress(
                bytes: min(done, bytesTotal), bytesTotal: bytesTotal, step: .deflating))
    }
}
