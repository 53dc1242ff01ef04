import CASStore

// Trees whose files are not what their manifests say.
//
// A tree shares its files with the objects. So when an object whose bytes were wrong is written anew, every tree that
// showed it has the old file, and goes on showing it until it is built again.

extension VersionStore {
    /// Builds the trees again that show what an object was before a writer wrote it anew.
    ///
    /// What cannot be built is said, and is no failure of the writer's.
    func rebuildHealedTrees() throws(StoreError) {
        let healed = store.takeHealed()
        guard !healed.isEmpty else { return }
        for (row, _) in try store.naming(healed) { try mendShownTree(of: row.name) }
    }

    /// Builds the tree of a version again if files in it are not what its manifest says.
    ///
    /// - Returns: the path of one such file; `nil` if there was none.
    /// - Throws: `.damagedObject` if the object is wrong, too.
    @discardableResult
    func mendTree(of name: String) throws(StoreError) -> String? {
        guard try isMaterialized(name), let manifest = try shownManifest(of: name),
            let touched = try TouchedFiles(store: store, manifest: manifest).first()
        else { return nil }
        try rebuildTree(of: manifest)
        store.options.notice(
            "the tree of version \(name) had other bytes in \(printable(touched)) than its manifest says, and was built "
                + "again")
        return touched
    }

    /// Whether the tree of a version shows what its manifest says, or can be built so; changes nothing.
    ///
    /// Whoever is interrupted goes back without a look.
    func canShowRightBytes(of name: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            guard try isMaterialized(name), let manifest = try shownManifest(of: name),
                try TouchedFiles(store: store, manifest: manifest).first() != nil
            else { return true }
            let references = manifest.references.filter { $0.byteCount > 0 }
            return try store.wrong(among: references.map(\.address)).isEmpty
        } catch {
            guard error.code == .interrupted else { throw error }
            return true
        }
    }

    /// The same for what is shown whatever happens: what stays wrong is said.
    func mendShownTree(of name: String) throws(StoreError) {
        do throws(StoreError) {
            try mendTree(of: name)
        } catch {
            if error.code == .interrupted { throw error }
            store.options.notice(
                "the tree of version \(name) does not show what its manifest says, and cannot be built again: "
                    + error.message)
        }
    }

    /// How much of the shown tree a look at it reads: files that have lost their seal.
    private static let glanceByteCountMax: Int64 = 32 << 20

    /// Finds a file of the current version's tree, or of what waits, that is not what its manifest says, by a look at each.
    func checkShownTrees() throws(StoreError) -> [Finding] {
        // A damaged lifecycle has a finding of its own.
        guard let lifecycle = try? lifecycle() else { return [] }
        var findings: [Finding] = []
        if let current = lifecycle.current {
            findings += try checkShownTree(of: current, "which is current")
        }
        if let pending = lifecycle.pending {
            findings += try checkShownTree(of: pending, "which waits")
        }
        return findings
    }

    private func checkShownTree(
        of name: String, _ role: String
    ) throws(StoreError) -> [Finding] {
        // A tree that is not there has a finding of its own.
        guard try isMaterialized(name) else { return [] }
        do throws(StoreError) {
            guard let manifest = try shownManifest(of: name),
                let path = try TouchedFiles(
                    store: store, manifest: manifest, byteCountMax: Self.glanceByteCountMax
                ).first()
            else { return [] }
            return [
                Finding(
                    .wrongInTree, version: name, path: path,
                    "in the tree \(name)/\(printable(path)), \(role): the file does not show what the manifest says; "
                        + "castree fsck --repair builds the tree again")
            ]
        } catch {
            guard error.isOfOneName else { throw error }
            return [
                Finding(
                    .wrongInTree, version: name,
                    "the tree of version \(name), \(role), cannot be looked at: \(error.message)"
                )
            ]
        }
    }
}
