public import CASStore

extension VersionStore {
    /// Checks everything: objects against addresses, the index against the manifests, trees against
    /// both, the lifecycle, and what writers that died have left.
    ///
    /// Safe beside everything else. Repairs only what can be repaired without guessing: a damaged
    /// object goes to quarantine and every version that has it becomes incomplete, until the same
    /// content is added or pulled again. ``lastCheck()`` says later what it came to.
    /// - Throws: what keeps the check from being made; what is wrong is in the report.
    public func check(
        _ options: CheckOptions = CheckOptions(), repairing: Bool = false
    ) throws(StoreError) -> CheckReport {
        let report = try look(options, repairing: repairing)
        conclude(report, options, repairing: repairing)
        return report
    }

    /// As ``check(_:repairing:)``, telling nobody.
    func look(
        _ options: CheckOptions, repairing: Bool
    ) throws(StoreError) -> CheckReport {
        var report = CheckReport()
        report.findings += try store.checkLeftovers(repairing: repairing)
        let manifests = try readManifests(&report)
        var parsed: [String: Manifest] = [:]
        // A repair goes step by step; a look reads objects while it compares the index.
        if repairing {
            report.findings += try checkIndex(manifests, &parsed, options, repairing: true)
        }
        var disagreements: [Finding] = []
        let sound = try checkObjects(options, manifests, repairing: repairing, &report) {
            () throws(StoreError) in
            guard !repairing else { return }
            disagreements = try self.checkIndex(manifests, &parsed, options, repairing: false)
        }
        report.findings += disagreements
        // Those of objects have been told; the versions that show one come with the report.
        for finding in report.findings where !Self.isAboutObject(finding) { options.found(finding) }
        let told = report.findings.count
        try checkTrees(manifests, parsed, sound, repairing: repairing, &report)
        report.findings += try checkLifecycle(manifests, repairing: repairing)
        let isNamed = report.findings.contains { [.wrongCount, .damagedIndex].contains($0.kind) }
        if !isNamed, let damage = try store.damageFinding() { report.findings.append(damage) }
        // What was taken away, by a killed process too, must not come back with a power cut.
        if repairing { try store.syncAll() }
        for finding in report.findings[told...] { options.found(finding) }
        return report
    }

    /// Whether a finding is one that the pass over the objects makes.
    private static func isAboutObject(_ finding: Finding) -> Bool {
        finding.object != nil || finding.kind == .strayFile
    }

    /// Names of the readable manifests.
    ///
    /// They are read one at a time, where they are needed.
    private func readManifests(_ report: inout CheckReport) throws(StoreError) -> [String] {
        var readable: [String] = []
        for name in try store.manifestNames() {
            do throws(StoreError) {
                _ = try VersionName(name)
                readable.append(name)
            } catch {
                report.findings.append(
                    Finding(
                        .damagedManifest, path: "manifests/\(printable(name)).json",
                        error.message))
            }
        }
        return readable
    }

    /// How many entries of manifests are kept from one step to the next; the rest is read again.
    private static let keptEntriesMax = 50_000

    private func checkIndex(
        _ names: [String], _ parsed: inout [String: Manifest], _ options: CheckOptions,
        repairing: Bool
    ) throws(StoreError) -> [Finding] {
        var unreadable: Set<String> = []
        let known = Set(names)
        var kept: [String: Manifest] = [:]
        var room = Self.keptEntriesMax
        var found = try store.checkIndex(isDeep: options.isDeep) {
            (name) throws(StoreError) -> ManifestFacts? in
            guard known.contains(name) else { return nil }
            do throws(StoreError) {
                let (manifest, address) = try self.addressedManifest(of: name)
                if kept[name] == nil, manifest.count <= room {
                    room -= manifest.count
                    kept[name] = manifest
                }
                return ManifestFacts(
                    address: address, references: manifest.references,
                    fileCount: Int64(manifest.count),
                    byteCount: manifest.byteCount, createdAt: manifest.createdAt,
                    ordinal: manifest.ordinal)
            } catch {
                guard Self.saysManifestIsBad(error) else { throw error }
                unreadable.insert(name)
                return nil
            }
        }
        let edited = found.filter { $0.kind == .editedManifest }.compactMap(\.version)
        for name in edited { kept[name] = nil }
        parsed = kept
        // A version that is retired just now loses its manifest before its row.
        var damaged: [Finding] = []
        for name in unreadable.sorted() where try store.versionRow(name) != nil {
            // Or it does so still; or it was added again since.
            try store.waitForWriters()
            guard try store.versionRow(name) != nil, let error = try problem(ofManifest: name)
            else { continue }
            damaged.append(
                Finding(
                    .damagedManifest, version: name, path: "manifests/\(name).json", error.message))
        }
        // An index that is made again goes by what manifests say: that would settle a question that a person
        // has to answer.
        if repairing, edited.isEmpty, let first = found.first {
            try store.rebuildIndex(because: first.message)
            for position in found.indices { found[position].isRepaired = true }
        }
        return damaged + found
    }

    /// Why a manifest cannot be read; `nil` if it can.
    private func problem(ofManifest name: String) throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            _ = try manifest(of: name)
            return nil
        } catch {
            guard Self.saysManifestIsBad(error) else { throw error }
            return error
        }
    }

    private func checkObjects(
        _ options: CheckOptions, _ names: [String], repairing: Bool, _ report: inout CheckReport,
        beside: () throws(StoreError) -> Void
    ) throws(StoreError) -> SoundInodes {
        var sound = SoundInodes()
        let confirmed = try store.checkObjects(options, &report, &sound, beside: beside)
        var findings = confirmed.map(\.finding)
        var places: [ObjectID: [(version: String, path: String)]] = [:]
        let lost = Set(
            findings.filter {
                [.damagedObject, .missingObject, .notAFile, .damagedTwin].contains($0.kind)
            }
            .compactMap(\.object))
        if !lost.isEmpty { places = try self.places(of: lost, in: names) }
        if repairing {
            // A tree that shows a damaged inode must go: it is complete or not served. It goes first: once
            // the content is back, nobody would ask what a tree shows that a killed repair has left.
            var hidden: [String: TreeInRemoval] = [:]
            for name in Set(places.values.joined().map(\.version)) where try isMaterialized(name) {
                hidden[name] = try hideTree(of: name, token: randomToken())
            }
            if !hidden.isEmpty { try store.sync(directories.versions.raw) }
            let (repaired, affected) = try store.repairObjects(confirmed)
            findings = repaired
            for tree in hidden.values { try remove(tree) }
            for name in Set(hidden.keys).union(affected).sorted() {
                try removeTree(of: name)
                // Whole again where a sound twin gave back what was damaged, or somebody else has.
                if try store.versionRow(name)?.isComplete == true {
                    _ = try materializeIfRegistered(name)
                }
            }
            if findings.contains(where: { $0.kind == .damagedTwin }) {
                try rebuildExecutables(names)
            }
        }
        for finding in findings {
            guard let object = finding.object, let shown = places[object], !shown.isEmpty else {
                report.findings.append(finding)
                continue
            }
            for place in shown {
                var here = finding
                here.version = place.version
                here.path = place.path
                here.message += ", which is \(place.version):\(printable(place.path))"
                report.findings.append(here)
            }
        }
        return sound
    }

    /// Every version and path that shows one of the objects.
    private func places(
        of objects: Set<ObjectID>, in names: [String]
    ) throws(StoreError) -> [ObjectID: [(version: String, path: String)]] {
        var result: [ObjectID: [(version: String, path: String)]] = [:]
        for name in names {
            guard let manifest = try readable(name) else { continue }
            for position in 0..<manifest.count {
                let address = manifest.records[position].address
                guard objects.contains(address) else { continue }
                result[address, default: []].append((name, manifest.path(position)))
            }
        }
        return result
    }

    /// A manifest, or `nil` for one that is named by a finding of its own: it cannot be read, or is not the
    /// one that was registered.
    func readable(_ name: String) throws(StoreError) -> Manifest? {
        let registered = try isName(name) ? store.versionRow(name)?.manifest : nil
        do throws(StoreError) {
            let (manifest, address) = try addressedManifest(of: name)
            return registered == nil || registered == address ? manifest : nil
        } catch {
            guard Self.saysManifestIsBad(error) else { throw error }
            return nil
        }
    }

    private static func saysManifestIsBad(_ error: StoreError) -> Bool {
        [.badManifest, .noVersion, .tooLarge].contains(error.code)
    }

    private func rebuildExecutables(_ names: [String]) throws(StoreError) {
        for name in names {
            guard let manifest = try readable(name),
                manifest.records.contains(where: \.isExecutable),
                try isMaterialized(name)
            else { continue }
            try removeTree(of: name)
            if try store.versionRow(name)?.isComplete == true {
                _ = try materializeIfRegistered(name)
            }
        }
    }

    // MARK: Trees

    private func checkTrees(
        _ names: [String], _ parsed: [String: Manifest], _ sound: SoundInodes, repairing: Bool,
        _ report: inout CheckReport
    ) throws(StoreError) {
        let trees = try treeNames()
        // After the trees: a writer has its lease before it begins with one, and as long as it has one.
        let hasHidden = trees.contains { $0.name.hasPrefix(".") }
        let running = hasHidden ? Set(try store.leases().running) : []
        let registered = Set(names)
        for (name, kind) in trees {
            guard var finding = try judgeTree(name, kind, registered, running) else {
                if kind == .directory, !name.hasPrefix(".") {
                    try checkTree(name, parsed[name], sound, repairing: repairing, &report)
                }
                continue
            }
            if repairing { finding.isRepaired = try removeStray(name, kind) }
            report.findings.append(finding)
        }
    }

    /// What is wrong with an entry of `versions/` as such; `nil` if it is a version's tree, or
    /// somebody works on it.
    private func judgeTree(
        _ name: String, _ kind: FileStatus.Kind, _ registered: Set<String>, _ running: Set<String>
    ) throws(StoreError) -> Finding? {
        let path = "versions/\(printable(name))"
        if name.hasPrefix(".") {
            if running.contains(where: { name.hasSuffix(".\($0)") }) { return nil }
            if kind == .directory, try isBeingRemoved(name) { return nil }
            // Its writer has ended since, and has taken it away or shown it.
            if try fileSystem.status(directories.versions.raw, name) == nil { return nil }
            return Finding(
                .leftover, path: path, "a tree that was being built or removed was left")
        }
        if kind != .directory {
            return Finding(.strayTree, path: path, "something stands there that is no tree")
        }
        let row = isName(name) ? try store.versionRow(name) : nil
        if let row, !row.isComplete {
            // An add shows the tree before it has committed that the version is complete.
            try store.waitForWriters()
            guard try store.versionRow(name)?.isComplete == false, try isMaterialized(name) else {
                return nil
            }
            return Finding(
                .strayTree, version: name, path: path,
                "version \(name) is incomplete and still has a tree")
        }
        // A writer publishes its manifest before its tree.
        if registered.contains(name) || row != nil { return nil }
        if try hasManifest(name) { return nil }
        // One that is retired just now loses its tree before its manifest.
        if try fileSystem.status(directories.versions.raw, name) == nil { return nil }
        return Finding(
            .strayTree, path: path,
            "the tree \(printable(name)) belongs to no registered version")
    }

    func isName(_ name: String) -> Bool {
        // Only asked whether it is one; why not does not matter.
        (try? VersionName(name)) != nil
    }

    private func hasManifest(_ name: String) throws(StoreError) -> Bool {
        try fileSystem.status(directories.manifests.raw, StoreLayout.manifest(name)) != nil
    }

    /// - Returns: whether it is gone; a tree that a writer has taken for its own meanwhile stays.
    private func removeStray(_ name: String, _ kind: FileStatus.Kind) throws(StoreError) -> Bool {
        let versions = directories.versions.raw
        if name.hasPrefix(".") {
            try fileSystem.removeTree(versions, name)
            return true
        }
        let token = try randomToken()
        if kind != .directory {
            try fileSystem.renameIfPresent(
                versions, name, to: directories.quarantine.raw, "stray-\(token)")
            return true
        }
        let hidden = ".stray.\(token)"
        // Locked, so that another check does not take it for a leftover.
        guard let tree = try fileSystem.openIfPresent(versions, name, .directory) else {
            return true
        }
        _ = try fileSystem.lock(tree.raw, exclusive: true, waiting: true)
        defer { fileSystem.unlock(tree.raw) }
        try fileSystem.renameIfPresent(versions, name, to: versions, hidden)
        try store.waitForWriters()
        let isIncomplete = isName(name) ? try store.versionRow(name)?.isComplete == false : false
        if try hasManifest(name), !isIncomplete {
            do throws(StoreError) {
                try fileSystem.renameNew(versions, hidden, to: versions, name)
                return false
            } catch {
                // Its writer has put its own there.
                guard error.isExisting || error.code == .notFound else { throw error }
            }
        }
        try fileSystem.removeTree(versions, hidden)
        return true
    }

    private func checkTree(
        _ name: String, _ parsed: Manifest?, _ sound: SoundInodes, repairing: Bool,
        _ report: inout CheckReport
    ) throws(StoreError) {
        let readAgain = parsed == nil ? try readable(name) : nil
        guard let manifest = parsed ?? readAgain else { return }
        var found = try TreeCheck(store: store, manifest: manifest, sound: sound).run()
        report.checkedTrees += 1
        if !found.isEmpty, let now = try readable(name) {
            // The manifest may have been replaced since it was read, and the tree with it.
            found = try TreeCheck(store: store, manifest: now, sound: SoundInodes()).run()
        }
        // Retired meanwhile: the tree went first, and nothing is wrong.
        guard !found.isEmpty, try store.versionRow(name) != nil else { return }
        if repairing {
            try removeTree(of: name)
            try materialize(name)
            for position in found.indices { found[position].isRepaired = true }
        }
        report.findings += found
    }

    private func treeNames() throws(StoreError) -> [(name: String, kind: FileStatus.Kind)] {
        var names: [(name: String, kind: FileStatus.Kind)] = []
        let versions = directories.versions.raw
        try fileSystem.list(versions) { (entry, _) throws(StoreError) in
            guard let status = try fileSystem.status(versions, entry) else { return true }
            names.append((String(cString: entry), status.kind))
            return true
        }
        return names.sorted { $0.name < $1.name }
    }
}
