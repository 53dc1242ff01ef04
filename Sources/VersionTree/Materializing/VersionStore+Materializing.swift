public import CASStore

/// A tree that is built and not yet seen.
struct HiddenTree {
    var name: String
    var report: TreeReport
}

/// A tree that is hidden and not yet deleted; locked as long as this lives.
final class TreeInRemoval {
    let name: String
    let directory: Descriptor

    init(_ name: String, _ directory: consuming Descriptor) {
        self.name = name
        self.directory = directory
    }
}

extension VersionStore {
    /// Builds the version's tree in `versions/` if it is not there.
    ///
    /// In one step it is visible.
    /// - Throws: `.noVersion`; `.incompleteVersion` if objects are missing; `.outOfSpace`.
    public func materialize(_ name: String) throws(StoreError) {
        if try materializeIfAbsent(name) { return }
        // Whoever built it may have been killed before its name was durable.
        try store.sync(directories.versions.raw)
    }

    /// Builds the tree if it is not there.
    ///
    /// - Parameter isAlone: the caller has locked the lifecycle, so that nobody retires the version.
    /// - Returns: whether it was built now, durably.
    func materializeIfAbsent(
        _ name: String, alone isAlone: Bool = false
    ) throws(StoreError) -> Bool {
        let row = try row(of: name)
        // First of all: a repair that was cut short leaves the tree of a version that has lost objects.
        guard row.isComplete else { throw try incomplete(name) }
        guard try !isMaterialized(name) else { return false }
        let manifest = try registeredManifest(of: name, row)
        _ = try refuseMergedTwins(of: manifest)
        let lease = try store.makeLease()
        try makeTwins(of: manifest, lease)
        let tree = try buildTree(of: manifest, lease: lease)
        try store.syncAll()
        if isAlone {
            try publishTree(tree, of: manifest)
        } else {
            try withLifecycleLocked { () throws(StoreError) in
                try self.refuseChanged(row, tree)
                try self.publishTree(tree, of: manifest)
            }
        }
        try store.sync(directories.versions.raw)
        return true
    }

    /// Takes a tree away again if its version was retired or damaged, or was replaced under its name,
    /// while it was built.
    private func refuseChanged(_ row: VersionRow, _ tree: HiddenTree) throws(StoreError) {
        do throws(StoreError) {
            let now = try self.row(of: row.name)
            guard now.isComplete else { throw try incomplete(row.name) }
            guard now.manifest == row.manifest else {
                throw StoreError(
                    .busy,
                    "version \(row.name) was replaced by another process meanwhile; "
                        + "repeat the command")
            }
        } catch {
            // The error to report is the first; what is left is hidden and swept with the lease.
            try? fileSystem.removeTree(directories.versions.raw, tree.name)
            throw error
        }
    }

    func incomplete(_ name: String) throws(StoreError) -> StoreError {
        let missing = try store.missingObjects(of: name)?.count ?? 0
        guard missing > 0 else {
            return StoreError(
                .incompleteVersion,
                "version \(name) promises a size that one of its objects does not have; "
                    + "retire it and ask its publisher for a right manifest")
        }
        return StoreError(
            .incompleteVersion,
            "version \(name) lacks \(missing) object\(missing == 1 ? "" : "s"); "
                + "castree missing \(name) lists what, "
                + "add or pull it again")
    }

    /// Builds a tree beside its place.
    ///
    /// The caller makes it durable and publishes it.
    func buildTree(
        of manifest: Manifest, lease: borrowing Lease
    ) throws(StoreError) -> HiddenTree {
        let name = StoreLayout.hiddenTree(manifest.version.description, lease.name)
        try store.fileSystem.removeTree(directories.versions.raw, name)
        let report = try fillDirectory(
            directories.versions.raw, name, manifest, .link, directoryMode: 0o555)
        return HiddenTree(name: name, report: report)
    }

    private func fillDirectory(
        _ parent: Int32, _ name: String, _ manifest: Manifest, _ mode: LinkMode,
        directoryMode: UInt32
    ) throws(StoreError) -> TreeReport {
        do throws(StoreError) {
            try fileSystem.makeDirectory(parent, name, mode: 0o755)
            let root = try fileSystem.open(parent, name, .directory, mode: 0)
            let builder = TreeBuilder(
                store: store, manifest: manifest, mode: mode, directoryMode: directoryMode)
            return try builder.build(root.raw)
        } catch {
            // The error to report is the first; what is left is hidden and swept with the lease.
            if !error.isExisting { try? store.fileSystem.removeTree(parent, name) }
            throw error
        }
    }

    /// Whether anything stands where the version's tree is to stand.
    func hasSomething(inPlaceOf name: String) throws(StoreError) -> Bool {
        try fileSystem.status(directories.versions.raw, name) != nil
    }

    /// Puts a built tree in its place if that is free; `false`, and the tree is gone, if it is not.
    func publishNew(_ tree: HiddenTree, as name: String) throws(StoreError) -> Bool {
        let parent = directories.versions.raw
        do throws(StoreError) {
            try fileSystem.renameNew(parent, tree.name, to: parent, name)
            return true
        } catch {
            // The error to report is the first; a check finds what cannot be removed.
            try? fileSystem.removeTree(parent, tree.name)
            guard error.isExisting else { throw error }
            return false
        }
    }

    /// Puts a built tree in its place.
    ///
    /// A tree that is there and shows what the manifest says is kept; anything else makes room. The
    /// caller makes its name durable.
    func publishTree(_ tree: HiddenTree, of manifest: Manifest) throws(StoreError) {
        let parent = directories.versions.raw
        let name = manifest.version.description
        while true {
            do throws(StoreError) {
                try fileSystem.renameNew(parent, tree.name, to: parent, name)
                break
            } catch {
                guard error.isExisting else {
                    // The error to report is the first; a check finds what cannot be removed.
                    try? fileSystem.removeTree(parent, tree.name)
                    throw error
                }
            }
            if try shows(manifest) {
                try fileSystem.removeTree(parent, tree.name)
                break
            }
            try removeTree(of: name)
        }
    }

    private func shows(_ manifest: Manifest) throws(StoreError) -> Bool {
        guard try isMaterialized(manifest.version.description) else { return false }
        return try TreeCheck(store: store, manifest: manifest, sound: SoundInodes()).run().isEmpty
    }

    /// Takes a version's tree away: in one step it is invisible, then it is deleted.
    func removeTree(of name: String) throws(StoreError) {
        if let tree = try hideTree(of: name, token: randomToken()) { try remove(tree) }
    }

    /// Makes a version's tree invisible in one step; the caller deletes it.
    ///
    /// The directory stays locked meanwhile, so that a check does not take it for a leftover.
    /// - Parameter token: the end of its hidden name.
    /// - Returns: `nil` if there is no tree.
    func hideTree(of name: String, token: String) throws(StoreError) -> TreeInRemoval? {
        let parent = directories.versions.raw
        guard try isMaterialized(name) else {
            // Somebody's file in the place of a tree is set aside.
            let aside = "stray-\(try randomToken())"
            try fileSystem.renameIfPresent(
                parent, name, to: directories.quarantine.raw, aside)
            return nil
        }
        guard let tree = try fileSystem.openIfPresent(parent, name, .directory) else { return nil }
        _ = try fileSystem.lock(tree.raw, exclusive: true, waiting: true)
        let hidden = StoreLayout.hiddenTree(name, token)
        do throws(StoreError) {
            try fileSystem.rename(parent, name, to: parent, hidden)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        return TreeInRemoval(hidden, tree)
    }

    /// Deletes a hidden tree.
    func remove(_ tree: TreeInRemoval) throws(StoreError) {
        try fileSystem.removeTree(directories.versions.raw, tree.name)
        fileSystem.unlock(tree.directory.raw)
    }

    /// Whether another process is taking a hidden tree away just now.
    func isBeingRemoved(_ hidden: String) throws(StoreError) -> Bool {
        guard
            let tree = try fileSystem.openIfPresent(directories.versions.raw, hidden, .directory)
        else { return true }
        return try !fileSystem.lock(tree.raw, exclusive: true, waiting: false)
    }

    /// Builds the trees of versions that have become complete again.
    ///
    /// Passes over what somebody has retired or damaged meanwhile: that is none of the caller's failures.
    func restoreTrees(
        of names: [String], except own: String
    ) throws(StoreError) -> [String] {
        var restored: [String] = []
        for name in names where name != own {
            do throws(StoreError) {
                try materialize(name)
                restored.append(name)
            } catch {
                guard error.code == .noVersion || error.code == .incompleteVersion else {
                    throw error
                }
            }
        }
        return restored
    }

    /// Builds the version's tree elsewhere.
    ///
    /// The target must not exist; in one step it is there.
    ///
    /// With mode `.link` its files are the store's own: do not write to them. Where links cannot be
    /// had (another file system), files are cloned or copied instead, one by one.
    /// - Throws: `.targetExists`; `.noVersion`; `.incompleteVersion`; `.pathTwins`; `.outOfSpace`.
    public func checkout(
        _ name: String, to target: String, mode: LinkMode = .link
    ) throws(StoreError) -> TreeReport {
        let row = try row(of: name)
        guard row.isComplete else { throw try incomplete(name) }
        let manifest = try registeredManifest(of: name, row)
        let (parent, base) = try split(target)
        let directory = try openParent(parent)
        if try fileSystem.status(directory.raw, base) != nil { throw Self.targetExists(target) }
        _ = try refuseMergedTwins(of: manifest, in: directory.raw)
        let hidden = ".castree-\(try randomToken())"
        // A lease only when there is something to write: a read-only store can be checked out too.
        if mode == .link, try lacksTwins(manifest) {
            try makeTwins(of: manifest, store.makeLease())
        }
        let report = try fillDirectory(
            directory.raw, hidden, manifest, mode, directoryMode: 0o755)
        do throws(StoreError) {
            if store.canSyncAll, !Self.bringsBytes(report, manifest) {
                // Names only, and those become durable in their order: one step makes them so.
                try fileSystem.renameNew(directory.raw, hidden, to: directory.raw, base)
                try makeDurable(directory.raw, base)
            } else {
                try makeDurable(directory.raw, hidden)
                try fileSystem.renameNew(directory.raw, hidden, to: directory.raw, base)
                try store.sync(directory.raw)
            }
        } catch {
            // The error to report is the first.
            try? store.fileSystem.removeTree(directory.raw, hidden)
            throw error.isExisting ? Self.targetExists(target) : error
        }
        return report
    }

    private func openParent(_ path: String) throws(StoreError) -> Descriptor {
        do throws(StoreError) {
            return try fileSystem.open(
                POSIXFileSystem.workingDirectory, path, .directoryFollowingLinks, mode: 0)
        } catch {
            guard error.code == .notFound || error.isNotDirectory else { throw error }
            throw StoreError(
                .notFound, "there is no directory \(printable(path)); create it first",
                cause: error.cause)
        }
    }

    /// Makes the executable twins that a tree will link to, durably.
    private func makeTwins(
        of manifest: Manifest, _ lease: borrowing Lease
    ) throws(StoreError) {
        var twins = TwinBatch(store, lease: lease)
        for address in manifest.executables { try twins.stage(address) }
        guard !twins.staged.isEmpty else { return }
        try store.syncAll()
        try twins.publish()
        try store.syncAll()
    }

    private func lacksTwins(_ manifest: Manifest) throws(StoreError) -> Bool {
        for address in manifest.executables
        where try store.objects.status(address, executable: true) == nil {
            return true
        }
        return false
    }

    /// Whether a tree has files that are neither links nor empty.
    private static func bringsBytes(_ report: TreeReport, _ manifest: Manifest) -> Bool {
        report.reflinked > 0
            || report.copied > manifest.records.count { $0.byteCount == 0 }
    }

    /// Makes a tree elsewhere durable.
    private func makeDurable(_ parent: Int32, _ name: String) throws(StoreError) {
        guard store.options.isDurable else { return }
        let isSynced = try fileSystem.syncAll(parent)
        if !isSynced { try syncTree(parent, name) }
    }

    /// Makes a tree elsewhere durable, bottom up, where one call cannot.
    private func syncTree(_ parent: Int32, _ name: String) throws(StoreError) {
        let directory = try fileSystem.open(parent, name, .directory, mode: 0)
        var inner: [String] = []
        try fileSystem.list(directory.raw) { (entry, kind) throws(StoreError) in
            if kind == .directory {
                inner.append(String(cString: entry))
            } else {
                let file = try fileSystem.open(directory.raw, entry, .reading, mode: 0)
                try fileSystem.sync(file.raw)
            }
            return true
        }
        for entry in inner { try syncTree(directory.raw, entry) }
        try fileSystem.sync(directory.raw)
    }

    private static func targetExists(_ target: String) -> StoreError {
        StoreError(
            .targetExists,
            "\(printable(target)) is there already; give a target that does not exist")
    }

    /// The parent and the last component of a target.
    private func split(_ target: String) throws(StoreError) -> (parent: String, base: String) {
        var parts = target.split(separator: "/", omittingEmptySubsequences: true)
        guard let base = parts.popLast(), base != ".", base != ".." else {
            throw Self.targetExists(target)
        }
        let root = target.hasPrefix("/") ? "/" : parts.isEmpty ? "." : ""
        return (root + parts.joined(separator: "/"), String(base))
    }
}
