import CASStore
import Synchronization

/// Hashes and stages source files on all processors.
struct SourceReading: Sendable {
    let store: Store
    let root: Int32
    let batch: ObjectBatch
    let followsLinks: Bool
    let progress: @Sendable (_ files: Int, _ bytes: Int64) -> Void

    func read(
        _ positions: [UInt32], of found: inout SourceFiles, again: Bool = false
    ) throws(StoreError) {
        guard !positions.isEmpty else { return }
        let (paths, devices) = (found.paths, found.devices)
        let outcome: Result<Void, StoreError> = found.records.withUnsafeMutableBufferPointer {
            records in
            found.states.withUnsafeMutableBufferPointer { states in
                found.marks.withUnsafeMutableBufferPointer { marks in
                    let slots = Slots(
                        records: records, states: states, marks: marks, devices: devices,
                        paths: paths)
                    do throws(StoreError) {
                        return .success(try read(positions, slots, again: again))
                    } catch {
                        return .failure(error)
                    }
                }
            }
        }
        try outcome.get()
    }

    /// `@unchecked Sendable`: each position belongs to one worker, and the owner looks only after all have ended.
    private struct Slots: @unchecked Sendable {
        let records: UnsafeMutableBufferPointer<Manifest.Record>
        let states: UnsafeMutableBufferPointer<SourceFiles.State>
        let marks: UnsafeMutableBufferPointer<SourceFiles.Mark>
        let devices: [UInt64]
        let paths: [UInt8]
    }

    private func read(
        _ positions: [UInt32], _ slots: Slots, again: Bool
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
                    try reading.read(position, slots, name: name, checker: &checker, again: again)
                    chunkBytes += slots.records[position].byteCount
                }
                let files = done.add(chunk.count, ordering: .relaxed).newValue
                let total = bytes.add(Int(chunkBytes), ordering: .relaxed).newValue
                reading.progress(files, Int64(total))
            }
        }
    }

    static func open(
        _ path: String, _ root: Int32, followingLinks: Bool, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Descriptor {
        followingLinks
            ? try fileSystem.open(root, path, .readingFollowingLinks, mode: 0)
            : try fileSystem.openBeneath(root, path, .reading)
    }

    /// Hashes and stages one file; starts over if it changes meanwhile, and waits for its writers.
    private func read(
        _ position: Int, _ slots: Slots, name: String, checker: inout ObjectChecker, again: Bool
    ) throws(StoreError) {
        let fileSystem = store.fileSystem.outside
        let path = slots.records[position].path(in: slots.paths)
        var changes = 0
        var wait: LockWait?
        while changes < 3 {
            let file = try Self.open(path, root, followingLinks: followsLinks, fileSystem)
            let status = try fileSystem.status(file.raw)
            guard status.kind == .regular else {
                throw StoreError(
                    .unsupportedFile,
                    "unable to add \"\(printable(path))\": it is no longer a regular file")
            }
            // Taken before the first read, so that the file's times reveal later changes.
            let now = nanosecondsNow()
            let isQuiet = isQuiet(file.raw, status, at: now)
            guard isQuiet != false else {
                let begun = wait ?? waitForWriters
                if begun.isOver {
                    throw changed(
                        path, "another process is writing it, and it has just changed")
                }
                begun.rest()
                try store.checkInterruption()
                wait = begun
                continue
            }
            let (object, isStaged) = try batch.stage(
                file.raw, name: name, checker: &checker, again: again)
            let after = try fileSystem.status(file.raw)
            guard after.isUnchanged(since: status), object.byteCount == status.byteCount,
                let fingerprint = object.fingerprint
            else {
                changes += 1
                continue
            }
            slots.records[position].byteCount = status.byteCount
            slots.records[position].isExecutable = status.mode & 0o100 != 0
            slots.records[position].address = object.address
            slots.states[position] = SourceFiles.State(
                inode: status.inode, modifiedAt: status.modifiedAt, changedAt: status.changedAt,
                fingerprint: fingerprint)
            var mark = slots.marks[position]
            mark.isStaged = mark.isStaged || isStaged
            mark.isHashed = true
            // A file that has moved to another device is read again next time.
            mark.isCacheable =
                isQuiet == true && status.provesContent(at: now)
                && slots.devices[mark.device] == status.device
            slots.marks[position] = mark
            return
        }
        throw changed(path, "it changes while castree reads it")
    }

    private func changed(_ path: String, _ how: String) -> StoreError {
        StoreError(
            .changedWhileRead,
            "unable to add \"\(printable(path))\": \(how); wait until it is written, then repeat the command"
        )
    }

    /// How long to wait for a process that has the file open for writing and may be about to close it.
    ///
    /// A child that is starting has everything open that its parent has (fork(2)), up to a second on a busy disk.
    private var waitForWriters: LockWait { LockWait(store.options.waiting(atMost: .seconds(5))) }

    /// How long after its last change a file counts as being written unless proven otherwise.
    ///
    /// A write stamps the file when it begins (ext4, xfs, btrfs), and on a busy machine may continue for a while.
    private static let writingTime: Int64 = 10_000_000_000

    /// Whether no one was writing at the time of this call; `nil` if that is unknown.
    private func isQuiet(_ file: Int32, _ status: FileStatus, at now: Int64) -> Bool? {
        let latest = max(status.modifiedAt, status.changedAt)
        if latest < now - Self.writingTime { return true }
        return store.fileSystem.isOpenForWriting(file).map { !$0 }
    }
}
