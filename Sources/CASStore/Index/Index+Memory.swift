// Reading from objects and manifests, for when the disk lets nobody use the index file.

extension Index {
    /// What an index in memory was made from, and the file that could not be used.
    struct MemoryBasis: Equatable {
        var index, stamp: FileStatus?
        var manifests: FileStatus
    }

    /// What the disk shows now.
    func basis() throws(StoreError) -> MemoryBasis {
        let root = directories.root.raw
        return MemoryBasis(
            index: try fileSystem.status(root, StoreLayout.index),
            stamp: try fileSystem.status(root, StoreLayout.stamp),
            manifests: try fileSystem.status(directories.manifests.raw))
    }

    /// Makes an index in memory, for disks that cannot hold one.
    func fillMemory() throws(StoreError) {
        close()
        let basis = try basis()
        epoch = try randomToken()
        let made = try Connection(path: ":memory:", mode: .memory)
        _ = try made.transaction(writing: true) { () throws(StoreError) in
            try IndexTransaction(index: self, connection: made).fill()
        }
        connection = made
        memoryBasis = basis
        isReconciled = true
    }
}
