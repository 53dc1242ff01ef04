package import Platform

extension FileSystem {
    package func isInsideStore(_ directory: Int32) throws(StoreError) -> Bool {
        try anyAncestor(of: directory) { (directory, _) throws(StoreError) in
            try isStore(directory)
        }
    }

    package func isStore(_ directory: Int32) throws(StoreError) -> Bool {
        guard try status(directory, StoreLayout.format)?.kind == .regular else { return false }
        let manifests = try status(directory, StoreLayout.manifests)
        let leases = try status(directory, StoreLayout.leases)
        return manifests?.kind == .directory && leases?.kind == .directory
    }

    /// Refuses root's repair of a store or origin that a group member made in a directory of root's.
    ///
    /// It would be unclear who owns its content, and what root makes or changes there might be closed to its users.
    /// - Parameter marker: the file that marks the directory as a store or an origin.
    package func refuseRootsRepair(
        of root: Int32, madeWith marker: String, _ path: String
    ) throws(StoreError) {
        guard effectiveUser() == 0, try status(root).isGroupsPlace,
            let maker = try status(root, marker)?.owner, maker != 0
        else { return }
        throw StoreError(
            .permission,
            "\(printable(path)) is a directory of root's in which a group may write, as in the root of a volume, and "
                + "\(userDescription(maker)) has made what stands there: run the repair as that user (setpriv --reuid="
                + "\(maker)), or give that user the directory, too (chown \(maker) \(printable(path)))"
        )
    }

    /// Reports directories on other disks, to which a finished file cannot be moved.
    package func tellOfDisks(
        among names: [String], in root: Int32, _ tell: (String) -> Void
    ) throws(StoreError) {
        let here = try status(root)
        for name in names {
            guard let there = try status(root, name), there.kind == .directory,
                there.device != here.device
            else { continue }
            tell(
                "\(name) is a disk of its own, and nothing can be moved there: keep the whole store on one disk"
            )
        }
    }

    /// The nearest store under a name in a parent of the working directory, as git looks for a repository.
    ///
    /// Stops at the border of the file system, and skips other users' stores unless this user has none: otherwise
    /// anyone who may write to a parent could choose the store of a command.
    /// - Returns: its path, and whether it is this user's.
    package func storeAbove(named name: String) -> (path: String, isOwn: Bool)? {
        var path = name
        var start: FileStatus?
        var found: (path: String, isOwn: Bool)?
        let user = effectiveUser()
        // From a working directory that cannot be opened nothing above can be seen.
        _ = try? anyAncestor(of: POSIXFileSystem.workingDirectory) {
            (directory, here) throws(StoreError) in
            defer { path = "../" + path }
            guard let border = start?.device else {
                start = here
                return false
            }
            guard here.device == border else { return true }
            guard let owner = ownerOfStore(in: directory, name, on: border) else { return false }
            if owner == user || found == nil { found = (path, owner == user) }
            return owner == user
        }
        return found
    }

    /// The owner of a store; `nil` if there is none, or a link, or it may not be examined.
    private func ownerOfStore(in directory: Int32, _ name: String, on device: UInt64) -> UInt32? {
        // A place that cannot be examined is no store to use.
        guard let there = try? status(directory, name), there.kind == .directory,
            there.device == device,
            let opened = try? openIfPresent(directory, name, .directory),
            let format = try? status(opened.raw, StoreLayout.format), format.kind == .regular
        else { return nil }
        return there.owner
    }
}
