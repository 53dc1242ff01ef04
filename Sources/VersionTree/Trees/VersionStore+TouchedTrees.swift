import CASStore

// Trees whose files are not what their manifests say.
//
// A tree shares its files with the objects. When a damaged object is rewritten, every tree that showed it keeps the
// old file until it is built again.

extension VersionStore {
    /// Builds the trees again that show an object as it was before a writer rewrote it; failures are only reported.
    func rebuildHealedTrees() throws(StoreError) {
        let healed = store.takeHealed()
        guard !healed.isEmpty else { return }
        for (row, _) in try store.naming(healed) { try mendShownTree(of: row.name) }
    }

    /// Builds the tree of a version again if files in it are not what its manifest says.
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

    /// Whether the tree of a version is right or can be rebuilt so; `true` without a check for an interrupted caller.
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

    /// Mends a tree that is shown in any case; what stays wrong is reported.
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

    /// How many bytes of the shown tree, in files that have lost their seal, a quick check reads.
    private static let glanceByteCountMax: Int64 = 32 << 20

    /// Finds, by examining each once, a wrong file in the tree of the current or pending version.
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
        // A missing tree has a finding of its own.
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
