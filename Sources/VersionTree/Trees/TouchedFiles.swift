import CASStore
import Synchronization

/// Finds a file of a version's tree that was written into, or whose object was rewritten since.
///
/// Examines each file once, and reads only those that have lost the seal (`ObjectDirectory+Sealing`).
struct TouchedFiles: Sendable {
    let store: Store
    let manifest: Manifest
    /// A limit on the bytes to read; files beyond it count as right.
    var byteCountMax = Int64.max

    private var fileSystem: any FileSystem { store.fileSystem }

    /// The path of such a file, inside the tree; `nil` if there is none, or no tree.
    func first() throws(StoreError) -> String? {
        let versions = store.directories.versions.raw
        let version = manifest.version.description
        guard let root = try fileSystem.openIfPresent(versions, version, .directory) else {
            return nil
        }
        let plan = TreePlan(manifest)
        let found = Mutex<Int?>(nil)
        let space = Mutex(byteCountMax)
        let (files, raw) = (self, root.raw)
        try Parallel.run(workers: Parallel.workerCount, count: plan.directories.count, chunk: 1) {
            (work) throws(StoreError) in
            var checker = try ObjectChecker()
            while let chunk = work.nextChunk() {
                for index in chunk where found.withLock({ $0 == nil }) {
                    try files.store.checkInterruption()
                    let touched = try files.firstTouched(plan, index, raw, space, &checker)
                    if let touched { found.withLock { $0 = $0 ?? touched } }
                }
            }
        }
        return found.withLock { $0 }.map { manifest.path($0) }
    }

    /// - Returns: its position in the manifest.
    private func firstTouched(
        _ plan: TreePlan, _ index: Int, _ root: Int32, _ space: borrowing Mutex<Int64>,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Int? {
        let files = plan.directories[index].files
        guard let first = files.first else { return nil }
        let directory: Descriptor
        do throws(StoreError) {
            directory = try fileSystem.openDirectory(plan.path(of: index), below: root)
        } catch {
            guard error.isNotDirectory || error.code == .notFound else { throw error }
            return Int(plan.order[first])
        }
        let skipped = plan.skipped(in: index)
        for file in files {
            let position = Int(plan.order[file])
            let name = manifest.withPath(position) {
                String(decoding: $0[skipped...], as: UTF8.self)
            }
            if try !isRight(position, directory.raw, name, space, &checker) { return position }
        }
        return nil
    }

    private func isRight(
        _ position: Int, _ directory: Int32, _ name: String, _ space: borrowing Mutex<Int64>,
        _ checker: inout ObjectChecker
    ) throws(StoreError) -> Bool {
        let record = manifest.records[position]
        guard let status = try fileSystem.status(directory, name), status.kind == .regular,
            status.byteCount == record.byteCount
        else { return false }
        if record.byteCount == 0 { return true }
        if ObjectDirectory.isSealed(status, record.address, record.byteCount) { return true }
        let mayRead = space.withLock { space in
            guard space >= record.byteCount else { return false }
            space -= record.byteCount
            return true
        }
        guard mayRead, let file = try fileSystem.openIfPresent(directory, name, .reading) else {
            return true
        }
        do throws(StoreError) {
            guard try checker.hash(file.raw, fileSystem).address == record.address else {
                return false
            }
        } catch {
            // What the disk cannot read shows nothing.
            guard error.isUnreadable else { throw error }
            return false
        }
        name.withCString {
            store.objects.sealAgain(directory, $0, as: record.address, at: status.modifiedAt)
        }
        return true
    }
}
