// Directories that cannot be renamed: overlayfs answers EXDEV for one of a lower layer
// (kernel.org/doc/Documentation/filesystems/overlayfs.rst, "Renaming directories").

extension FileSystem {
    /// Renames, or moves an unrenamable directory entry by entry, so that parts of it are in both places meanwhile.
    package func move(
        _ source: Int32, _ name: UnsafePointer<CChar>, to target: Int32,
        _ newName: UnsafePointer<CChar>
    ) throws(StoreError) {
        do throws(StoreError) {
            return try rename(source, name, to: target, newName)
        } catch {
            guard error.isOtherLayer, try status(source, name)?.kind == .directory else {
                throw error
            }
            try makeAgain(source, name, as: target, newName, emptying: true) {
                (from, entry, to) throws(StoreError) in
                try move(from, entry, to: to, entry)
            }
            try remove(source, name, directory: true)
        }
    }

    /// Clears a place of a stranger's directory: removes an empty one, and moves any other.
    package func removeEmpty(
        _ source: Int32, _ name: String, orMoveTo target: Int32, _ newName: String
    ) throws(StoreError) {
        do throws(StoreError) {
            try remove(source, name, directory: true)
        } catch {
            guard error.isExisting else { throw error }
            try setAside(source, name, to: target, newName)
        }
    }

    /// Moves a stranger's file or directory out of the way.
    ///
    /// A directory that only its owner may write cannot change its parent (rename(2), EACCES): another user's is
    /// removed if it is empty, and otherwise gets a hidden name in the same directory.
    package func setAside(
        _ source: Int32, _ name: String, to target: Int32, _ newName: String
    ) throws(StoreError) {
        do throws(StoreError) {
            try move(source, name, to: target, newName)
        } catch {
            guard error.isAccessDenied, let there = try status(source, name),
                there.kind == .directory
            else { throw error }
            // This user's own that is read-only, such as a copy of a tree; only the owner can set its mode.
            if there.mode & 0o200 == 0,
                (try? setMode(source, name, there.mode | 0o700)) != nil
            {
                return try move(source, name, to: target, newName)
            }
            do throws(StoreError) {
                try remove(source, name, directory: true)
            } catch {
                guard error.isExisting else { throw error }
                let directory = name.lastIndex(of: "/").map { name[...$0] } ?? ""
                try rename(source, name, to: source, "\(directory).\(newName)")
            }
        }
    }

    /// Copies a tree as links to its files.
    package func linkTree(
        _ source: Int32, _ name: UnsafePointer<CChar>, to target: Int32,
        _ newName: UnsafePointer<CChar>
    ) throws(StoreError) {
        guard try status(source, name)?.kind == .directory else {
            return try link(source, name, to: target, newName)
        }
        try makeAgain(source, name, as: target, newName) { (from, entry, to) throws(StoreError) in
            try linkTree(from, entry, to: to, entry)
        }
    }

    /// Makes a directory elsewhere, with the same mode; `body` brings each entry.
    private func makeAgain(
        _ source: Int32, _ name: UnsafePointer<CChar>, as target: Int32,
        _ newName: UnsafePointer<CChar>, emptying: Bool = false,
        _ body: (Int32, UnsafePointer<CChar>, Int32) throws(StoreError) -> Void
    ) throws(StoreError) {
        try makeDirectory(target, newName, mode: 0o700)
        let from = try open(source, name, .directory, mode: 0)
        let to = try open(target, newName, .directory, mode: 0)
        let mode = try status(from.raw).mode
        if emptying, mode & 0o300 != 0o300 { try setMode(from.raw, 0o700) }
        for entry in try rawNames(in: from.raw) { try body(from.raw, entry, to.raw) }
        try setMode(to.raw, mode)
    }
}
