package import Platform

// Files that a web server, or a server of another user, can read, whatever the umask of their writer.

extension FileSystem {
    /// Gives a new file rights that the umask has taken.
    package func share(_ file: Int32, _ rights: UInt32) throws(StoreError) {
        guard rights != 0 else { return }
        let mode = try status(file).mode
        if mode & rights != rights { try setMode(file, mode | rights) }
    }

    /// Adds missing rights to a name; directories become searchable for those who may read them.
    ///
    /// Links and files with other names get none, as it is unknown whose bytes these are.
    /// - Returns: whether any were missing.
    @discardableResult
    package func share(
        _ directory: Int32, _ name: UnsafePointer<CChar>, _ rights: UInt32
    ) throws(StoreError) -> Bool {
        guard rights != 0, let there = try status(directory, name), there.lacks(rights) != nil
        else { return false }
        let access: Access = there.kind == .directory ? .directory : .reading
        var file: Descriptor
        do throws(StoreError) {
            file = try open(directory, name, access, mode: 0)
        } catch {
            guard error.code == .permission else { throw error }
            // Closed even to its owner, for whom alone it is opened by name; links are not followed.
            try setMode(directory, name, there.mode | (there.kind == .directory ? 0o700 : 0o600))
            file = try open(directory, name, access, mode: 0)
        }
        // Exchanging it meanwhile gains nothing, because the open file is examined once more.
        guard let mode = try status(file.raw).lacks(rights) else { return false }
        try setMode(file.raw, mode)
        return true
    }
}

extension UInt32 {
    /// The rights, of those that all files get, that a writer needs to what only writers use.
    var ofWriters: UInt32 { self & 0o020 == 0 ? 0 : 0o060 }
}

/// Gives a group what its members create in the directory that only writers use, whatever their umask.
struct GroupFileSystem: FileSystemWrapper {
    let base: any FileSystem

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        let file = try base.open(directory, path, access, mode: mode)
        // Only its owner can: what is here already is theirs to give.
        if access == .creating || access == .updating { try? base.share(file.raw, 0o060) }
        return file
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try base.makeDirectory(directory, path, mode: mode)
        try base.share(directory, path, 0o060)
    }
}

extension FileStatus {
    /// The mode with missing rights added; `nil` if none are missing, or it must not get any.
    func lacks(_ rights: UInt32) -> UInt32? {
        let wanted: UInt32
        switch kind {
        case .regular where linkCount == 1: wanted = rights
        case .directory: wanted = rights | (rights & 0o444) >> 2
        default: return nil
        }
        return mode & wanted == wanted ? nil : mode | wanted
    }
}
