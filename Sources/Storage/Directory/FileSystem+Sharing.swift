package import Platform

// Files that a web server, or a server of another user, can read, whatever the umask of who writes them.

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
