import CASStore

// Trees against their manifests, and trees that belong to nobody.

extension VersionStore {
    /// Compares every tree with its manifest, and finds those that belong to nobody.
    func checkTrees(
        _ names: [String], _ parsed: [String: Manifest], _ sound: SoundInodes,
        besides told: [[CChar]], repairing: Bool, _ report: inout CheckReport
    ) throws(StoreError) {
        let trees = try treeNames()
        // After the trees: a writer has its lease before it begins a tree and until it has finished with it.
        let hasHidden = trees.contains { $0.name.hasPrefix(".") }
        let running = hasHidden ? Set(try store.leases().running) : []
        // Versions without a manifest have a finding of their own.
        let registered = Set(
            names + report.findings.filter { $0.kind == .missingManifest }.compactMap(\.version))
        var checked: [String] = []
        for (name, entry, kind) in trees where !told.contains(entry) {
            guard var finding = try judgeTree(name, kind, registered, running) else {
                if kind == .directory, !name.hasPrefix(".") {
                    checked.append(name)
                    try checkTree(name, parsed[name], sound, repairing: repairing, &report)
                }
                continue
            }
            if repairing {
                let path = StoreLayout.treePath(printable(name))
                try store.passingOver(path) { () throws(StoreError) in
                    finding.isRepaired = try self.removeStray(name, entry, kind)
                }
                if let reason = store.reasonStuck(of: path) {
                    finding.message += "; it stays: \(reason)"
                }
            }
            report.findings.append(finding)
        }
        guard repairing, report.findings.contains(where: \.isRepaired) else { return }
        // A copy that trees have shared is one tree's alone once the others show the object's file.
        var known = Set(report.findings)
        for _ in 0..<3 {
            var again = CheckReport()
            for name in checked {
                try checkTree(name, parsed[name], sound, repairing: true, &again)
            }
            let new = again.findings.filter { known.insert($0).inserted }
            if new.isEmpty { return }
            report.findings += new
        }
    }

    /// What is wrong with an entry of `versions/` as such; `nil` if it is a version's tree, or
    /// somebody works on it.
    private func judgeTree(
        _ name: String, _ kind: FileStatus.Kind, _ registered: Set<String>, _ running: Set<String>
    ) throws(StoreError) -> Finding? {
        let path = StoreLayout.treePath(printable(name))
        if name.hasPrefix(".") {
            if running.contains(where: { name.hasSuffix(".\($0)") }) { return nil }
            // Another process is deleting it just now.
            if kind == .directory, try fileSystem.isLocked(directories.versions.raw, name) {
                return nil
            }
            // Its writer has ended since, and has removed or shown it.
            if try fileSystem.status(directories.versions.raw, name) == nil { return nil }
            return Finding(
                .leftover, path: path, "a tree that was being built or removed was left")
        }
        // What is no directory, `Store.checkStrangers` has found.
        if kind != .directory { return nil }
        let row = VersionName.isName(name) ? try store.versionRow(name) : nil
        if let row, !row.isComplete, try shownVersion() != name {
            // An add shows the tree before it has committed that the version is complete.
            try store.waitForWriters()
            guard try store.versionRow(name)?.isComplete == false, try isMaterialized(name) else {
                return nil
            }
            return Finding(
                .strayTree, version: name, path: path,
                "version \(name) is incomplete and still has a tree; what is right in it is kept as objects"
            )
        }
        // A writer publishes its manifest before its tree.
        if registered.contains(name) || row != nil { return nil }
        if try hasManifest(name) { return nil }
        // A version that is just being retired loses its tree before its manifest.
        if try fileSystem.status(directories.versions.raw, name) == nil { return nil }
        return Finding(
            .strayTree, path: path,
            "the tree \(printable(name)) belongs to no registered version")
    }

    /// - Returns: whether it is gone; a tree stays if a writer has reserved it meanwhile, or if it shows what no
    ///   version names.
    private func removeStray(
        _ name: String, _ entry: [CChar], _ kind: FileStatus.Kind
    ) throws(StoreError) -> Bool {
        let versions = directories.versions.raw
        if !VersionName.isName(name), kind == .directory, try !strayedTrees(among: [entry]).isEmpty
        {
            return false
        }
        if !RawName.isText(entry) || name.hasPrefix(".") {
            try removeDirectory(entry)
            return true
        }
        var hidden = try StoreLayout.strayTree()
        // Locked, so that another check does not take it for a leftover.
        guard let tree = try fileSystem.openIfPresent(versions, name, .directory) else {
            return true
        }
        try store.lockTree(tree.raw)
        defer { fileSystem.unlock(tree.raw) }
        do throws(StoreError) {
            try fileSystem.renameIfPresent(versions, name, to: versions, hidden)
        } catch {
            guard error.isOtherLayer else { throw error }
            // Judged and removed in its place.
            hidden = name
        }
        try store.waitForWriters()
        let isIncomplete =
            VersionName.isName(name) ? try store.versionRow(name)?.isComplete == false : false
        if try hasManifest(name), !isIncomplete {
            if hidden == name { return false }
            // Its writer may have put another one there.
            let renamed: Void? = try allowing(
                { $0.isExisting || $0.code == .notFound },
                try fileSystem.renameNew(versions, hidden, to: versions, name))
            if renamed != nil { return false }
        }
        try store.removeTreeKeepingContent(in: StoreLayout.versions, hidden)
        return true
    }

    /// One tree that cannot be looked at is a finding, and ends no check.
    private func checkTree(
        _ name: String, _ parsed: Manifest?, _ sound: SoundInodes, repairing: Bool,
        _ report: inout CheckReport
    ) throws(StoreError) {
        do throws(StoreError) {
            guard let manifest = try shownManifest(of: name, parsed) else { return }
            var found = try TreeCheck(store: store, manifest: manifest, sound: sound).run()
            report.checkedTrees += 1
            if !found.isEmpty, let now = try shownManifest(of: name) {
                // The manifest may have been replaced since it was read, together with the tree.
                found = try TreeCheck(store: store, manifest: now, sound: SoundInodes()).run()
            }
            // Retired meanwhile: the tree went first, and nothing is wrong.
            guard !found.isEmpty, try store.versionRow(name) != nil else { return }
            // The owner, who can remove nothing from another user's directory, leaves a tree that shows what it must.
            let isWrong = effectiveUser() == 0 || found.contains { $0.kind != .wrongOwner }
            if repairing, isWrong, let now = try shownManifest(of: name) {
                try rebuildTree(of: now)
                let left = try TreeCheck(store: store, manifest: now, sound: SoundInodes()).run()
                for position in found.indices {
                    found[position].isRepaired = !left.contains(found[position])
                }
            }
            report.findings += found
        } catch {
            guard error.isOfOneName, try store.versionRow(name) != nil else { throw error }
            var finding = Finding(
                .wrongInTree, version: name, path: nil,
                "the tree of version \(name) cannot be looked at: \(error.message)")
            if repairing, let manifest = try shownManifest(of: name) {
                finding.isRepaired = try store.passingOver(
                    StoreLayout.treePath(name), try self.rebuildTree(of: manifest))
            }
            report.findings.append(finding)
        }
    }

    /// What the tree of a version must show: its manifest; of an incomplete version, what is there of it.
    func shownManifest(
        of name: String, _ parsed: Manifest? = nil
    ) throws(StoreError) -> Manifest? {
        let readAgain = parsed == nil ? try readable(name) : nil
        guard let manifest = parsed ?? readAgain, let row = try store.versionRow(name) else {
            return nil
        }
        if row.isComplete { return manifest }
        var lacking = Set(try store.missingObjects(of: name)?.map(\.address) ?? [])
        for record in manifest.records
        where record.byteCount > 0 && !lacking.contains(record.address) {
            if try !store.contains(record.address) { lacking.insert(record.address) }
        }
        return try manifest.without(lacking)
    }

    /// - Returns: each entry as text and as bytes, terminated by 0.
    private func treeNames() throws(StoreError) -> [(
        name: String, entry: [CChar], kind: FileStatus.Kind
    )] {
        var names: [(name: String, entry: [CChar], kind: FileStatus.Kind)] = []
        let versions = directories.versions.raw
        try fileSystem.list(versions) { (entry, _) throws(StoreError) in
            guard let status = try fileSystem.status(versions, entry) else { return true }
            names.append((String(cString: entry), RawName.bytes(of: entry), status.kind))
            return true
        }
        return names.sorted { $0.name < $1.name }
    }
}
