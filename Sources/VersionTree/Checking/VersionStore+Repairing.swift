package import CASStore

extension VersionStore {
    /// Checks everything, says what a repair would do, and does it.
    ///
    /// Fetched objects replace damaged ones in one step each, so that versions stay whole. Everything
    /// else is repaired as by ``check(_:repairing:)``; sound objects are not read again.
    /// - Parameters:
    ///   - source: has what is damaged or missing; `nil` if nobody has.
    ///   - proceeds: gets the plan before anything changes; `false` ends the repair there.
    /// - Throws: what prevents the check or the repair, and what `source` throws; what has been fetched
    ///   by then is kept.
    package func repair(
        _ options: CheckOptions = CheckOptions(), from source: RepairSource? = nil,
        proceeds: (RepairPlan) -> Bool
    ) throws(StoreError) -> CheckReport {
        let event = lastEvent()
        var report = try look(options, repairing: false)
        let unnamed = try versionsToRecover() + forgottenVersions(report.findings)
        let copies = try copiesOfLost(report.findings, shownBy: unnamed)
        let here = Set(copies.map(\.address))
        let lacked = try missing(of: incompleteVersions())
        let waiting =
            source == nil ? [] : lacked.filter { !$0.value.isEmpty }.keys.sorted()
        let manifests = source == nil ? [] : try lostManifests(report.findings)
        let lost =
            source == nil
            ? [] : try lostObjects(report.findings, waiting).filter { !here.contains($0.address) }
        let plan = RepairPlan(
            report.findings, try means(report.findings, lost, manifests, waiting, copies, unnamed))
        guard proceeds(plan), !report.findings.isEmpty || !lost.isEmpty || !copies.isEmpty else {
            conclude(report, options, repairing: false, after: event)
            return report
        }
        var fetched: Set<ObjectID> = []
        var completed: Set<String> = []
        if let source {
            if !manifests.isEmpty { completed = try source.manifests(manifests) }
            if !lost.isEmpty { fetched = try fetch(lost, report.findings, source) }
        }
        var again = CheckOptions(isDeep: options.isDeep, byteRateMax: options.byteRateMax)
        again.revisits = fetched.union(report.findings.compactMap(\.object))
        var repaired = try look(again, repairing: true)
        if let source {
            try fetchMade(besides: manifests, &repaired.findings, source)
        }
        // Those that go on without what their publisher sent: they are reported as such.
        let told = Set(
            repaired.findings.filter { $0.kind == .incompleteVersion && $0.isRepaired }
                .compactMap(\.version))
        report.findings =
            try mended(report.findings, fetched, completed, lacked, besides: told)
            + restored(copies, besides: report.findings)
            + self.completed(waiting.filter { !told.contains($0) }, besides: report.findings)
            + repaired.findings.filter { finding in
                // What follows from content that is back was reported with it.
                guard finding.isRepaired else { return true }
                if finding.kind == .wrongInTree, let object = finding.object {
                    return !fetched.contains(object)
                }
                return finding.kind != .missingInTree
                    || !lacked.keys.contains { $0 == finding.version }
            }
        conclude(report, options, repairing: true, after: event)
        return report
    }

    /// Whether a repair without an origin would mend something of what a check has found.
    ///
    /// Looks for no copies of lost objects: that such an object is lost is mended by noting it.
    package func canRepair(_ findings: [Finding]) throws(StoreError) -> Bool {
        guard findings.contains(where: { !$0.isRepaired }) else { return false }
        let unnamed = try versionsToRecover() + forgottenVersions(findings)
        return !RepairPlan(findings, try means(findings, [], [], [], [], unnamed)).isEmpty
    }

    /// The versions whose manifest is missing or damaged, or was made again from an incomplete tree.
    private func lostManifests(_ findings: [Finding]) throws(StoreError) -> [LostManifest] {
        var result: [LostManifest] = []
        for finding in findings where LostManifest.kinds.contains(finding.kind) {
            guard let name = finding.version, VersionName.isName(name),
                !result.contains(where: { $0.version == name })
            else { continue }
            guard let row = try store.versionRow(name) else {
                // A tree tells more of its version than an origin that uses the same name.
                if try !isMaterialized(name) { result.append(LostManifest(version: name)) }
                continue
            }
            let isPartial = row.recovery == .partial
            result.append(
                LostManifest(
                    version: name, content: isPartial ? nil : row.content,
                    named: isPartial ? Set(try store.references(of: name).map(\.address)) : nil))
        }
        return result
    }

    /// Versions that the index does not know, with a manifest that cannot be read: they, too, are made again from trees.
    private func forgottenVersions(_ findings: [Finding]) throws(StoreError) -> [LostVersion] {
        var result: [LostVersion] = []
        for finding in findings where finding.kind == .damagedManifest {
            guard let name = finding.version, VersionName.isName(name),
                try store.versionRow(name) == nil, try isMaterialized(name)
            else { continue }
            var lost = LostVersion(name: name)
            _ = try showsUnnamedContent(name.utf8CString, &lost.unread)
            result.append(lost)
        }
        return result
    }

    private func means(
        _ findings: [Finding], _ fetches: [Reference], _ manifests: [LostManifest],
        _ waiting: [String], _ copies: [ObjectCopy], _ unnamed: [LostVersion]
    ) throws(StoreError) -> RepairPlan.Means {
        var means = RepairPlan.Means(
            fetches: fetches, waiting: waiting,
            copies: Dictionary(
                copies.map { ($0.address, $0.path) }, uniquingKeysWith: { first, _ in first }),
            manifests: Set(manifests.map(\.version)), current: try shownVersion())
        let back = Set(means.copies.keys).union(fetches.map(\.address))
        let lost = findings.filter { Self.lostKinds.contains($0.kind) }.compactMap(\.object)
        means.dropping = try versionsLackingOnlyReceived(
            Set(lost).subtracting(back), besides: back)
        for row in try store.versionRows().map(\.row) {
            if try isMaterialized(row.name) { means.trees.insert(row.name) }
            if row.isComplete || row.recovery == .partial { continue }
            let missing = try store.missingObjects(of: row.name) ?? []
            if !missing.isEmpty, missing.allSatisfy({ back.contains($0.address) }) {
                means.completing.insert(row.name)
            }
        }
        for lost in unnamed where lost.unread == nil {
            let hasTree = lost.entry == nil ? try isMaterialized(lost.name) : true
            if hasTree { means.trees.insert(lost.name) }
            guard hasTree, lost.name != means.current, !means.manifests.contains(lost.name)
            else { continue }
            if try isPartial(lost) { means.partial.insert(lost.name) }
        }
        return means
    }

    /// What each of these versions lacks.
    private func missing(of versions: [String]) throws(StoreError) -> [String: Set<ObjectID>] {
        var missing: [String: Set<ObjectID>] = [:]
        for name in versions {
            missing[name] = Set(try store.missingObjects(of: name)?.map(\.address) ?? [])
        }
        return missing
    }

    /// What is damaged or missing and a version names; what an earlier repair removed; and what the
    /// versions `waiting` lack.
    private func lostObjects(
        _ findings: [Finding], _ waiting: [String]
    ) throws(StoreError) -> [Reference] {
        var lost: Set<ObjectID> = []
        for version in waiting {
            for one in try store.missingObjects(of: version) ?? [] { lost.insert(one.address) }
        }
        for finding in findings {
            if Self.lostKinds.contains(finding.kind), let object = finding.object {
                lost.insert(object)
            }
        }
        try fileSystem.list(directories.quarantine.raw) { (name, _) throws(StoreError) in
            guard let address = ObjectID(String(cString: name)),
                try store.objects.status(address) == nil
            else { return true }
            lost.insert(address)
            return true
        }
        guard !lost.isEmpty else { return [] }
        // The manifests say who needs them and how large they are: the index may be wrong.
        var sizes: [ObjectID: Int64] = [:]
        for name in try store.manifestNames() {
            guard VersionName.isName(name), let manifest = try readable(name) else { continue }
            for record in manifest.records where lost.contains(record.address) {
                sizes[record.address] = record.byteCount
            }
            if let received = manifest.received, lost.contains(received.address) {
                sizes[received.address] = received.byteCount
            }
        }
        return sizes.map { Reference(address: $0.key, byteCount: $0.value) }
            .sorted { $0.address < $1.address }
    }

    /// Fetches the manifests that the repair had to make from trees, since the index had forgotten their versions: now it
    /// is known what these may name.
    private func fetchMade(
        besides asked: [LostManifest], _ findings: inout [Finding], _ source: RepairSource
    ) throws(StoreError) {
        let known = Set(asked.map(\.version))
        let made = try lostManifests(findings).filter {
            !known.contains($0.version) && $0.named != nil
        }
        guard !made.isEmpty else { return }
        let came = try source.manifests(made)
        for position in findings.indices {
            guard LostManifest.kinds.contains(findings[position].kind),
                let version = findings[position].version, came.contains(version)
            else { continue }
            findings[position].isRepaired = true
            findings[position].message += "; then it was fetched"
        }
    }

    private func fetch(
        _ lost: [Reference], _ findings: [Finding], _ source: RepairSource
    ) throws(StoreError) -> Set<ObjectID> {
        let incomplete = try incompleteVersions()
        // A file cannot replace a directory in one step.
        let wanted = Set(lost.map(\.address))
        try store.setAsideStrangers(
            findings.filter { $0.kind == .notAFile }.compactMap(\.object)
                .filter { wanted.contains($0) })
        let fetched = try source.objects(lost)
        for name in incomplete where try store.versionRow(name)?.isComplete == true {
            // A version whose manifest was edited has a finding of its own.
            _ = try materializeIfRegistered(name)
        }
        return fetched
    }

    /// Findings of what incomplete versions lacked and the store had elsewhere, which no check reported.
    private func restored(
        _ copies: [ObjectCopy], besides findings: [Finding]
    ) throws(StoreError) -> [Finding] {
        let told = Set(findings.compactMap(\.object))
        var result: [Finding] = []
        for copy in copies where !told.contains(copy.address) {
            guard try store.contains(copy.address) else { continue }
            result.append(
                Finding(
                    .missingObject, object: copy.address, path: copy.path,
                    "object \(copy.address) was missing; it was made again from \(printable(copy.path))",
                    isRepaired: true))
        }
        return result
    }

    /// Findings of versions that are whole again and that nothing needs, which no check reported.
    private func completed(
        _ waiting: [String], besides findings: [Finding]
    ) throws(StoreError) -> [Finding] {
        var result: [Finding] = []
        for name in waiting
        where !findings.contains(where: { $0.kind == .incompleteVersion && $0.version == name }) {
            guard try store.versionRow(name)?.isComplete == true else { continue }
            result.append(
                Finding(
                    .incompleteVersion, version: name,
                    "version \(name) lacked objects; what it lacked was fetched", isRepaired: true))
        }
        return result
    }

    /// The findings that are repaired because content or manifests are back.
    private func mended(
        _ findings: [Finding], _ fetched: Set<ObjectID>, _ manifests: Set<String>,
        _ lacked: [String: Set<ObjectID>], besides told: Set<String>
    ) throws(StoreError) -> [Finding] {
        var result: [Finding] = []
        for var finding in findings {
            if Self.lostKinds.contains(finding.kind) {
                guard let object = finding.object, fetched.contains(object) else { continue }
                finding.message += "; it was fetched again"
            } else if LostManifest.kinds.contains(finding.kind) {
                guard let version = finding.version, manifests.contains(version) else { continue }
                finding.message += "; it was fetched again"
            } else if finding.kind == .incompleteVersion, let version = finding.version {
                guard !told.contains(version), try store.versionRow(version)?.isComplete == true
                else { continue }
                let isFetched = lacked[version].map { !$0.isDisjoint(with: fetched) } ?? false
                finding.message +=
                    isFetched
                    ? "; what it lacked was fetched"
                    : "; what it lacked was found elsewhere in the store"
            } else {
                continue
            }
            finding.isRepaired = true
            result.append(finding)
        }
        return result
    }
}

/// Where a repair gets what a store has lost; everything that it brings is verified and durable.
package struct RepairSource {
    /// Brings objects, of the sizes that the manifests say.
    ///
    /// Returns the addresses of those that are there now; omits what it cannot get.
    package var objects: ([Reference]) throws(StoreError) -> Set<ObjectID>
    /// Brings manifests, and what they name that is not here.
    ///
    /// Returns the names of the versions that are whole now; omits what it cannot get.
    package var manifests: ([LostManifest]) throws(StoreError) -> Set<String>

    /// Makes a source; without `manifests` it has only objects.
    package init(
        objects: @escaping ([Reference]) throws(StoreError) -> Set<ObjectID>,
        manifests: @escaping ([LostManifest]) throws(StoreError) -> Set<String> = {
            (_) throws(StoreError) in []
        }
    ) {
        self.objects = objects
        self.manifests = manifests
    }
}

/// A manifest that is needed again: it is missing, damaged or false, or was made from an incomplete tree.
package struct LostManifest: Sendable, Hashable {
    package var version: String
    /// The address of the version's content; `nil` if nobody knows it.
    package var content: ObjectID?
    /// What the version may name if nobody knows its content: it never had anything else; `nil` if nothing tells that.
    package var named: Set<ObjectID>?

    /// The findings about versions whose manifest is lost.
    static let kinds: Set<Finding.Kind> = [
        .missingManifest, .damagedManifest, .recoveredManifest, .falseManifest,
    ]
}
