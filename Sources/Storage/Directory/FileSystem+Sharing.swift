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
    ///
    /// A link gets none, and neither does a file that has other names: whose bytes these are is not known.
    /// - Returns: whether it lacked any.
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
            // Closed even to its owner, to whom alone it is opened by its name; links are not followed.
            try setMode(directory, name, there.mode | (there.kind == .directory ? 0o700 : 0o600))
            file = try open(directory, name, access, mode: 0)
        }
        // Whoever exchanges it for another one meanwhile gains nothing: it is looked at once more when it is open.
        guard let mode = try status(file.raw).lacks(rights) else { return false }
        try setMode(file.raw, mode)
        return true
    }
}

extension FileStatus {
    /// The mode with rights that it lacks; `nil` if it has them, or must not get any.
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
