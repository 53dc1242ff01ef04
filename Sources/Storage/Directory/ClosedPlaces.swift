package import Platform

/// A file or directory that some of its users cannot use.
package struct ClosedPlace: Sendable {
    /// Below the directory.
    package let path: String
    package let status: FileStatus
    /// Whether it is closed because its owner differs from the directory's.
    package let isForeign: Bool
    package fileprivate(set) var isOpened = false
    /// Why it could not be opened.
    package fileprivate(set) var obstacle: StoreError?
}

/// Finds what some users of a directory cannot use, and opens it.
package struct ClosedPlaces {
    private let root: Int32
    private let owner: FileStatus
    private let rights: UInt32
    private let opens: Bool
    private let outside: (any FileSystem)?
    private let fileSystem: any FileSystem
    package private(set) var found: [ClosedPlace] = []

    /// Nothing in an origin is deeper (e/N/objects/ab/…) except a stranger's files.
    private static let depthMax = 5

    /// - Parameters:
    ///   - rights: those that all files there should have.
    ///   - opens: whether to add missing rights.
    ///   - outside: with this, root gives back what is another user's; `nil` to give back nothing.
    package init(
        in root: Int32, _ rights: UInt32, opens: Bool,
        givingBackBy outside: (any FileSystem)? = nil,
        _ fileSystem: any FileSystem
    ) throws(StoreError) {
        self.root = root
        owner = try fileSystem.status(root)
        (self.rights, self.opens, self.outside) = (rights, opens, outside)
        self.fileSystem = fileSystem
    }

    /// Examines a name of the directory, and what is below it.
    /// - Parameter isPrivate: whether only writers use it.
    package mutating func look(at name: String, isPrivate: Bool = false) throws(StoreError) {
        try look(root, name, name, isPrivate, 0)
    }

    private mutating func look(
        _ directory: Int32, _ name: String, _ path: String, _ isPrivate: Bool, _ depth: Int
    ) throws(StoreError) {
        guard let there = try fileSystem.status(directory, name) else { return }
        // A writer's rights are no finding: only its owner can give them, and gives them when it writes there.
        if isPrivate, opens { _ = try? fileSystem.share(directory, name, rights.ofWriters) }
        let rights = isPrivate ? 0 : rights
        let isForeign = isClosed(there, isPrivate, rights)
        if isForeign || there.lacks(rights) != nil {
            var place = ClosedPlace(path: path, status: there, isForeign: isForeign)
            do throws(StoreError) {
                if opens { place.isOpened = try open(directory, name, there, isForeign, rights) }
            } catch {
                // Not even root may, without the right to act for others.
                guard error.code == .permission || error.cause == nil else { throw error }
                place.obstacle = error
            }
            found.append(place)
        }
        guard depth < Self.depthMax, there.kind == .directory else { return }
        do throws(StoreError) {
            let below = try fileSystem.open(directory, name, .directory, mode: 0)
            for name in try fileSystem.names(in: below.raw).sorted() {
                try look(below.raw, name, "\(path)/\(name)", isPrivate, depth + 1)
            }
        } catch {
            // The reason is noted, or files below will be missed by name; or it has gone in the meantime.
            guard error.isOfOneName || error.code == .notFound else { throw error }
        }
    }

    /// Whether the directory's owner or readers cannot use another user's file; never if a group may write there.
    private func isClosed(_ there: FileStatus, _ isPrivate: Bool, _ rights: UInt32) -> Bool {
        guard there.owner != owner.owner, !owner.isGroupsPlace else { return false }
        switch there.kind {
        case .directory: return self.rights & 0o020 == 0 && there.mode & 0o022 == 0
        case .regular where isPrivate: return self.rights & 0o020 == 0
        case .regular: return there.lacks(rights) != nil || there.mode & 0o044 == 0
        default: return false
        }
    }

    private func open(
        _ directory: Int32, _ name: String, _ there: FileStatus, _ isForeign: Bool, _ rights: UInt32
    ) throws(StoreError) -> Bool {
        let isOurs = isForeign ? try giveBack(directory, name, there) : true
        let isShared = try fileSystem.share(directory, name, rights)
        return isForeign ? isOurs : isShared
    }

    /// Gives back what root has opened, through no link.
    ///
    /// Of files, only those that everybody may read or that hold zeros, and that have no other name: the owner may
    /// have linked another user's file, or moved one here.
    private func giveBack(
        _ directory: Int32, _ name: String, _ there: FileStatus
    ) throws(StoreError) -> Bool {
        let access: Access = there.kind == .directory ? .directory : .reading
        guard let outside, let file = try outside.openIfPresent(directory, name, access) else {
            return false
        }
        let opened = try outside.status(file.raw)
        guard opened.isSameFile(as: there), opened.device == owner.device,
            opened.kind == .directory || opened.linkCount == 1
        else { return false }
        if opened.kind == .regular, opened.mode & 0o004 == 0 {
            let bytes = try outside.read(file.raw, at: 0, count: 4 << 20)
            guard Int64(bytes.count) == opened.byteCount, bytes.allSatisfy({ $0 == 0 }) else {
                return false
            }
        }
        try outside.setOwner(file.raw, owner.owner, group: owner.group)
        return true
    }
}

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
