public import CASStore

extension VersionStore {
    /// Checks everything: objects against addresses, the index against the manifests, trees against both, the
    /// lifecycle, and leftovers of dead writers.
    ///
    /// Safe beside everything else. Repairs only what can be repaired without guessing, and deletes no last
    /// copy: makes an object again from whatever in the store has its bytes, a manifest from its tree. Damaged
    /// content without a copy goes to quarantine, and every version that has it becomes incomplete until the
    /// same content is added or pulled again. `last-check.json` tells the result later.
    /// - Throws: what prevents the check; what is wrong is in the report.
    public func check(
        _ options: CheckOptions = CheckOptions(), repairing: Bool = false
    ) throws(StoreError) -> CheckReport {
        let event = lastEvent()
        let report = try look(options, repairing: repairing)
        conclude(report, options, repairing: repairing, after: event)
        return report
    }

    /// Like ``check(_:repairing:)``, but tells no observer.
    func look(
        _ options: CheckOptions, repairing: Bool
    ) throws(StoreError) -> CheckReport {
        var report = CheckReport()
        if repairing {
            try fileSystem.refuseRootsRepair(
                of: directories.root.raw, madeWith: StoreLayout.format, store.absolutePath)
        }
        if repairing, effectiveUser() == 0,
            try fileSystem.status(directories.root.raw).owner != 0
        {
            // Root gives back what the owner, for whom it acts, could not even look at.
            report.findings += try Store.checkAccess(
                at: store.absolutePath, repairing: true, fileSystem: fileSystem.outside)
        }
        // Trees elsewhere are made of copies.
        try fileSystem.tellOfDisks(
            among: [StoreLayout.objects, StoreLayout.manifests, StoreLayout.quarantine],
            in: directories.root.raw, store.options.notice)
        report.findings += try store.checkStrangers(repairing: repairing)
        // Then, while the index still knows what they named.
        let lost = try versionsToRecover()
        report.findings += try checkLostManifests(lost, repairing: repairing)
        report.findings += try store.checkLeftovers(repairing: repairing)
        let manifests = try readManifests(&report)
        var parsed: [String: Manifest] = [:]
        // A repair goes step by step; a check alone reads objects while it compares the index.
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
        // Those of objects have been reported; the report adds the versions that show them.
        for finding in report.findings where !Self.isAboutObject(finding) { options.found(finding) }
        let toldCount = report.findings.count
        try checkTrees(
            manifests, parsed, sound, besides: lost.compactMap(\.entry), repairing: repairing,
            &report)
        if repairing { report.findings = Self.withoutConsequences(report.findings) }
        let told = Set(report.findings.compactMap(\.object))
        report.findings += try checkFalseManifests().filter {
            !($0.object.map(told.contains) ?? false)
        }
        report.findings += try checkLifecycle(repairing: repairing)
        report.findings += try checkNotes(repairing: repairing)
        report.findings += try checkTrust()
        let isNamed = report.findings.contains { [.wrongCount, .damagedIndex].contains($0.kind) }
        if !isNamed, let damage = try store.damageFinding() { report.findings.append(damage) }
        // What was removed, perhaps by a killed process, must not come back after a power cut.
        if repairing {
            report.findings += stuckFindings(besides: report.findings)
            try store.syncAll()
            rememberStuck()
        }
        for finding in report.findings[toldCount...] { options.found(finding) }
        return report
    }

    /// If a tree was wrong because of an object, and was repaired with it, the object's finding is enough.
    private static func withoutConsequences(_ findings: [Finding]) -> [Finding] {
        let ofObjects = findings.filter {
            lostKinds.contains($0.kind) || $0.kind == .damagedExecutableCopy
        }
        let versions = Set(ofObjects.compactMap(\.version))
        let places = Set(ofObjects.map { "\($0.version ?? "")/\($0.path ?? "")" })
        return findings.filter { finding in
            guard finding.isRepaired, let version = finding.version else { return true }
            switch finding.kind {
            case .strayTree: return !versions.contains(version)
            case .wrongInTree, .strayInTree, .missingInTree, .wrongModeInTree:
                // Or a directory that held nothing else.
                let place = "\(version)/\(finding.path ?? "")"
                return !places.contains { $0 == place || $0.hasPrefix(place + "/") }
            default: return true
            }
        }
    }

    /// Whether the pass over the objects makes a finding.
    private static func isAboutObject(_ finding: Finding) -> Bool {
        finding.object != nil || finding.isAmongObjects
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
                        .damagedManifest, path: StoreLayout.manifestPath(printable(name)),
                        "\(error.message); give it its version's name, or move it out of the store: nothing is "
                            + "collected before"))
            }
        }
        return readable
    }

    /// How many entries of manifests are kept from one step to the next; the rest are read again.
    private static let keptEntriesMax = 50_000

    private func checkIndex(
        _ names: [String], _ parsed: inout [String: Manifest], _ options: CheckOptions,
        repairing: Bool
    ) throws(StoreError) -> [Finding] {
        var unreadable: Set<String> = []
        let known = Set(names)
        var kept: [String: Manifest] = [:]
        var space = Self.keptEntriesMax
        var found = try store.checkIndex(isDeep: options.isDeep) {
            (name) throws(StoreError) -> ManifestSum? in
            guard known.contains(name) else { return nil }
            do throws(StoreError) {
                let (manifest, address, _) = try self.addressedManifest(of: name)
                if kept[name] == nil, manifest.count <= space {
                    space -= manifest.count
                    kept[name] = manifest
                }
                return ManifestSum(
                    address, manifest.references,
                    numbers: [
                        Int64(manifest.count), manifest.byteCount, manifest.createdAt,
                        manifest.ordinal,
                    ])
            } catch {
                guard Self.saysManifestIsUnusable(error) else { throw error }
                unreadable.insert(name)
                return nil
            }
        }
        let edited = found.filter { $0.kind == .editedManifest }.compactMap(\.version)
        for name in edited { kept[name] = nil }
        parsed = kept
        // An index that was made again since does not know a version whose manifest cannot be read.
        unreadable.formUnion(known.subtracting(try store.versionRows().map(\.row.name)))
        var damaged: [Finding] = []
        for name in unreadable.sorted() {
            // A version that is just being retired loses its manifest before its row; or it was added again since.
            try store.waitForWriters()
            guard let error = try problem(ofManifest: name) else { continue }
            if error.code == .noVersion, try store.versionRow(name) == nil { continue }
            let finding = try damagedManifest(name, error, repairing: repairing)
            damaged.append(
                try finding.repaired { () throws(StoreError) in
                    repairing && finding.kind == .damagedManifest
                        ? try recovering(finding) : finding
                })
        }
        // An index that is made again follows the manifests: that would answer a question that only a person
        // can answer, or forget what a version with a lost manifest names.
        if repairing, edited.isEmpty, try store.versionsWithoutManifest().isEmpty,
            let first = found.first
        {
            try store.rebuildIndex(because: first.message)
            for position in found.indices { found[position].isRepaired = true }
        }
        return damaged + found
    }

    /// Why a manifest cannot be read; `nil` if it can.
    func problem(ofManifest name: String) throws(StoreError) -> StoreError? {
        do throws(StoreError) {
            _ = try manifest(of: name)
            return nil
        } catch {
            guard Self.saysManifestIsUnusable(error) else { throw error }
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
        let lost = Set(
            findings.filter {
                Self.lostKinds.contains($0.kind) || $0.kind == .damagedExecutableCopy
            }
            .compactMap(\.object))
        let places = lost.isEmpty ? [:] : try self.places(of: lost, in: names)
        if repairing { findings = try repairObjects(confirmed) }
        for finding in findings {
            guard let object = finding.object, let shown = places[object], !shown.isEmpty else {
                report.findings.append(finding)
                continue
            }
            for place in shown {
                var here = finding
                here.version = place.version
                here.path = place.path
                here.message += here.placePhrase
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

    /// A manifest; `nil` if it has a finding of its own: it cannot be read, at a second look either, or is not the
    /// registered one.
    func readable(_ name: String) throws(StoreError) -> Manifest? {
        guard VersionName.isName(name) else { return nil }
        let registered = try store.versionRow(name)?.manifest
        let found = try allowing(
            Self.saysManifestIsUnusable,
            try lookingAgain { () throws(StoreError) in try addressedManifest(of: name) })
        return registered == nil || registered == found?.address ? found?.manifest : nil
    }
}
