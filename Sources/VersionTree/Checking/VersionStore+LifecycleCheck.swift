import CASStore

extension VersionStore {
    /// Checks the lifecycle: readable, about registered versions, with their trees, and followed by
    /// the link `current`.
    func checkLifecycle(
        _ names: [String], repairing: Bool
    ) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        let lifecycle: Lifecycle
        do throws(StoreError) {
            lifecycle = try self.lifecycle()
        } catch {
            guard error.code == .badLifecycle || error.code == .tooLarge else { throw error }
            var finding = Finding(.damagedLifecycle, path: StoreLayout.lifecycle, error.message)
            if repairing {
                try resetLifecycle()
                finding.isRepaired = true
            }
            return [finding]
        }
        for name in lifecycle.needed.sorted() where try store.versionRow(name) == nil {
            findings.append(
                Finding(
                    .unknownVersion, version: name, path: StoreLayout.lifecycle,
                    "the lifecycle names version \(name), which is not registered"))
        }
        if repairing, !findings.isEmpty {
            try forgetUnknown(findings.compactMap(\.version))
            for position in findings.indices { findings[position].isRepaired = true }
        }
        findings += try checkNeededTrees(lifecycle, repairing: repairing)
        findings += try checkCurrentLink(repairing: repairing)
        return findings
    }

    private func checkNeededTrees(
        _ lifecycle: Lifecycle, repairing: Bool
    ) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for name in lifecycle.needed.sorted() {
            guard let row = try store.versionRow(name), try !isMaterialized(name) else { continue }
            if !row.isComplete {
                findings.append(
                    Finding(
                        .incompleteVersion, version: name,
                        "version \(name) is needed and lacks objects: add or pull it again"))
                continue
            }
            var finding = Finding(
                .missingTree, version: name, path: "versions/\(name)",
                "version \(name) is needed and complete, and its tree is not there")
            // A manifest that cannot be read has a finding of its own; no tree comes from it.
            if repairing, try readable(name) != nil {
                try materialize(name)
                finding.isRepaired = true
            }
            findings.append(finding)
        }
        return findings
    }

    private func checkCurrentLink(repairing: Bool) throws(StoreError) -> [Finding] {
        let target = try fileSystem.symbolicLink(directories.root.raw, StoreLayout.current)
        let lifecycle = try self.lifecycle()
        let expected = lifecycle.current.map { Self.linkTarget(of: $0) }
        guard target != expected else { return [] }
        var finding = Finding(
            .wrongCurrentLink, version: lifecycle.current, path: StoreLayout.current,
            "the link current points to \(printable(target ?? "nothing")) instead of "
                + "\(expected ?? "nothing")")
        if repairing {
            finding.isRepaired = try followLifecycle()
        }
        return [finding]
    }

    private func followLifecycle() throws(StoreError) -> Bool {
        do throws(StoreError) {
            try changeLifecycle { (_) throws(StoreError) in }
            return true
        } catch {
            guard error.code == .currentIsDirectory else { throw error }
            return false
        }
    }

    // The link is the one other record of what was shown; bans and known good versions are lost.
    private func resetLifecycle() throws(StoreError) {
        let root = directories.root.raw
        let target = try fileSystem.symbolicLink(root, StoreLayout.current)
        try fileSystem.rename(
            root, StoreLayout.lifecycle, to: directories.quarantine.raw,
            "lifecycle-\(try randomToken()).json")
        try changeLifecycle { (lifecycle) throws(StoreError) in
            let prefix = StoreLayout.versions + "/"
            guard let target, target.hasPrefix(prefix) else { return }
            let name = String(target.dropFirst(prefix.count))
            if try self.store.versionRow(name) != nil { lifecycle.current = name }
        }
    }

    private func forgetUnknown(_ names: [String]) throws(StoreError) {
        let unknown = Set(names)
        try changeLifecycle { (lifecycle) throws(StoreError) in
            lifecycle.knownGood.removeAll { unknown.contains($0) }
            if let pending = lifecycle.pending, unknown.contains(pending) {
                lifecycle.pending = nil
            }
            if let embedded = lifecycle.embedded, unknown.contains(embedded) {
                lifecycle.embedded = nil
            }
            if let current = lifecycle.current, unknown.contains(current) {
                lifecycle.current = lifecycle.knownGood.first ?? lifecycle.embedded
                lifecycle.boot = nil
            }
        }
    }
}
