package import Platform
import Synchronization

// How files go, and what makes names last.

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

    /// Removes a file; nothing happens if there is none.
    ///
    /// Its directory stays: somebody may be about to write there.
    package func remove(_ key: String) throws(StoreError) {
        guard try status(of: key) != nil else { return }
        try inDirectory(of: key) { (directory, name) throws(StoreError) in
            try fileSystem.removeIfPresent(directory, name)
            try settle(directory, of: key)
        }
    }

    /// Whether one call makes all names durable; else each is when it is given.
    var hasBarrier: Bool { isDurable && fileSystem.canSyncAll }

    func sync(_ file: Int32) throws(StoreError) {
        if isDurable { try fileSystem.sync(file) }
    }

    /// Sees to it that the names in the directory of a key are durable: at once, or with the next barrier.
    func settle(_ directory: Int32, of key: String) throws(StoreError) {
        guard hasBarrier else { return try sync(directory) }
        settleLater(key.lastIndex(of: "/").map { String(key[..<$0]) } ?? ".")
    }

    func settleLater(_ directory: String) {
        unsettled.withLock { _ = $0.directories.insert(directory) }
    }

    /// Up to so many files or directories are made durable one by one, rather than the file system with all that others write
    /// there.
    static let syncedSinglyMax = 4

    package func barrier() throws(StoreError) {
        guard hasBarrier else { return }
        let due = unsettled.withLock { unsettled in
            defer { unsettled = Unsettled(isAll: false) }
            return unsettled
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
            unsettled.withLock { $0.isAll = true }
            throw error
        }
    }
}
