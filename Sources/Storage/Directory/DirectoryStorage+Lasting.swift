package import Platform
import Synchronization

// How files are removed, and what makes names durable.

extension DirectoryStorage {
    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        count()
        var outcome = DeleteOutcome()
        for key in keys {
            do throws(StoreError) {
                try remove(key)
                outcome.deletedCount += 1
            } catch {
                guard error.isOfOneName else { throw error }
                outcome.refused.append((key, error.message))
            }
        }
        return outcome
    }

    /// Removes a file if there is one; its directory stays, as somebody may be about to write there.
    package func remove(_ key: String) throws(StoreError) {
        guard try status(of: key) != nil else { return }
        try inDirectory(of: key) { (directory, name) throws(StoreError) in
            try fileSystem.removeIfPresent(directory, name)
            try commit(directory, of: key)
        }
    }

    /// Whether one call makes all names durable; otherwise each is synced when it is given.
    var hasBarrier: Bool { isDurable && fileSystem.canSyncAll }

    func sync(_ file: Int32) throws(StoreError) {
        if isDurable { try fileSystem.sync(file) }
    }

    /// Makes the names in the directory of a key durable, at once or with the next barrier.
    func commit(_ directory: Int32, of key: String) throws(StoreError) {
        guard hasBarrier else { return try sync(directory) }
        commitLater(key.lastIndex(of: "/").map { String(key[..<$0]) } ?? ".")
    }

    func commitLater(_ directory: String) {
        uncommitted.withLock { _ = $0.directories.insert(directory) }
    }

    /// The most files or directories synced one by one, rather than the whole file system with others' writes.
    static let syncedSinglyMax = 4

    package func barrier() throws(StoreError) {
        guard hasBarrier else { return }
        let due = uncommitted.withLock { uncommitted in
            defer { uncommitted = Uncommitted(isAll: false) }
            return uncommitted
        }
        do throws(StoreError) {
            if due.isAll || due.directories.count > Self.syncedSinglyMax {
                _ = try fileSystem.syncAll(root.raw)
                return
            }
            for path in due.directories.sorted() {
                let directory = try fileSystem.openBeneath(root.raw, path, .directory)
                try fileSystem.sync(directory.raw)
            }
        } catch {
            uncommitted.withLock { $0.isAll = true }
            throw error
        }
    }
}
