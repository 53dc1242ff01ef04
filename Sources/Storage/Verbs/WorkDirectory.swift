package import Platform

/// The directory of a storage on this machine for what is being made: no listing shows it.
package struct WorkDirectory: Sendable {
    /// The storage's directory, open.
    package let root: Int32
    /// The name of the directory in it.
    package let name: String
    /// The storage's directory, as it was named.
    package let place: String
    package let fileSystem: any FileSystem
    /// Whether anything may be made there: not for whoever only says what a command would do.
    package internal(set) var isWritable = true
    private let rights: UInt32
    /// Who keeps `root` open.
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

    /// Opens it; nil if it is not there.
    package func openIfPresent() throws(StoreError) -> Descriptor? {
        let there = try fileSystem.status(root, name)
        return there == nil ? nil : try fileSystem.open(root, name, .directory, mode: 0)
    }

    /// Opens it, and makes it if it is not there.
    package func open() throws(StoreError) -> Descriptor {
        try fileSystem.makeDirectoryIfAbsent(root, name, mode: 0o777)
        return try fileSystem.open(root, name, .directory, mode: 0)
    }

    /// Opens a lock in it, open there, and makes it if it is not there.
    package func openLock(_ work: Int32, _ name: String) throws(StoreError) -> Descriptor {
        try fileSystem.openLock(work, name, rights)
    }

    /// How much can be written to the storage still, in bytes.
    package func freeByteCount() throws(StoreError) -> Int64 {
        try fileSystem.freeSpace(root).available
    }

    /// Removes what killed processes have left unfinished, while nobody sends many files at once.
    ///
    /// A file that is written alone takes a moment: one of an hour ago is left.
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
    /// Opens a file to be locked, and makes it if it is not there: closed to all who may not write here, since whoever could
    /// take it could stop everybody else.
    /// - Parameter rights: those of the files there; 0 where there is none yet: then the umask decides, as it will for them.
    func openLock(
        _ directory: Int32, _ name: String, _ rights: UInt32
    ) throws(StoreError) -> Descriptor {
        let file = try open(directory, name, .updating, mode: 0o660)
        let there = try status(file.raw).mode
        let mode: UInt32 = (rights == 0 ? there : rights) & 0o020 == 0 ? 0o600 : 0o660
        // Only its owner can, whose next command does.
        if there != mode { try? setMode(file.raw, mode) }
        return file
    }
}
