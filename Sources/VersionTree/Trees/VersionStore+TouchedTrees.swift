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

    /// Finds a file of the current version's tree that is not what its manifest says, by a look at each.
    func checkShownTree() throws(StoreError) -> [Finding] {
        // A damaged lifecycle has a finding of its own, and so has a tree that is not there.
        guard let name = (try? lifecycle())?.current, try isMaterialized(name) else { return [] }
        do throws(StoreError) {
            guard let manifest = try shownManifest(of: name),
                let path = try TouchedFiles(
                    store: store, manifest: manifest, byteCountMax: Self.glanceByteCountMax
                ).first()
            else { return [] }
            return [
                Finding(
                    .wrongInTree, version: name, path: path,
                    "in the tree \(name)/\(printable(path)), which is current: the file does not show what the manifest says; "
                        + "castree fsck --repair builds the tree again")
            ]
        } catch {
            guard error.isOfOneName else { throw error }
            return [
                Finding(
                    .wrongInTree, version: name,
                    "the tree of version \(name), which is current, cannot be looked at: \(error.message)"
                )
            ]
        }
    }
}
