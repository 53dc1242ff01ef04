package import Platform

/// The file system for root in another user's store or origin: root is that user there.
///
/// Whatever root does with a path that the owner may change, root does with the owner's rights (``OtherUser``): a
/// directory that the owner swaps for a link leads only where the owner may go, and what is made is the owner's. Paths from
/// the working directory are what a person typed, and are found as root; so are sources (``outside``).
package struct OwnersFileSystem: FileSystemWrapper {
    package let base: any FileSystem
    /// `nil` for root without the right to be somebody else (CAP_SETUID): then nothing is made.
    private let owner: OtherUser?
    private let path: String
    private let user: UInt32

    /// The file system for a store or an origin: the given one, unless root uses another user's.
    package static func around(
        _ base: any FileSystem, root: Int32, of path: String
    ) throws(StoreError) -> any FileSystem {
        guard effectiveUser() == 0 else { return base }
        let status = try base.status(root)
        guard status.owner != 0 else { return base }
        return OwnersFileSystem(
            base: base, owner: OtherUser(status.owner, group: status.group), path: path,
            user: status.owner)
    }

    /// The file system for a directory that may not be there yet.
    package static func around(
        _ base: any FileSystem, directory path: String
    ) throws(StoreError) -> any FileSystem {
        guard effectiveUser() == 0,
            let root = try base.openIfPresent(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks)
        else { return base }
        return try around(base, root: root.raw, of: path)
    }

    /// Changes something as the owner.
    /// - Throws: `.notOwner` for root without the right to be somebody else.
    private func acting<R: ~Copyable>(
        _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        guard owner != nil else {
            throw StoreError(
                .notOwner,
                "\(printable(path)) belongs to \(userDescription(user)), and this is "
                    + "\(userDescription(0)) without the right to act for others (CAP_SETUID): run the "
                    + "command as its owner" + (userName(user).map { " (sudo -u \($0) …)" } ?? ""))
        }
        return try asOwner(body)
    }

    /// Does something as the owner, if this process may be somebody else.
    func asOwner<R: ~Copyable>(
        _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        guard let owner else { return try body() }
        owner.begin()
        defer { owner.end() }
        return try body()
    }

    /// Looks at a path: as the owner, but for one that a person typed.
    private func looking<R: ~Copyable>(
        _ directory: Int32, _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        directory == POSIXFileSystem.workingDirectory ? try body() : try asOwner(body)
    }
}

// Verbs with an open file need no rights any more, but for those that change whose or what it is.
extension OwnersFileSystem {
    package func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        switch access {
        case .updating where owner == nil:
            try opened(directory, path)
        case .creating, .updating:
            try acting { () throws(StoreError) in
                try base.open(directory, path, access, mode: mode)
            }
        default:
            try looking(directory) { () throws(StoreError) in
                try base.open(directory, path, access, mode: mode)
            }
        }
    }

    /// Opens what is there, for root who can make nothing.
    private func opened(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try base.open(directory, path, .changing, mode: 0)
        } catch {
            guard error.code == .notFound else { throw error }
            return try acting { () throws(StoreError) in
                try base.open(directory, path, .updating, mode: 0)
            }
        }
    }

    package func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        try asOwner { () throws(StoreError) in try base.openBeneath(directory, path, access) }
    }

    package func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try acting { () throws(StoreError) in try base.setMode(file, mode) }
    }

    package func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try acting { () throws(StoreError) in try base.setMode(directory, path, mode) }
    }

    package func setModified(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ nanoseconds: Int64
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.setModified(directory, path, nanoseconds)
        }
    }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try looking(directory) { () throws(StoreError) in try base.status(directory, path) }
    }

    package func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.link(source, sourcePath, to: target, targetPath)
        }
    }

    package func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.rename(source, sourcePath, to: target, targetPath)
        }
    }

    package func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.renameNew(source, sourcePath, to: target, targetPath)
        }
    }

    package func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.exchange(directory, first, second, spare: spare)
        }
    }

    package func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.remove(directory, path, directory: isDirectory)
        }
    }

    package func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.makeDirectory(directory, path, mode: mode)
        }
    }

    package func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try acting { () throws(StoreError) in
            try base.makeSymbolicLink(directory, path, to: target)
        }
    }

    package func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try looking(directory) { () throws(StoreError) in
            try base.symbolicLink(directory, path)
        }
    }
}

extension FileSystem {
    /// The file system for what is outside the store, and belongs to the user who makes it.
    package var outside: any FileSystem { (self as? OwnersFileSystem)?.base ?? self }
}
