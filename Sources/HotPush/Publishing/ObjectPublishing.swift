import CASStore
import Synchronization
import VersionTree

/// Copies objects of a store into an origin: many objects, few syncs.
///
/// All processors stage a batch, one call makes it durable, and it is renamed into place. So an
/// object's name never stands for incomplete bytes, not even after a power cut. Nothing is linked:
/// rewriting a file of the origin must not change the store.
final class ObjectPublishing: Sendable {
    private let origin: OriginWriter
    private let store: Store
    private let wanted: [Reference]
    private let bytesTotal: Int64
    private let bytesDone = Atomic<Int64>(0)
    private let canClone = Atomic<Bool>(true)

    /// The most that a batch holds: this much is lost if the process is killed.
    private static let batchCountMax = 16 * 1024
    private static let batchByteCountMax: Int64 = 512 << 20

    init(_ wanted: [Reference], from store: Store, to origin: OriginWriter) {
        self.origin = origin
        self.store = store
        self.wanted = wanted
        bytesTotal = wanted.reduce(0) { $0 + $1.byteCount }
    }

    /// Writes all of them.
    ///
    /// Afterwards their bytes are durable; the caller's next sync makes their names durable.
    /// - Throws: `.damagedObject`, `.missingObject` for an object of the store; `.outOfSpace`,
    ///   `.interrupted`; what was written before stays and is used next time.
    func run() throws(StoreError) {
        var start = 0
        while start < wanted.count {
            var end = start
            var byteCount: Int64 = 0
            while end < wanted.count, end - start < Self.batchCountMax,
                end == start || byteCount + wanted[end].byteCount <= Self.batchByteCountMax
            {
                byteCount += wanted[end].byteCount
                end += 1
            }
            try stage(start..<end)
            try origin.syncAll()
            try publish(wanted[start..<end].map(\.address).sorted())
            start = end
        }
    }

    private func stage(_ batch: Range<Int>) throws(StoreError) {
        let publishing = self
        try Parallel.run(workers: Parallel.workerCount, count: batch.count, chunk: 16) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                for offset in chunk {
                    try publishing.stage(
                        publishing.wanted[batch.lowerBound + offset], &checker)
                }
            }
        }
    }

    private func stage(
        _ object: Reference, _ checker: inout ObjectChecker
    ) throws(StoreError) {
        try origin.checkInterruption()
        guard let source = try store.objects.open(object.address) else {
            throw store.missingObject(object.address)
        }
        let fileSystem = origin.fileSystem
        let target = try StoreLayout.withDigits(object.address) {
            (name) throws(StoreError) -> Descriptor in
            try fileSystem.open(
                origin.staging.raw, name, .creating, mode: OriginWriter.fileMode)
        }
        if try clone(source.raw, to: target.raw) {
            // The bytes are shared; whether they are the right ones is not known yet.
            let found = try checker.hash(target.raw, fileSystem)
            try check(object, found.address, found.byteCount)
            advance(by: object.byteCount)
        } else {
            try copy(source.raw, to: target.raw, object, &checker)
        }
        if !origin.fileSystem.canSyncAll { try origin.sync(target.raw) }
    }

    private func clone(_ source: Int32, to target: Int32) throws(StoreError) -> Bool {
        guard canClone.load(ordering: .relaxed) else { return false }
        if try origin.fileSystem.clone(source, to: target) { return true }
        canClone.store(false, ordering: .relaxed)
        return false
    }

    private func copy(
        _ source: Int32, to target: Int32, _ object: Reference, _ checker: inout ObjectChecker
    ) throws(StoreError) {
        var offset: Int64 = 0
        while true {
            let count = try store.fileSystem.read(source, into: checker.buffer, at: offset)
            if count == 0 { break }
            let piece = UnsafeRawBufferPointer(rebasing: checker.buffer[..<count])
            checker.update(piece)
            try origin.fileSystem.write(target, piece)
            offset += Int64(count)
            advance(by: Int64(count))
            try origin.checkInterruption()
        }
        try check(object, checker.finish().address, offset)
    }

    private func check(
        _ object: Reference, _ found: ObjectID, _ byteCount: Int64
    ) throws(StoreError) {
        guard found == object.address else {
            throw StoreError(
                .damagedObject,
                "the bytes of object \(object.address) do not match its address; "
                    + "run castree fsck --repair, add the content again, then publish",
                object: object.address)
        }
        guard byteCount == object.byteCount else {
            throw StoreError(
                .mismatch,
                "object \(object.address) has \(byteCount) bytes, and the manifest says "
                    + "\(object.byteCount)", object: object.address)
        }
    }

    private func advance(by byteCount: Int64) {
        let done = bytesDone.add(byteCount, ordering: .relaxed).newValue
        origin.options.progress(PublishProgress(bytes: done, bytesTotal: bytesTotal))
    }

    /// Gives staged objects, sorted by address, their names: shard by shard.
    private func publish(_ addresses: [ObjectID]) throws(StoreError) {
        var rest = addresses[...]
        while let first = rest.first {
            let shard = try origin.shard(of: first, in: origin.objects.raw)
            while let address = rest.first, address.w0 >> 56 == first.w0 >> 56 {
                try StoreLayout.withDigits(address) { (name) throws(StoreError) in
                    try StoreLayout.withShardName(address) { (place) throws(StoreError) in
                        try origin.rename(
                            origin.staging.raw, name, to: shard.raw, place)
                    }
                }
                rest.removeFirst()
            }
        }
    }
}
