// Directories that cannot be renamed: overlayfs answers EXDEV for one of a lower layer
// (kernel.org/doc/Documentation/filesystems/overlayfs.rst, "Renaming directories").

extension FileSystem {
    /// Renames; a directory that cannot be renamed is moved entry by entry.
    ///
    /// For trees that nobody looks at as a whole: meanwhile, a part is here and a part there.
    package func move(
        _ source: Int32, _ name: String, to target: Int32, _ newName: String
    ) throws(StoreError) {
        do throws(StoreError) {
            return try rename(source, name, to: target, newName)
        } catch {
            guard error.isOtherLayer, let status = try status(source, name),
                status.kind == .directory
            else { throw error }
            try moveEntries(source, name, to: target, newName, mode: status.mode)
        }
    }

    /// Makes room where a directory stands that is not castree's: removes it if it is empty, and moves it otherwise.
    package func removeEmpty(
        _ source: Int32, _ name: String, orMoveTo target: Int32, _ newName: String
    ) throws(StoreError) {
        do throws(StoreError) {
            try remove(source, name, directory: true)
        } catch {
            guard error.isExisting else { throw error }
            try move(source, name, to: target, newName)
        }
    }

    private func moveEntries(
        _ source: Int32, _ name: String, to target: Int32, _ newName: String, mode: UInt32
    ) throws(StoreError) {
        try makeDirectory(target, newName, mode: 0o700)
        let from = try open(source, name, .directory, mode: 0)
        let to = try open(target, newName, .directory, mode: 0)
        if mode & 0o300 != 0o300 { try setMode(from.raw, 0o700) }
        for entry in try names(in: from.raw) { try move(from.raw, entry, to: to.raw, entry) }
        try setMode(to.raw, mode)
        try remove(source, name, directory: true)
    }
}
