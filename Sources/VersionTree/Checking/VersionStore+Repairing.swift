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
        let means = try means(report.findings, fetching: source != nil)
        let isSound =
            report.findings.isEmpty && means.fetches.isEmpty && means.copies.isEmpty
        guard proceeds(RepairPlan(report.findings, means)), !isSound else {
            conclude(report, options, repairing: false, after: event)
            return report
        }
        var fetched: Set<ObjectID> = []
        var completed: Set<String> = []
        var mended: [Finding] = []
        if let source {
            // A pull reads where things stand.
            for finding in report.findings where finding.kind == .damagedLifecycle {
                let left = try resettingLifecycle(finding)
                if left.isRepaired { mended.append(left) }
            }
            if !means.manifests.isEmpty {
                completed = try source.manifests(afterRecovering(means.manifests))
            }
            if !means.fetches.isEmpty {
                fetched = try fetch(means.fetches, report.findings, source)
            }
        }
        var again = CheckOptions(isDeep: options.isDeep, byteRateMax: options.byteRateMax)
        again.revisits = fetched.union(report.findings.compactMap(\.object))
        let repaired = try look(again, repairing: true).findings
        // Those that continue without what their publisher sent: they are reported as such.
        let told = Set(
            repaired.filter { $0.kind == .incompleteVersion && $0.isRepaired }
                .compactMap(\.version))
        for finding in report.findings {
            guard let news = try news(of: finding, fetched, completed, means, besides: told)
            else { continue }
            mended.append(finding.adding(news).done)
        }
        report.findings =
            try mended + unreported(means, besides: report.findings, told)
            + repaired.filter { finding in
                // What follows from content that is back was reported with it.
                guard finding.isRepaired else { return true }
                if finding.kind == .wrongInTree, let object = finding.object {
                    return !fetched.contains(object)
                }
                return finding.kind != .missingInTree
                    || !means.lacked.keys.contains { $0 == finding.version }
            }
        conclude(report, options, repairing: true, after: event)
        return report
    }

    /// Whether a repair without an origin would mend something of what a check has found.
    ///
    /// Looks for no copies of lost objects: that such an object is lost is mended by noting it.
    package func canRepair(_ findings: [Finding]) throws(StoreError) -> Bool {
        guard findings.contains(where: { !$0.isRepaired }) else { return false }
        return !RepairPlan(findings, try means(findings, searching: false)).isEmpty
    }

    /// The versions whose manifest is missing or damaged, or was made again from an incomplete tree.
    private func lostManifests(_ findings: [Finding]) throws(StoreError) -> [LostManifest] {
        var result: [LostManifest] = []
        for finding in findings where LostManifest.kinds.contains(finding.kind) {
            guard let name = finding.version, VersionName.isName(name),
                !result.contains(where: { $0.version == name })
            else { continue }
            result.append(try lostManifest(of: name))
        }
        return result
    }

    private func lostManifest(of name: String) throws(StoreError) -> LostManifest {
        guard let row = try store.versionRow(name) else { return LostManifest(version: name) }
        let isPartial = row.recovery == .partial
        return LostManifest(
            version: name, content: isPartial ? nil : row.content,
            named: isPartial ? Set(try store.references(of: name).map(\.address)) : nil)
    }

    /// What an origin can be asked for once the versions that only their trees tell of are made again from these.
    ///
    /// Before anything else is repaired: the tree of a version that stays incomplete is removed. A tree tells more of its
    /// version than an origin that uses the same name, so what neither the index knows nor a tree tells is not asked for.
    private func afterRecovering(_ lost: [LostManifest]) throws(StoreError) -> [LostManifest] {
        var result: [LostManifest] = []
        for one in lost {
            let name = one.version
            guard try store.versionRow(name) == nil, try isMaterialized(name) else {
                result.append(one)
                continue
            }
            do throws(StoreError) {
                if case .none = try recoverManifest(of: name) { continue }
                result.append(try lostManifest(of: name))
            } catch {
                // The finding of what stays as it is says why.
                guard error.code == .unreadTree || error.isOfOneName else { throw error }
            }
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

    /// What a repair can build on; changes nothing.
    ///
    /// - Parameters:
    ///   - isFetching: whether an origin is asked for what is lost.
    ///   - isSearching: whether the store is searched for copies of it.
    private func means(
        _ findings: [Finding], fetching isFetching: Bool = false,
        searching isSearching: Bool = true
    ) throws(StoreError) -> RepairMeans {
        var means = RepairMeans(current: try shownVersion())
        let unnamed = try versionsToRecover() + forgottenVersions(findings)
        if isSearching {
            for copy in try copiesOfLost(findings, shownBy: unnamed) {
                means.copies[copy.address] = copy.path
            }
            for name in try incompleteVersions() {
                means.lacked[name] = Set(
                    try store.missingObjects(of: name)?.map(\.address) ?? [])
            }
        }
        if isFetching {
            means.waiting = means.lacked.filter { !$0.value.isEmpty }.keys.sorted()
            means.manifests = try lostManifests(findings)
            means.fetches = try lostObjects(findings, means.waiting)
                .filter { means.copies[$0.address] == nil }
        }
        let back = means.back
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
            guard hasTree, lost.name != means.current,
                !means.manifests.contains(where: { $0.version == lost.name }),
                try isPartial(lost)
            else { continue }
            means.partial.insert(lost.name)
        }
        return means
    }

    /// What is damaged or missing and a version names; what an earlier repair removed; and what the
    /// versions `waiting` are missing.
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
            guard let manifest = try readable(name) else { continue }
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

    /// Findings of what is back and no check reported: what incomplete versions lacked and the store had elsewhere, and
    /// versions that are whole again and that nothing needs.
    private func unreported(
        _ means: RepairMeans, besides findings: [Finding], _ told: Set<String>
    ) throws(StoreError) -> [Finding] {
        var result: [Finding] = []
        let objects = Set(findings.compactMap(\.object))
        for (address, path) in means.copies.sorted(by: { $0.key < $1.key })
        where !objects.contains(address) {
            guard try store.contains(address) else { continue }
            result.append(
                Finding(
                    .missingObject, object: address, path: path,
                    "object \(address) was missing; it was made again from \(printable(path))",
                    isRepaired: true))
        }
        let versions = told.union(
            findings.filter { $0.kind == .incompleteVersion }.compactMap(\.version))
        for name in means.waiting where !versions.contains(name) {
            guard try store.versionRow(name)?.isComplete == true else { continue }
            result.append(
                Finding(
                    .incompleteVersion, version: name,
                    "version \(name) was missing objects; what was missing was fetched",
                    isRepaired: true))
        }
        return result
    }

    /// What to add to a finding of lost content, or of a lost manifest, that is back; `nil` for others.
    private func news(
        of finding: Finding, _ fetched: Set<ObjectID>, _ manifests: Set<String>,
        _ means: RepairMeans, besides told: Set<String>
    ) throws(StoreError) -> String? {
        if Self.lostKinds.contains(finding.kind) {
            return finding.object.map(fetched.contains) == true ? "; it was fetched again" : nil
        }
        guard let version = finding.version else { return nil }
        if LostManifest.kinds.contains(finding.kind) {
            return manifests.contains(version) ? "; it was fetched again" : nil
        }
        guard finding.kind == .incompleteVersion, !told.contains(version),
            try store.versionRow(version)?.isComplete == true
        else { return nil }
        return means.lacked[version]?.isDisjoint(with: fetched) == false
            ? "; what was missing was fetched"
            : "; what it lacked was found elsewhere in the store"
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
