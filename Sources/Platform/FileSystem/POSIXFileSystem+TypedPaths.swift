import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension POSIXFileSystem {
    static var isRoot: Bool { geteuid() == 0 }

    /// Opens a directory for root by a path that a person typed and other users' links may be on.
    ///
    /// Such a link, and whatever its owner puts in its place, leads only to that user's files. A link of root's own,
    /// or of the owner of `/` (who is not root in a user namespace), leads anywhere.
    /// - Parameter isOfFile: the path leads to a file, whose directory is opened.
    func openTyped(
        _ directory: Int32, _ path: UnsafePointer<CChar>, ofFile isOfFile: Bool = false
    ) throws(StoreError) -> Descriptor {
        if !isOfFile {
            let raw = retrying { castree_open_through_no_link(directory, path) }
            if raw >= 0 { return Descriptor(owning: raw) }
            // A link; or a kernel before 5.6, or a sandbox that does not know the call.
            guard [ELOOP, ENOSYS, EPERM].contains(errno) else {
                throw failure("openat", directory, path)
            }
        }
        let typed = String(cString: path)
        var names = typed.split(separator: "/").reversed().map(String.init)
        var owners: Set<UInt32> = []
        // The number of links that Linux follows (path_resolution(7)).
        var linksLeft = 40
        var current = try step(directory, typed.hasPrefix("/") ? "/" : ".")
        while let name = names.popLast() {
            let link = link(current.raw, name)
            var target = link?.target
            if isOfFile, names.isEmpty {
                // A process's open file has a path, too.
                if target == nil { target = try symbolicLink(current.raw, name) }
                if target == nil { break }
            }
            guard let link, let target, linksLeft > 0 else {
                // A path to a process in /proc means its directory.
                let isOfProcess = link.map { $0.target == nil } ?? false
                current = try step(current.raw, name, followingLinks: isOfProcess)
                continue
            }
            linksLeft -= 1
            owners.insert(link.owner)
            names += target.split(separator: "/").reversed().map(String.init)
            if target.hasPrefix("/") {
                current = try step(directory, "/")
            }
        }
        let trusted = [0, try status(directory, "/")?.owner, try status(current.raw).owner]
        guard let other = owners.first(where: { !trusted.contains($0) }) else {
            return try open(current.raw, ".", .directory, mode: 0)
        }
        throw StoreError(
            .permission,
            "a symbolic link of \(userDescription(other)) on the way to \(printable(typed)) leads to what is not that "
                + "user's, and root does not follow it: name the place that is meant")
    }

    /// Opens a directory on the way, which needs no right to read it (path_resolution(7)).
    private func step(
        _ directory: Int32, _ name: String, followingLinks: Bool = false
    ) throws(StoreError) -> Descriptor {
        let flags =
            castree_only_looking() | O_DIRECTORY | O_CLOEXEC | (followingLinks ? 0 : O_NOFOLLOW)
        let raw = retrying { castree_openat(directory, name, flags, 0) }
        guard raw >= 0 else { throw failure("openat", directory, name) }
        return Descriptor(owning: raw)
    }

    /// The owner of a link, and its target unless that does not count; `nil` for anything but a link.
    private func link(
        _ directory: Int32, _ name: String
    ) -> (target: String?, owner: UInt32)? {
        var (count, owner) = (0, UInt32(0))
        let target = String(unsafeUninitializedCapacity: 4096) { buffer in
            count = buffer.withMemoryRebound(to: CChar.self) { target in
                retrying {
                    castree_read_link(directory, name, target.baseAddress, 4096, &owner)
                }
            }
            return max(count, 0)
        }
        return count == -1 ? nil : (count < 0 ? nil : target, owner)
    }
}
