package import Platform

/// The file system for root in another user's store or origin, where root acts as that user.
///
/// Anything done with a path that the owner may change is done with the owner's rights (``OtherUser``): a directory
/// that the owner swaps for a link leads only where the owner may go, and new files are the owner's. Paths from the
/// working directory were typed by a person and are resolved as root; so are sources (``outside``).
package struct OwnersFileSystem: FileSystemWrapper {
    package let base: any FileSystem
    /// The user to act as, or why that is impossible: then nothing is made.
    private let owner: Result<OtherUser, StoreError>

    /// The file system for a store or an origin: the given one, unless root uses another user's.
    package static func around(
        _ base: any FileSystem, root: Int32, of path: String
    ) throws(StoreError) -> any FileSystem {
        guard effectiveUser() == 0 else { return base }
        let status = try base.status(root)
        guard status.owner != 0 else { return base }
        guard let owner = OtherUser(status.owner, group: status.group) else {
            return OwnersFileSystem(base: base, owner: .failure(notAllowed(path, status.owner)))
        }
        return OwnersFileSystem(base: base, owner: .success(owner))
    }

    /// The file system for a directory that may not exist yet; without a known owner, every change throws the reason.
    package static func around(
        _ base: any FileSystem, directory path: String
    ) -> any FileSystem {
        guard effectiveUser() == 0 else { return base }
        do throws(StoreError) {
            let here = POSIXFileSystem.workingDirectory
            if let root = try base.openIfPresent(here, path, .typedDirectory) {
                return try around(base, root: root.raw, of: path)
            }
            // A new one is for the owner of the directory above, if root can act as that user.
            let owners = try allowing(
                { $0.code == .notFound },
                try base.atTyped(path) { (above, _) throws(StoreError) in
                    try around(base, root: above, of: path)
                })
            guard let owners = owners as? OwnersFileSystem, owners.refusal == nil else {
                return base
            }
            return owners
        } catch {
            return OwnersFileSystem(base: base, owner: .failure(error))
        }
    }

    /// For root without the right to change the user (CAP_SETUID).
    private static func notAllowed(_ path: String, _ user: UInt32) -> StoreError {
        StoreError(
            .notOwner,
            "\(printable(path)) belongs to \(userDescription(user)), and this is "
                + "\(userDescription(0)) without the right to act for others (CAP_SETUID): run the "
                + "command as its owner" + (userName(user).map { " (sudo -u \($0) …)" } ?? ""))
    }

    var refusal: StoreError? { if case .failure(let error) = owner { error } else { nil } }

    /// Changes something as the owner.
    /// - Throws: why root cannot be the owner: `.notOwner`, or the error in finding the directory's owner.
    private func acting<R: ~Copyable>(
        _ call: @autoclosure () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        if let refusal { throw refusal }
        return try asOwner(call)
    }

    /// Does something as the owner, if this process may change the user.
    func asOwner<R: ~Copyable>(
        _ body: () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        guard case .success(let owner) = owner else { return try body() }
        owner.begin()
        defer { owner.end() }
        return try body()
    }

    /// Resolves a path as the owner, except for one that a person typed.
    private func looking<R: ~Copyable>(
        _ directory: Int32, _ call: @autoclosure () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        directory == POSIXFileSystem.workingDirectory ? try call() : try asOwner(call)
    }
}

// Calls on an open file need no rights, except those that change its owner or mode.
extension OwnersFileSystem {
    package func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        switch (access, owner) {
        case (.updating, .failure):
            try opened(directory, path)
        case (.creating, _), (.updating, _), (.writingFollowingLinks, _),
            (.appendingFollowingLinks, _):
            try acting(try base.open(directory, path, access, mode: mode))
        default:
            try looking(directory, try base.open(directory, path, access, mode: mode))
        }
    }

    /// Opens an existing path, for root who can create nothing.
    private func opened(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try base.open(directory, path, .changing, mode: 0)
        } catch {
            guard error.code == .notFound else { throw error }
            return try acting(try base.open(directory, path, .updating, mode: 0))
        }
    }

    package func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        try asOwner { () throws(StoreError) in try base.openBeneath(directory, path, access) }
    }

    package func setMode(_ file: Int32, _ mode: UInt32) throws(StoreError) {
        try acting(try base.setMode(file, mode))
    }

    package func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        try acting(try base.setMode(directory, path, mode))
    }

    package func setModified(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ nanoseconds: Int64
    ) throws(StoreError) {
        try acting(try base.setModified(directory, path, nanoseconds))
    }

    package func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        try looking(directory, try base.status(directory, path))
    }

    package func link(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting(try base.link(source, sourcePath, to: target, targetPath))
    }

    package func rename(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting(try base.rename(source, sourcePath, to: target, targetPath))
    }

    package func renameNew(
        _ source: Int32, _ sourcePath: UnsafePointer<CChar>,
        to target: Int32, _ targetPath: UnsafePointer<CChar>
    ) throws(StoreError) {
        try acting(try base.renameNew(source, sourcePath, to: target, targetPath))
    }

    package func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try acting(try base.exchange(directory, first, second, spare: spare))
    }

    package func remove(
        _ directory: Int32, _ path: UnsafePointer<CChar>, directory isDirectory: Bool
    ) throws(StoreError) {
        try acting(try base.remove(directory, path, directory: isDirectory))
    }

    package func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try acting(try base.makeDirectory(directory, path, mode: mode))
    }

    package func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try acting(try base.makeSymbolicLink(directory, path, to: target))
    }

    package func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        try looking(directory, try base.symbolicLink(directory, path))
    }
}

extension FileSystem {
    /// The file system for everything outside the store, which belongs to the calling user.
    package var outside: any FileSystem { (self as? OwnersFileSystem)?.base ?? self }

    /// The file system for a directory reopened by its path, where another user's may have been swapped in.
    package func owners(of root: Int32, _ path: String) throws(StoreError) -> any FileSystem {
        try OwnersFileSystem.around(outside, root: root, of: path)
    }
}
