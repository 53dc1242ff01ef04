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
        let parent = key.lastIndex(of: "/").map { String(key[..<$0]) } ?? "."
        unsettled.withLock { _ = $0.directories.insert(parent) }
    }

    /// Up to so many directories are made durable one by one, rather than the file system with all that others write there.
    private static let directoryCountMax = 4

    package func barrier() throws(StoreError) {
        guard hasBarrier else { return }
        let due = unsettled.withLock { unsettled in
            defer { unsettled = Unsettled(isAll: false) }
            return unsettled
        }
        do throws(StoreError) {
            if due.isAll || due.directories.count > Self.directoryCountMax {
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

extension FileSystem {
    /// Gives a new file rights that the umask has taken.
    package func share(_ file: Int32, _ rights: UInt32) throws(StoreError) {
        guard rights != 0 else { return }
        let mode = try status(file).mode
        if mode & rights != rights { try setMode(file, mode | rights) }
    }

    /// Gives what has a name the rights that it lacks; directories may be searched by those who may read them.
    /// - Returns: whether it lacked any.
    @discardableResult
    package func share(
        _ directory: Int32, _ name: UnsafePointer<CChar>, _ rights: UInt32
    ) throws(StoreError) -> Bool {
        guard rights != 0, let there = try status(directory, name) else { return false }
        let wanted: UInt32 =
            switch there.kind {
            case .regular: rights
            case .directory: rights | (rights & 0o444) >> 2
            default: 0
            }
        guard there.mode & wanted != wanted else { return false }
        try setMode(directory, name, there.mode | wanted)
        return true
    }
}
