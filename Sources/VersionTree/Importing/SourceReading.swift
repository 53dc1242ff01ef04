import CASStore
import Synchronization

// Reading source files: hash and stage each, on all processors.

/// Stages the source files at given positions.
struct SourceReading: Sendable {
    let store: Store
    let root: Int32
    let batch: ObjectBatch
    let followsLinks: Bool
    let progress: @Sendable (_ files: Int, _ bytes: Int64) -> Void

    /// Hashes and stages `positions` of `found`, and fills in what was learnt.
    func read(
        _ positions: [UInt32], of found: inout SourceFiles, again: Bool = false
    ) throws(StoreError) {
        guard !positions.isEmpty else { return }
        let paths = SourceFiles(files: [], paths: found.paths)
        let outcome: Result<Void, StoreError> = found.files.withUnsafeMutableBufferPointer {
            let slots = Slots($0)
            do throws(StoreError) {
                return .success(try read(positions, slots, paths, again: again))
            } catch {
                return .failure(error)
            }
        }
        try outcome.get()
    }

    /// One slot a file, each written by one worker.
    ///
    /// `@unchecked Sendable`: the counter hands every position to exactly one worker, and the owner
    /// looks only after all have ended.
    private struct Slots: @unchecked Sendable {
        let files: UnsafeMutableBufferPointer<SourceFiles.File>
        init(_ files: UnsafeMutableBufferPointer<SourceFiles.File>) { self.files = files }
    }

    private func read(
        _ positions: [UInt32], _ slots: Slots, _ paths: SourceFiles, again: Bool
    ) throws(StoreError) {
        let done = Atomic<Int>(0)
        let bytes = Atomic<Int>(0)
        let workers = Atomic<Int>(0)
        let reading = self
        try Parallel.run(workers: Parallel.workerCount, count: positions.count, chunk: 16) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            let name = "large-\(workers.add(1, ordering: .relaxed).newValue)"
            while let chunk = work.nextChunk() {
                try reading.store.checkInterruption()
                var chunkBytes: Int64 = 0
                for index in chunk {
                    let position = Int(positions[index])
                    let before = slots.files[position]
                    let file = try reading.read(
                        paths.path(of: before), before, name: name, checker: &checker,
                        again: again)
                    chunkBytes += file.key.byteCount
                    slots.files[position] = file
                }
                let files = done.add(chunk.count, ordering: .relaxed).newValue
                let total = bytes.add(Int(chunkBytes), ordering: .relaxed).newValue
                reading.progress(files, Int64(total))
            }
        }
    }

    private func open(_ path: String) throws(StoreError) -> Descriptor {
        followsLinks
            ? try store.fileSystem.open(root, path, .readingFollowingLinks, mode: 0)
            : try store.fileSystem.openBeneath(root, path, .reading)
    }

    /// Hashes and stages one file, again if it changes meanwhile.
    private func read(
        _ path: String, _ before: SourceFiles.File, name: String, checker: inout ObjectChecker,
        again: Bool
    ) throws(StoreError) -> SourceFiles.File {
        let fileSystem = store.fileSystem
        for _ in 0..<3 {
            let file = try open(path)
            let status = try fileSystem.status(file.raw)
            guard status.kind == .regular else {
                throw StoreError(
                    .unsupportedFile,
                    "unable to add \"\(printable(path))\": it is no longer a regular file")
            }
            // Before the first read: what changes later is noticed by its times.
            let now = nanosecondsNow()
            let (object, isStaged) = try batch.stage(
                file.raw, name: name, checker: &checker, again: again)
            let after = try fileSystem.status(file.raw)
            guard after.isUnchanged(since: status), object.byteCount == status.byteCount,
                let fingerprint = object.fingerprint
            else { continue }
            var result = before
            result.key = StatKey(status)
            result.isExecutable = status.mode & 0o100 != 0
            result.address = object.address
            result.fingerprint = fingerprint
            result.isStaged = before.isStaged || isStaged
            result.isHashed = true
            result.isCacheable = !result.key.isRacy(at: now)
            return result
        }
        throw StoreError(
            .changedWhileRead,
            "unable to add \"\(printable(path))\": it changes while it is read; "
                + "wait until it is written, then repeat the command")
    }
}
