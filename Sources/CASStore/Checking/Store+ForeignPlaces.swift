// What stands in a store and belongs to another user than the store: a restore as root, a stray `sudo cp`. Its owner may not
// even open it, but may rename it away, since the directory is the owner's; and root can give it back.

extension Store {
    /// Whose a store is, for its checks.
    struct Owner: Sendable {
        let user, group: UInt32
        let device: UInt64

        init(_ root: FileStatus) {
            user = root.owner
            group = root.group
            device = root.device
        }
    }

    /// Finds out whether one thing belongs to another user than the store, in a way that matters: content of others that
    /// anybody may read is as good as one's own.
    ///
    /// - Parameters:
    ///   - path: where it is, inside the store.
    ///   - quarantine: where a repair puts what is made anew; `nil` to leave everything as it is.
    static func checkForeign(
        _ name: String, _ path: String, _ status: FileStatus, in directory: Int32, _ owner: Owner,
        mending quarantine: Int32?, _ fileSystem: any FileSystem
    ) throws(StoreError) -> Finding? {
        // What is in quarantine has been set aside, whosever it is.
        guard status.owner != owner.user, status.kind == .regular || status.kind == .directory,
            !path.hasPrefix(StoreLayout.quarantine + "/"), !isReadByAll(path, status)
        else { return nil }
        let whose =
            "\(printable(path)) in the store belongs to \(userDescription(status.owner)), and the store to "
            + userDescription(owner.user)
        let found = Finding(.wrongOwner, path: printable(path, .max), whose)
        return try found.repaired { () throws(StoreError) in
            let deed: String? =
                if let quarantine {
                    effectiveUser() == 0
                        ? try giveBack(name, status, in: directory, owner, fileSystem.outside)
                        : try makeAnew(name, path, status, in: directory, quarantine, fileSystem)
                } else { nil }
            guard let deed else {
                return found.adding(
                    quarantine != nil && effectiveUser() == 0
                        ? "; it has other names, and its owner may have linked another user's: give it back by chown "
                            + "if it is the store's"
                        : "; castree fsck --repair, run as root, gives it back")
            }
            return found.adding(deed).done
        }
    }

    /// A file, that is: in a directory of another user's the owner can neither make nor remove anything.
    private static func isReadByAll(_ path: String, _ status: FileStatus) -> Bool {
        let isContent = [
            StoreLayout.objects, StoreLayout.manifests, StoreLayout.versions,
        ].contains { path.hasPrefix($0 + "/") }
        return isContent && status.kind == .regular && status.mode & 0o004 != 0
    }

    /// The finding of a directory in the store that belongs to another user; `nil` if it is the owner's.
    package func foreignDirectory(
        _ path: String, _ status: FileStatus
    ) throws(StoreError) -> Finding? {
        let root = directories.root.raw
        return try Self.checkForeign(
            path, path, status, in: root, Owner(fileSystem.status(root)), mending: nil, fileSystem)
    }

    /// Gives an object's file, or its executable copy, the mode that it must have.
    ///
    /// That of another user's file nobody but that user and root may set: root gives it back first, or a copy takes its place.
    func setMode(of address: ObjectID, executable: Bool) throws(StoreError) {
        let objects = directories.objects.raw
        let path = StoreLayout.objectPath(address, executable: executable)
        let mode: UInt32 = executable ? 0o555 : 0o444
        do throws(StoreError) {
            return try fileSystem.setMode(objects, path, mode)
        } catch {
            guard error.isOfOneName, try isForeign(objects, path) else { throw error }
        }
        let parts = path.split(separator: "/").map(String.init)
        let shard = try fileSystem.open(objects, parts[0], .directory, mode: 0)
        if effectiveUser() == 0, let status = try fileSystem.status(shard.raw, parts[1]) {
            let owner = try Owner(fileSystem.status(directories.root.raw))
            let deed = try Self.giveBack(
                parts[1], status, in: shard.raw, owner, fileSystem.outside)
            if deed != nil { return try fileSystem.setMode(shard.raw, parts[1], mode) }
        }
        let source = try fileSystem.open(shard.raw, parts[1], .reading, mode: 0)
        let (staging, name) = (
            directories.staging.raw, StoreLayout.copyPrefix + (try randomToken())
        )
        do throws(StoreError) {
            _ = try copy(
                source.raw, of: address, to: staging, name, mode: mode, allowingReflink: false)
            let made = try fileSystem.open(staging, name, .reading, mode: 0)
            try sync(made.raw)
            self.objects.seal(staging, name, as: address, at: nanosecondsNow())
            try fileSystem.rename(staging, name, to: shard.raw, parts[1])
        } catch {
            // The first error is the one to report; the next repair removes what is left.
            try? fileSystem.removeIfPresent(staging, name)
            throw error
        }
    }

    private func isForeign(_ directory: Int32, _ path: String) throws(StoreError) -> Bool {
        let owner = try fileSystem.status(directories.root.raw).owner
        return try fileSystem.status(directory, path).map { $0.owner != owner } ?? false
    }

    /// Root gives it back: what was opened, through no link, and of files those alone that have no other name.
    ///
    /// The owner may have linked another user's file into the store.
    /// - Returns: what was done, as the end of a sentence; `nil` if nothing.
    private static func giveBack(
        _ name: String, _ status: FileStatus, in directory: Int32, _ owner: Owner,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> String? {
        let access: Access = status.kind == .directory ? .directory : .reading
        guard let file = try fileSystem.openIfPresent(directory, name, access) else { return nil }
        let opened = try fileSystem.status(file.raw)
        guard opened.isSameFile(as: status), opened.device == owner.device,
            opened.kind == .directory || opened.linkCount == 1
        else { return nil }
        try fileSystem.setOwner(file.raw, owner.user, group: owner.group)
        return "; it was given back"
    }

    /// The owner, who may rename what stands in the owner's directories, makes anew what is derived or can be read.
    /// - Returns: what was done, as the end of a sentence; `nil` if nothing.
    private static func makeAnew(
        _ name: String, _ path: String, _ status: FileStatus, in directory: Int32,
        _ quarantine: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> String? {
        let isFile = status.kind == .regular
        let place = path.split(separator: "/").dropLast().joined(separator: "/")
        let isDerived =
            place.isEmpty
            ? derived.contains(name) || name.hasPrefix(StoreLayout.index)
            : [StoreLayout.staging, StoreLayout.leases, StoreLayout.pointers].contains(place)
        if isFile, !isDerived, let bytes = readable(name, in: directory, fileSystem) {
            try fileSystem.replaceFile(
                directory, name, with: bytes, mode: status.mode & 0o777, token: randomToken(),
                durably: true)
            return "; it was replaced by a copy"
        }
        if isFile, isDerived || (place.isEmpty && notes.contains(name)) {
            // Somebody of before may still have the lock, and would not see whoever takes a new one.
            guard LockHolder.find(of: status).process == nil else { return nil }
            return try setAside(name, in: directory, quarantine, fileSystem)
        }
        guard !isFile, place.isEmpty, replaceable.contains(name) else { return nil }
        // A directory of another user's can be renamed beside its place alone (rename(2), EACCES).
        try fileSystem.move(directory, name, to: directory, ".\(name).\(try randomToken())")
        try fileSystem.makeDirectoryIfAbsent(directory, name)
        return "; it was set aside beside its place, and is made anew"
    }

    private static let derived = [
        StoreLayout.stamp, StoreLayout.verified, StoreLayout.lastCheck, StoreLayout.stuck,
        StoreLayout.reserve,
    ]
    /// What a damaged one loses, the documentation says; each begins anew.
    private static let notes = [
        StoreLayout.server, StoreLayout.owed, StoreLayout.channels, StoreLayout.device,
        StoreLayout.events, StoreLayout.olderEvents,
    ]
    private static let replaceable = [
        StoreLayout.staging, StoreLayout.leases, StoreLayout.pointers, StoreLayout.packing,
        StoreLayout.quarantine,
    ]

    /// A small file's bytes; `nil` if it cannot be read, for whatever reason.
    private static func readable(
        _ name: String, in directory: Int32, _ fileSystem: any FileSystem
    ) -> [UInt8]? {
        // Then it is set aside, or stays.
        try? fileSystem.contents(directory, name, limit: 16 << 20)
    }

    private static func setAside(
        _ name: String, in directory: Int32, _ quarantine: Int32, _ fileSystem: any FileSystem
    ) throws(StoreError) -> String {
        try fileSystem.rename(
            directory, name, to: quarantine, try StoreLayout.aside("foreign"))
        return "; it was put into quarantine, and is made anew"
    }

    /// Finds what in the root of the store and among its locks belongs to another user.
    ///
    /// A look at each name, for those who ask every minute.
    package func checkForeign() throws(StoreError) -> [Finding] {
        let owner = Owner(try fileSystem.status(directories.root.raw))
        var findings: [Finding] = []
        for (place, directory) in [
            (StorePlace.root, directories.root.raw), (.leases, directories.leases.raw),
        ] {
            for name in try fileSystem.names(in: directory).sorted() where place.isOurs(name) {
                guard let status = try fileSystem.status(directory, name),
                    let finding = try Self.checkForeign(
                        name, place.path(of: name), status, in: directory, owner, mending: nil,
                        fileSystem)
                else { continue }
                findings.append(finding)
            }
        }
        return findings
    }
}
