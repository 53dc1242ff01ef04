package import Platform

/// The directory of a storage on this machine for files in progress, which no listing shows.
package struct WorkDirectory: Sendable {
    /// The storage's directory, open.
    package let root: Int32
    package let name: String
    /// The storage's directory, as it was named.
    package let place: String
    package let fileSystem: any FileSystem
    /// Whether files may be created there; not in a dry run.
    package internal(set) var isWritable = true
    private let rights: UInt32
    private let owner: any AnyObject & Sendable

    init(
        _ name: String, in root: Int32, _ place: String, of owner: any AnyObject & Sendable,
        _ fileSystem: any FileSystem, rights: UInt32
    ) {
        self.rights = rights
        self.name = name
        self.root = root
        self.place = place
        self.owner = owner
        self.fileSystem = fileSystem
    }

    package func openIfPresent() throws(StoreError) -> Descriptor? {
        let there = try fileSystem.status(root, name)
        return there == nil ? nil : try fileSystem.open(root, name, .directory, mode: 0)
    }

    package func open() throws(StoreError) -> Descriptor {
        try fileSystem.makeDirectoryIfAbsent(root, name, mode: 0o777)
        return try fileSystem.open(root, name, .directory, mode: 0)
    }

    /// Opens or creates a lock in the open directory.
    package func openLock(_ work: Int32, _ name: String) throws(StoreError) -> Descriptor {
        try fileSystem.openLock(work, name, rights)
    }

    package func freeByteCount() throws(StoreError) -> Int64 {
        try fileSystem.freeSpace(root).available
    }

    /// Removes what killed processes have left, while nobody sends many files at once.
    ///
    /// Writing a single file takes a moment, so one of an hour ago is abandoned.
    /// - Returns: what cannot be removed, and why.
    package func dropUnfinished(now: Int64) throws(StoreError) -> [(path: String, reason: String)] {
        guard let aside = try openIfPresent() else { return [] }
        var stuck: [(path: String, reason: String)] = []
        for file in try fileSystem.names(in: aside.raw) where file.hasPrefix("put-") {
            let isOfMany = file.split(separator: "-").count > 2
            guard let left = try fileSystem.status(aside.raw, file), left.kind == .regular,
                isOfMany || abs(now - left.modifiedAt / 1_000_000_000) > 3_600
            else { continue }
            do throws(StoreError) {
                try fileSystem.removeIfPresent(aside.raw, file)
            } catch {
                guard error.isOfOneName else { throw error }
                stuck.append(("\(name)/\(file)", error.message))
            }
        }
        return stuck
    }
}

extension FileSystem {
    /// Opens or creates a lock file, closed to all who may not write here, as its holder can stop everybody else.
    /// - Parameter rights: those of the files there; 0 before there are any, so that the umask decides.
    func openLock(
        _ directory: Int32, _ name: String, _ rights: UInt32
    ) throws(StoreError) -> Descriptor {
        let file = try open(directory, name, .updating, mode: 0o660)
        let there = try status(file.raw).mode
        let mode: UInt32 = (rights == 0 ? there : rights) & 0o020 == 0 ? 0o600 : 0o660
        // Only its owner can, and their next command does.
        if there != mode { try? setMode(file.raw, mode) }
        return file
    }
}
