package import CASStore

extension VersionStore {
    /// What is wrong with the versions that are shown or may be gone back to, as far as names and the index tell, and
    /// with the store's small files.
    ///
    /// Reads no content but files of the shown tree that somebody has touched, so that it can be asked every minute; a
    /// check finds the rest.
    package func evidentFindings() throws(StoreError) -> [Finding] {
        var lost = try store.versionsWithoutManifest()
        // An index that was made again does not know them.
        for name in try lifecycleIfReadable()?.needed.sorted() ?? [] {
            guard try store.versionRow(name) == nil, try isMaterialized(name),
                try !hasManifest(name)
            else { continue }
            lost.append(name)
        }
        let lostVersions = lost.map { LostVersion(name: $0) }
        return try checkLostManifests(lostVersions, repairing: false) + checkManifests()
            + checkFalseManifests() + checkLifecycle(repairing: false)
            + checkShownTrees() + store.checkForeign() + checkNotes(repairing: false) + checkTrust()
    }

    /// Finds manifests that cannot be read, or that somebody has edited: nothing is collected meanwhile.
    ///
    /// Reads those that were touched, and those of the versions that are needed: an index that was made again does not
    /// know a version whose manifest it could not read.
    private func checkManifests() throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        let needed = try lifecycleIfReadable()?.needed ?? []
        for name in try needed.union(store.versionsWithTouchedManifest()).sorted() {
            do throws(StoreError) {
                _ =
                    try store.versionRow(name) == nil
                    ? manifest(of: name) : registeredManifest(of: name)
            } catch {
                guard Self.saysManifestIsUnusable(error) else { throw error }
                // Lost, which is another finding; or being retired, which takes the manifest before the row.
                guard error.code != .noVersion, try hasManifest(name) else { continue }
                let problem = try problem(ofManifest: name)
                if error.isOfOneName, problem == nil { continue }
                findings.append(
                    try problem != nil
                        ? damagedManifest(name, error)
                        : Finding(
                            .editedManifest, version: name, path: StoreLayout.manifestPath(name),
                            error.message))
            }
        }
        return findings
    }

    /// The finding of a manifest that cannot be read; a repair opens it if it is only closed, or not its owner's.
    func damagedManifest(
        _ name: String, _ error: StoreError, repairing: Bool = false
    ) throws(StoreError) -> Finding {
        if error.isAccessDenied,
            var finding = try store.checkRights(ofManifest: name, repairing: repairing)
        {
            finding.version = name
            return finding
        }
        var message =
            error.ifUnreadable {
                StoreError(.badManifest, "the manifest of version \(name) cannot be read: \($0)")
            }.message
        if try !isMaterialized(name) {
            if message.hasSuffix(".") { message.removeLast() }
            message += try waysWithoutTree(of: name)
        }
        return Finding(
            .damagedManifest, version: name, path: StoreLayout.manifestPath(name), message)
    }

    /// Checks that the lifecycle is readable and names registered versions that have their trees,
    /// and that the link `current` follows it.
    func checkLifecycle(repairing: Bool) throws(StoreError) -> [Finding] {
        let lifecycle: Lifecycle
        do throws(StoreError) {
            lifecycle = try self.lifecycle()
        } catch {
            guard error.saysLifecycleIsBad else { throw error }
            let finding = Finding(.damagedLifecycle, path: StoreLayout.lifecycle, error.message)
            let left = repairing ? try resettingLifecycle(finding) : finding
            // What is shown is needed, whatever else the file said.
            return try [left]
                + (left.isRepaired
                    ? checkLifecycle(repairing: true) : checkNeededTrees(lifecycleOfLink()))
        }
        let found = try disagreements(lifecycle)
        guard !found.isEmpty else { return [] }
        let findings = try confirmed(found)
        return repairing ? try repaired(findings) : findings
    }

    /// The findings that hold while nobody changes the lifecycle: a retirement removes the tree, then the
    /// version, and updates the lifecycle.
    private func confirmed(_ findings: [Finding]) throws(StoreError) -> [Finding] {
        do throws(StoreError) {
            return try withLifecycleLocked { () throws(StoreError) in
                try disagreements(self.lifecycle())
            }
        } catch {
            // If a store cannot be written, nobody changes it.
            guard [.readOnly, .permission, .outOfSpace].contains(error.code) else { throw error }
            return findings
        }
    }

    private func disagreements(_ lifecycle: Lifecycle) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        if lifecycle.isEdited {
            findings.append(
                Finding(
                    .editedLifecycle, path: StoreLayout.lifecycle,
                    "lifecycle.json is not as castree wrote it: somebody has edited it, or a bit "
                        + "has flipped; look at what castree lifecycle shows, then correct it or let "
                        + "castree fsck --repair accept it"))
        }
        for name in lifecycle.needed.sorted() where try isUnknown(name) {
            findings.append(
                Finding(
                    .unknownVersion, version: name, path: StoreLayout.lifecycle,
                    "the lifecycle names version \(name), which is not registered"))
        }
        findings += try checkNeededTrees(lifecycle)
        if let finding = try checkCurrentLink(lifecycle) { findings.append(finding) }
        return findings
    }

    /// Whether nothing is left of a version: one with a manifest or a tree has a finding of its own and is made again.
    private func isUnknown(_ name: String) throws(StoreError) -> Bool {
        guard try store.versionRow(name) == nil else { return false }
        if try hasManifest(name) { return false }
        return try !isMaterialized(name)
    }

    private func repaired(_ findings: [Finding]) throws(StoreError) -> [Finding] {
        var result: [Finding] = []
        if let link = findings.firstIndex(where: { $0.kind == .wrongCurrentLink }) {
            do throws(StoreError) {
                try withLifecycleLocked { () throws(StoreError) in try setCurrentAside() }
            } catch {
                // No change of the lifecycle succeeds meanwhile.
                var left = findings
                left[link] = try left[link].staying(error)
                return left
            }
        }
        // Nobody knows what the file said before: what it says now is as good as anything.
        if findings.contains(where: { $0.kind == .editedLifecycle }) {
            try changeLifecycle { (lifecycle) throws(StoreError) in lifecycle.staleDigest = nil }
        }
        let unknown = findings.filter { $0.kind == .unknownVersion }.compactMap(\.version)
        if !unknown.isEmpty { try forgetUnknown(unknown) }
        for var finding in findings {
            switch (finding.kind, finding.version) {
            case (.editedLifecycle, _), (.unknownVersion, _): finding.isRepaired = true
            case (.missingTree, let name?):
                // A manifest that cannot be read has a finding of its own; no tree can be made from it.
                if try readable(name) != nil {
                    finding.isRepaired = try materializeIfRegistered(name)
                }
            case (.wrongCurrentLink, _):
                try changeLifecycle { (_) throws(StoreError) in }
                finding.isRepaired = true
            default: break
            }
            result.append(finding)
        }
        return result
    }

    /// - Returns: `true`, even if the version was retired meanwhile: then it needs no tree; `false` if its
    ///   manifest has a finding of its own and must not be used.
    func materializeIfRegistered(_ name: String) throws(StoreError) -> Bool {
        do throws(StoreError) {
            try materialize(name)
        } catch {
            if error.code == .badManifest || error.isUnreadable { return false }
            guard error.code == .noVersion || error.code == .busy else { throw error }
        }
        return true
    }

    private func checkNeededTrees(_ lifecycle: Lifecycle) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for name in lifecycle.needed.sorted() {
            guard var row = try store.versionRow(name) else { continue }
            let hasTree = try isMaterialized(name)
            if !row.isComplete, hasTree {
                // An add shows the tree before it has committed that the version is complete.
                try store.waitForWriters()
                row = try store.versionRow(name) ?? row
            }
            // A version whose manifest was made again has a finding of its own.
            if row.recovery == .partial { continue }
            if !row.isComplete {
                findings.append(
                    Finding(
                        .incompleteVersion, version: name,
                        "version \(name) is needed and is missing objects: add or pull it again"))
                continue
            }
            // No tree is built from a manifest that is lost or edited, which has a finding of its own.
            if hasTree { continue }
            if try readable(name) == nil { continue }
            findings.append(
                Finding(
                    .missingTree, version: name, path: StoreLayout.treePath(name),
                    "version \(name) is needed and complete, and its tree is not there"))
        }
        return findings
    }

    private func checkCurrentLink(_ lifecycle: Lifecycle) throws(StoreError) -> Finding? {
        let target = try fileSystem.symbolicLink(directories.root.raw, StoreLayout.current)
        let expected = lifecycle.current.map(StoreLayout.treePath)
        let stranger =
            target == nil
            ? try fileSystem.status(directories.root.raw, StoreLayout.current)?.kind : nil
        guard target != expected || stranger != nil else { return nil }
        let right = expected ?? "nothing"
        return Finding(
            .wrongCurrentLink, version: lifecycle.current, path: StoreLayout.current,
            stranger.map { "\($0.noun) stands in place of the link current to \(right)" }
                ?? "the link current points to \(printable(target ?? "nothing")) instead of \(right)"
        )
    }

    /// Puts into quarantine what stands in place of the link `current`; the caller has locked the lifecycle.
    private func setCurrentAside() throws(StoreError) {
        try makeWayForLink()
        let root = directories.root.raw
        let there = try fileSystem.status(root, StoreLayout.current)
        guard let there, there.kind != .symbolicLink else { return }
        try fileSystem.rename(
            root, StoreLayout.current, to: directories.quarantine.raw,
            try StoreLayout.aside(StoreLayout.current))
    }

    /// What is left of the finding that the lifecycle cannot be read once it has begun anew.
    func resettingLifecycle(_ finding: Finding) throws(StoreError) -> Finding {
        try finding.repaired { () throws(StoreError) in
            try resetLifecycle()
            return finding.done
        }
    }

    // The link is the only other record of what was shown; bans and known good versions are lost.
    private func resetLifecycle() throws(StoreError) {
        try store.withReserve { () throws(StoreError) in
            try self.withLifecycleLocked { () throws(StoreError) in
                // Otherwise another repair was quicker.
                guard try self.lifecycleIfReadable() == nil else { return }
                var lifecycle = try self.lifecycleOfLink()
                lifecycle.isTrusting = try self.isTrustNoted()
                try self.setLifecycleAside()
                try self.setCurrentAside()
                try self.write(lifecycle)
                try self.pointCurrent(at: lifecycle.current)
            }
        }
    }

    /// A lifecycle that knows no more than what the link `current` shows.
    package func lifecycleOfLink() throws(StoreError) -> Lifecycle {
        var lifecycle = Lifecycle()
        let prefix = StoreLayout.versions + "/"
        let target = try fileSystem.symbolicLink(directories.root.raw, StoreLayout.current)
        guard let target, target.hasPrefix(prefix) else { return lifecycle }
        let name = String(target.dropFirst(prefix.count))
        if VersionName.isName(name), try !isUnknown(name) { lifecycle.current = name }
        return lifecycle
    }

    /// The version that is shown: the lifecycle's, or the link's if the lifecycle cannot be read.
    func shownVersion() throws(StoreError) -> String? {
        if let lifecycle = try lifecycleIfReadable() { return lifecycle.current }
        return try lifecycleOfLink().current
    }

    /// Where things stand; `nil` if the file is damaged, which is a finding of its own.
    func lifecycleIfReadable() throws(StoreError) -> Lifecycle? {
        try allowing(\.saysLifecycleIsBad, try lifecycle())
    }

    /// Keeps the damaged file in quarantine.
    ///
    /// A regular file also stays in its place until it is replaced in one step: without any, nothing would
    /// be current.
    private func setLifecycleAside() throws(StoreError) {
        let (root, quarantine) = (directories.root.raw, directories.quarantine.raw)
        let aside = try StoreLayout.aside("lifecycle", suffix: ".json")
        guard let status = try fileSystem.status(root, StoreLayout.lifecycle) else { return }
        if status.kind == .regular {
            try fileSystem.link(root, StoreLayout.lifecycle, to: quarantine, aside)
        } else {
            try fileSystem.setAside(root, StoreLayout.lifecycle, to: quarantine, aside)
        }
    }

    private func forgetUnknown(_ names: [String]) throws(StoreError) {
        try changeLifecycle { (lifecycle) throws(StoreError) in
            var unknown: Set<String> = []
            // One of them may have been added since.
            for name in names where try self.isUnknown(name) { unknown.insert(name) }
            if let current = lifecycle.current, unknown.contains(current) {
                // A copy made while commands ran has the lifecycle of a version that it is missing.
                lifecycle.current = try lifecycle.findWayBack(self)
                lifecycle.boot = nil
            }
            lifecycle.knownGood.removeAll { unknown.contains($0) }
            lifecycle.protected.subtract(unknown)
            for place in [\Lifecycle.pending, \.before, \.embedded] {
                if let name = lifecycle[keyPath: place], unknown.contains(name) {
                    lifecycle[keyPath: place] = nil
                }
            }
        }
    }
}
