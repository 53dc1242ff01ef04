/// The file system for root in another user's store: what root makes there belongs to the store's owner.
///
/// Otherwise one command by root would leave directories and locks behind that the owner can never write
/// to. A file gets its name only once it is the owner's, so a kill in between leaves nothing of root's in
/// its place; a file that was there before is never given away.
struct OwnersFileSystem: FileSystemWrapper {
    let base: any FileSystem
    private let store: String
    private let owner, group: UInt32
    /// Whether this process may give files away (capabilities(7), CAP_CHOWN).
    private let mayGive: Bool

    /// The file system for a store: the given one, unless root uses another user's store.
    static func around(
        _ base: any FileSystem, root: Int32, of store: String
    ) throws(StoreError) -> any FileSystem {
        guard effectiveUser() == 0 else { return base }
        let status = try base.status(root)
        guard status.owner != 0 else { return base }
        return OwnersFileSystem(
            base: base, store: store, owner: status.owner, group: status.group,
            mayGive: mayGiveFilesAway())
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        switch access {
        case .creating:
            return try create(directory, path, mode)
        case .updating:
            while true {
                do throws(StoreError) {
                    return try base.open(directory, path, .changing, mode: 0)
                } catch {
                    guard error.code == .notFound else { throw error }
                }
                do throws(StoreError) {
                    return try create(directory, path, mode)
                } catch {
                    // Somebody else made it in between.
                    guard error.isExisting else { throw error }
                }
            }
        default:
            return try base.open(directory, path, access, mode: mode)
        }
    }

    private func create(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) -> Descriptor {
        try checkRight()
        let aside = try Self.name(beside: path)
        let file = try base.open(directory, aside, .creating, mode: mode)
        do throws(StoreError) {
            try base.setOwner(file.raw, owner, group)
            try base.renameNew(directory, aside, to: directory, path)
        } catch {
            // Report the first error; nothing refers to the leftover.
            try? base.removeIfPresent(directory, aside)
            throw error
        }
        return file
    }

    func makeDirectory(
        _ directory: Int32, _ path: UnsafePointer<CChar>, mode: UInt32
    ) throws(StoreError) {
        try checkRight()
        let aside = try Self.name(beside: path)
        try base.makeDirectory(directory, aside, mode: mode)
        do throws(StoreError) {
            let made = try base.open(directory, aside, .directory, mode: 0)
            try base.setOwner(made.raw, owner, group)
            try base.renameNew(directory, aside, to: directory, path)
        } catch {
            // As above.
            try? base.remove(directory, aside, directory: true)
            throw error
        }
    }

    func makeSymbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>, to target: String
    ) throws(StoreError) {
        try checkRight()
        // Callers make a link beside its place, and rename it there. A link has no descriptor.
        try base.makeSymbolicLink(directory, path, to: target)
        try base.setOwner(directory, path, owner, group)
    }

    /// Through a descriptor, not a link: the owner could put one in place of the file that was looked at.
    func setMode(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ mode: UInt32
    ) throws(StoreError) {
        let file = try base.openBeneath(directory, String(cString: path), .reading)
        try base.setMode(file.raw, mode)
    }

    func exchange(
        _ directory: Int32, _ first: String, _ second: String, spare: String
    ) throws(StoreError) {
        try base.exchange(directory, first, second, spare: spare)
    }

    /// A name beside another, like that of a lease being made: the next process sweeps it.
    private static func name(beside path: UnsafePointer<CChar>) throws(StoreError) -> String {
        let path = String(cString: path)
        let parent = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        return parent + ".new-\(processIdentifier())-\(try randomToken())"
    }

    private func checkRight() throws(StoreError) {
        guard !mayGive else { return }
        throw StoreError(
            .notOwner,
            "the store \(printable(store)) belongs to \(userDescription(owner)), and this is "
                + "\(userDescription(0)) without the right to give files away (CAP_CHOWN): run the "
                + "command as its owner" + (userName(owner).map { " (sudo -u \($0) …)" } ?? ""))
    }
}

extension FileSystem {
    /// The file system for what is outside the store, and belongs to the user who makes it.
    package var outside: any FileSystem { (self as? OwnersFileSystem)?.base ?? self }
}
