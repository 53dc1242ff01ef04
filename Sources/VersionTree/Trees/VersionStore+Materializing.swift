package import CASStore

/// A hidden tree that is not yet deleted; locked as long as this lives.
struct TreeInRemoval {
    let name: String
    let directory: HeldFile
}

extension VersionStore {
    /// Builds the version's tree in `versions/` if it is not there; it appears in one step.
    /// - Throws: `.noVersion`; `.incompleteVersion` if objects are missing; `.outOfSpace`.
    package func materialize(_ name: String) throws(StoreError) {
        if try materializeIfAbsent(name) { return }
        // The process that built it may have been killed before its name was durable.
        try store.sync(directories.versions.raw)
    }

    /// Whether a complete version has its tree, or intact objects to build it from.
    package func canBeShown(_ name: String) throws(StoreError) -> Bool {
        if try isMaterialized(name) { return true }
        guard let manifest = try readableManifest(of: name) else { return true }
        let references = manifest.references.filter { $0.byteCount > 0 }
        return try store.wrong(among: references.map(\.address)).isEmpty
    }

    /// Builds the tree if it is not there.
    /// - Parameter isAlone: whether the caller has locked the lifecycle, so that the version cannot be retired.
    /// - Returns: whether this call built it, durably.
    func materializeIfAbsent(
        _ name: String, alone isAlone: Bool = false
    ) throws(StoreError) -> Bool {
        let row = try row(of: name)
        // Checked first: a repair that was cut short may leave a tree for a version that has lost objects.
        guard row.isComplete else { throw try incomplete(name) }
        guard try !isMaterialized(name) else { return false }
        let manifest = try registeredManifest(of: name, row)
        _ = try refuseCollisions(of: manifest)
        let lease = try store.makeLease()
        let tree = try buildTreeAndCopies(of: manifest, lease)
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

    /// Removes a new tree again if its version was retired, damaged, or replaced under its name while it was built.
    private func refuseChanged(_ row: VersionRow, _ tree: String) throws(StoreError) {
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
            // Report the first error; what remains is hidden and swept with the lease.
            try? fileSystem.removeTree(directories.versions.raw, tree)
            throw error
        }
    }

    func incomplete(_ name: String) throws(StoreError) -> StoreError {
        let missing = try store.missingObjects(of: name)?.count ?? 0
        if try store.versionRow(name)?.recovery == .partial {
            return StoreError(
                .incompleteVersion,
                "the manifest of version \(name) was made again from its tree and may be incomplete; "
                    + "add or pull the version again")
        }
        guard missing > 0 else {
            if let object = try wrongObject(of: name) {
                return StoreError(
                    .incompleteVersion, StoreError.damagedObject(object).message, object: object)
            }
            // What the disk could not read was not compared.
            _ = try manifestUnlessLost(of: name)
            return StoreError(
                .incompleteVersion,
                "version \(name) promises a size that one of its objects does not have: its manifest is wrong; "
                    + "pull it again, and if its publisher has no other, retire it")
        }
        return StoreError(
            .incompleteVersion,
            "version \(name) is missing \(counted(missing, "object")) (castree missing \(name) lists them); add or pull the version again"
        )
    }

    /// Builds a tree under a hidden name; the caller makes it durable and publishes it.
    /// - Parameter isTrusting: the caller has just examined or written each object.
    func buildTree(
        of manifest: Manifest, lease: borrowing Lease, trusting isTrusting: Bool = false
    ) throws(StoreError) -> String {
        let name = StoreLayout.hiddenTree(manifest.version.description, lease.name)
        let parent = directories.versions.raw
        try fileSystem.removeTree(parent, name)
        do throws(StoreError) {
            try fileSystem.makeDirectory(parent, name, mode: 0o755)
            let root = try fileSystem.open(parent, name, .directory, mode: 0)
            let builder = TreeBuilder(
                store: store, fileSystem: fileSystem, manifest: manifest, mode: .link,
                directoryMode: 0o555, trustsObjects: isTrusting)
            _ = try builder.build(root.raw)
            return name
        } catch {
            // Report the first error; what remains is hidden and swept with the lease.
            if !error.isExisting { try? fileSystem.removeTree(parent, name) }
            throw error
        }
    }

    func hasSomething(inPlaceOf name: String) throws(StoreError) -> Bool {
        try fileSystem.status(directories.versions.raw, name) != nil
    }

    /// Moves a built tree into place if that is free; otherwise deletes the tree and returns `false`.
    func publishNew(_ tree: String, as name: String) throws(StoreError) -> Bool {
        let parent = directories.versions.raw
        do throws(StoreError) {
            try fileSystem.renameNew(parent, tree, to: parent, name)
            return true
        } catch {
            // Report the first error; a check finds what cannot be removed.
            try? fileSystem.removeTree(parent, tree)
            guard error.isExisting else { throw error }
            return false
        }
    }

    /// Moves a built tree into place, unless the right one is there; the caller makes its name durable.
    func publishTree(_ tree: String, of manifest: Manifest) throws(StoreError) {
        let parent = directories.versions.raw
        let name = manifest.version.description
        while true {
            do throws(StoreError) {
                try fileSystem.renameNew(parent, tree, to: parent, name)
                break
            } catch {
                guard error.isExisting else {
                    // Report the first error; a check finds what cannot be removed.
                    try? fileSystem.removeTree(parent, tree)
                    throw error
                }
            }
            if try shows(manifest) {
                try fileSystem.removeTree(parent, tree)
                break
            }
            try removeTree(of: name)
        }
    }

    private func shows(_ manifest: Manifest) throws(StoreError) -> Bool {
        guard try isMaterialized(manifest.version.description) else { return false }
        return try TreeCheck(store: store, manifest: manifest, sound: SoundInodes()).run()
            .allSatisfy { $0.kind == .wrongOwner }
    }

    /// Removes a version's tree: it disappears in one step, then it is deleted.
    /// - Parameter isShown: whether it was acknowledged; if not, no sync is needed, and one may just have failed.
    func removeTree(of name: String, shown isShown: Bool = true) throws(StoreError) {
        guard let tree = try hideTree(of: name, token: randomToken()) else { return }
        // Otherwise a power cut might show a tree with some of its files missing.
        if isShown { try store.sync(directories.versions.raw) }
        try remove(tree)
    }

    /// Removes a tree that its writer has just built of objects only, and shown; does not use the index.
    func takeBackTree(of name: String) throws(StoreError) {
        guard let tree = try hideTree(of: name, token: randomToken()) else { return }
        try fileSystem.removeTree(directories.versions.raw, tree.name)
        fileSystem.unlock(tree.directory.raw)
    }

    /// Hides a version's tree in one step, locked against checks for leftovers; the caller deletes it.
    /// - Parameter token: the end of its hidden name.
    /// - Returns: `nil` if there is no tree.
    func hideTree(of name: String, token: String) throws(StoreError) -> TreeInRemoval? {
        let parent = directories.versions.raw
        guard try isMaterialized(name) else {
            // A stranger's file in the place of a tree is set aside.
            let aside = try StoreLayout.aside("stray")
            try fileSystem.renameIfPresent(
                parent, name, to: directories.quarantine.raw, aside)
            return nil
        }
        let hidden = StoreLayout.hiddenTree(name, token)
        let directory: Descriptor?
        do throws(StoreError) {
            directory = try fileSystem.openIfPresent(parent, name, .directory)
        } catch {
            guard error.isOfOneName else { throw error }
            // Another user's directory can be hidden but not emptied, and stays as a leftover.
            let failure = error
            try fileSystem.rename(parent, name, to: parent, hidden)
            try store.passingOver(StoreLayout.treePath(hidden)) { () throws(StoreError) in
                throw failure
            }
            return nil
        }
        guard let tree = directory else { return nil }
        try store.lockTree(tree.raw)
        do throws(StoreError) {
            try fileSystem.rename(parent, name, to: parent, hidden)
        } catch {
            if error.code == .notFound { return nil }
            guard error.isOtherLayer else { throw error }
            // It can only be deleted in place; after a crash a check finds a registered version's missing files.
            try store.removeTreeKeepingContent(in: StoreLayout.versions, name)
            fileSystem.unlock(tree.raw)
            return nil
        }
        return TreeInRemoval(name: hidden, directory: HeldFile(tree))
    }

    /// Builds a tree anew and exchanges it with the existing one in one step.
    /// - Parameter manifest: what the tree must show; for an incomplete version, the part that exists.
    package func rebuildTree(of manifest: Manifest) throws(StoreError) {
        let name = manifest.version.description
        let lease = try store.makeLease()
        let tree = try buildTreeAndCopies(of: manifest, lease)
        let parent = directories.versions.raw
        let isShown = try withLifecycleLocked { () throws(StoreError) -> Bool in
            guard try store.versionRow(name) != nil, try isMaterialized(name) else { return false }
            do throws(StoreError) {
                try fileSystem.exchange(
                    parent, tree, name,
                    spare: StoreLayout.hiddenTree(name + ".before", lease.name))
            } catch {
                guard error.isOtherLayer else { throw error }
                // It can only be deleted in place.
                try store.removeTreeKeepingContent(in: StoreLayout.versions, name)
                try fileSystem.renameNew(parent, tree, to: parent, name)
            }
            return true
        }
        // Otherwise a power cut might show the old tree without some of its files.
        if isShown { try store.sync(parent) }
        try removeHidden(tree)
    }

    /// Deletes a hidden tree, except for the last copies of named objects and what cannot be removed.
    func remove(_ tree: TreeInRemoval) throws(StoreError) {
        try removeHidden(tree.name)
        fileSystem.unlock(tree.directory.raw)
    }

    /// Removes a hidden tree, except for the last copies of needed content; it stays if it cannot be removed.
    func removeHidden(_ tree: String) throws(StoreError) {
        try store.passingOver(
            StoreLayout.treePath(tree),
            try self.store.removeTreeKeepingContent(in: StoreLayout.versions, tree))
    }

    /// Builds the trees of versions that became complete again, or show an object as it was before it was rewritten.
    ///
    /// Skips versions that were retired, replaced, damaged or edited, which a check names.
    package func restoreTrees(
        of names: [String], except own: String
    ) throws(StoreError) -> [String] {
        var restored: [String] = []
        for name in names where name != own {
            do throws(StoreError) {
                if try isMaterialized(name) {
                    // A repair kept it without what was lost.
                    try rebuildTree(of: registeredManifest(of: name))
                } else {
                    try materialize(name)
                }
                restored.append(name)
            } catch {
                // `.busy`: replaced in between; `.missingObject`: retired and collected in between.
                let codes: [StoreError.Code] = [
                    .noVersion, .incompleteVersion, .badManifest, .busy, .missingObject,
                ]
                guard codes.contains(error.code) || error.isUnreadable else { throw error }
            }
        }
        try rebuildHealedTrees()
        return restored
    }

    /// Builds a hidden tree and the executable copies that it links to, durably.
    private func buildTreeAndCopies(
        of manifest: Manifest, _ lease: borrowing Lease
    ) throws(StoreError) -> String {
        let tree = try buildingAgain { () throws(StoreError) in
            try makeExecutableCopies(of: manifest, lease)
            return try buildTree(of: manifest, lease: lease)
        }
        try store.syncAll()
        return tree
    }

    /// Makes executable copies and what links to them, again if a retirement in another process deleted one as unused
    /// in between; whether it is there by now says nothing, because others make it again, too.
    func buildingAgain<R>(_ build: () throws(StoreError) -> R) throws(StoreError) -> R {
        for _ in 1..<8 {
            if let built = try allowing({ $0.code == .missingObject }, try build()) {
                return built
            }
        }
        return try build()
    }

    func lacksExecutableCopies(_ manifest: Manifest) throws(StoreError) -> Bool {
        for address in manifest.executables
        where try store.objects.status(address, executable: true) == nil {
            return true
        }
        return false
    }

    /// Makes the executable copies that a tree will link to, durably.
    /// - Parameter syncsNames: `false` if the caller makes their names durable.
    func makeExecutableCopies(
        of manifest: Manifest, _ lease: borrowing Lease, syncsNames: Bool = true
    ) throws(StoreError) {
        var executables = ExecutableCopyBatch(store, lease: lease)
        for address in manifest.executables { try executables.stage(address) }
        guard !executables.staged.isEmpty else { return }
        try store.syncAll()
        try executables.publish()
        if syncsNames { try store.syncAll() }
    }

    // MARK: Names that the file system merges

    /// Finds the paths of a version that some file systems would merge, and refuses the version if this one would.
    /// - Returns: the collisions; this file system keeps the paths apart.
    /// - Throws: `.pathCollision`, naming the first two.
    func refuseCollisions(
        of manifest: Manifest, in directory: Int32? = nil
    ) throws(StoreError) -> [PathCollision] {
        let collisions = PathCollision.find(in: manifest)
        guard let first = collisions.first else { return [] }
        if try mergesNames(directory ?? directories.versions.raw) {
            throw StoreError(
                .pathCollision,
                "\"\(printable(first.first))\" and \"\(printable(first.second))\" would be one "
                    + "file on this file system; rename one of them")
        }
        return collisions
    }

    /// Whether the file system merges names that differ in case or Unicode form, found by trying.
    private func mergesNames(_ directory: Int32) throws(StoreError) -> Bool {
        let token = try randomToken()
        // "É" as one code point and as two.
        let pairs = [("case", "CASE"), ("\u{e9}", "e\u{301}")]
        for (made, asked) in pairs {
            let probe = StoreLayout.probe(token, made)
            _ = try fileSystem.open(directory, probe, .creating, mode: 0o600)
            let isMerged = try fileSystem.status(directory, StoreLayout.probe(token, asked)) != nil
            try fileSystem.removeIfPresent(directory, probe)
            if isMerged { return true }
        }
        return false
    }
}
