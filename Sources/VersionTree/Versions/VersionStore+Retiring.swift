public import CASStore

extension VersionStore {
    /// Removes a version: its manifest, its tree, its references.
    ///
    /// From here on, the objects that only it used are garbage. The executable copies that only its tree linked to
    /// are deleted.
    ///
    /// Deletes in the opposite order of adding, so that a crash in between leaves a version without its tree or
    /// garbage without a version, never a version without its objects. The tree is hidden in one step and deleted
    /// last, outside the lock; after a crash the next writer deletes it.
    /// - Returns: how many objects it referenced.
    /// - Throws: `.noVersion`; `.versionInUse` for the current, pending, embedded, protected and last known good
    ///   version, and for one that a process has pinned.
    @discardableResult
    public func retire(_ name: String) throws(StoreError) -> Int {
        let version = try VersionName(name).description
        // A second run continues where the first one stopped.
        var hidden: TreeInRemoval?
        var forgotten: Retired?
        return try store.withReserve { () throws(StoreError) -> Int in
            // Removes the hidden tree if this process dies.
            let lease = try self.store.makeLease()
            let retired: Retired
            if let forgotten {
                retired = forgotten
            } else {
                retired = try self.forget(version, lease: lease.name, hidden: &hidden)
                forgotten = retired
            }
            // Outside the lock: deleting a large tree or reading a large manifest takes seconds.
            if let tree = retired.tree { try self.remove(tree) }
            // The version is retired; an executable copy that stays is deleted with its object.
            try? self.store.removeUnusedExecutableCopies(
                of: self.executables(of: version, retired.manifest), lease: lease)
            self.note(.retired(version: version, references: retired.references))
            return retired.references
        }
    }

    private struct Retired {
        var references: Int
        var tree: TreeInRemoval?
        var manifest: OpenedManifest?
    }

    /// A manifest that can still be read after losing its name.
    private final class OpenedManifest {
        let file: RegularFile
        init(_ file: consuming RegularFile) { self.file = file }
    }

    private func executables(of version: String, _ manifest: OpenedManifest?) -> Set<ObjectID> {
        // What an unreadable manifest named stays until its objects go.
        guard let manifest, let manifest = try? parse(manifest.file, version) else { return [] }
        return Set(manifest.executables)
    }

    private func open(manifestOf version: String) -> OpenedManifest? {
        // As above.
        guard let file = try? openManifest(version) else { return nil }
        return OpenedManifest(file)
    }

    private func forget(
        _ version: String, lease: String, hidden: inout TreeInRemoval?
    ) throws(StoreError) -> Retired {
        // Under the lifecycle lock, so that it does not become current meanwhile. The lifecycle forgets it first: its
        // name may return with other, unconfirmed content.
        try changeLifecycle(checking: false) {
            (lifecycle) throws(StoreError) -> Retired in
            guard try self.isRegistered(version) else { throw StoreError.noVersion(version) }
            if let need = try self.need(of: version, lifecycle) {
                let advice = lifecycle.advice(on: need, of: version)
                throw StoreError(
                    .versionInUse,
                    "version \(version) cannot be retired: \(need.rawValue); \(advice)")
            }
            if let refusal = try self.pinRefusal(version) {
                throw StoreError(
                    .versionInUse, "version \(version) cannot be retired: \(refusal)")
            }
            let references = try self.store.referenceCount(of: version)
            let manifest = self.open(manifestOf: version)
            hidden = try self.hideTree(of: version, token: lease) ?? hidden
            // Otherwise a power cut might bring back all or part of the tree of an unregistered version, and its
            // content would stay on the disk. A killed process may have hidden it.
            try self.store.sync(self.directories.versions.raw)
            lifecycle.retire(version, successor: try self.successor(of: version, lifecycle))
            return Retired(references: references, tree: hidden, manifest: manifest)
        } afterwards: { (result) throws(StoreError) in
            let parent = self.directories.versions.raw
            let late = StoreLayout.hiddenTree(version + ".late", lease)
            try self.store.forgetVersion(version, references: result.references) {
                () throws(StoreError) in
                // An add that found it registered without its tree may have shown one since.
                if try self.isMaterialized(version) {
                    try self.setAside(version, as: late)
                }
            }
            if try self.fileSystem.status(parent, late) != nil {
                try self.removeHidden(late)
            }
        }
    }

    private func setAside(_ version: String, as late: String) throws(StoreError) {
        let parent = directories.versions.raw
        do throws(StoreError) {
            try fileSystem.renameIfPresent(parent, version, to: parent, late)
        } catch {
            guard error.isOtherLayer else { throw error }
            try fileSystem.removeTree(parent, version)
        }
    }

    /// Another name of a known good version's content, which inherits that state.
    private func successor(
        of version: String, _ lifecycle: Lifecycle
    ) throws(StoreError) -> String? {
        guard lifecycle.knownGood.contains(version), let content = try content(of: version)
        else { return nil }
        return try store.versionRows().map(\.row).first {
            $0.name != version && $0.content == content && $0.isComplete
        }?.name
    }

    // An unreadable manifest still names a version that can be retired.
    private func isRegistered(_ name: String) throws(StoreError) -> Bool {
        if try store.versionRow(name) != nil { return true }
        return try hasManifest(name)
    }
}
