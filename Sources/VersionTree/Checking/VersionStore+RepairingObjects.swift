package import CASStore

// Makes what is lost again from its copies, before removing anything.

extension VersionStore {
    /// The findings about objects that a manifest names by address.
    static let lostKinds: Set<Finding.Kind> = [.damagedObject, .missingObject, .notAFile]

    /// Makes lost objects again from their copies, then repairs the rest.
    ///
    /// Leaves trees alone: comparing them with their manifests finds what is wrong in them, and by then everything
    /// in them that is right and needed is an object.
    func repairObjects(_ confirmed: [Suspicion]) throws(StoreError) -> [Finding] {
        let copies = try copiesOfLost(confirmed.map(\.finding))
        let made = copies.isEmpty ? [] : try store.salvage(copies)
        var origins: [ObjectID: String] = [:]
        for copy in copies where made.contains(copy.address) { origins[copy.address] = copy.path }
        var findings = try store.repairObjects(confirmed)
        let lost = findings.filter { Self.lostKinds.contains($0.kind) }.compactMap(\.object)
        var gone: Set<ObjectID> = []
        for object in lost where try !store.contains(object) { gone.insert(object) }
        let dropped = try dropLostReceived(gone)
        for position in findings.indices {
            guard Self.lostKinds.contains(findings[position].kind),
                let object = findings[position].object
            else { continue }
            if let path = origins[object] {
                findings[position] =
                    confirmed[position].finding.adding(
                        "; it was made again from \(printable(path))"
                    ).done
                continue
            }
            for name in dropped.filter({ $0.value == object }).keys.sorted() {
                findings[position].message += Self.goesOn(name)
            }
            let isNamed = try store.unnamed([object]).isEmpty
            findings[position].isLost = isNamed && gone.contains(object)
        }
        for (name, object) in dropped.sorted(by: { $0.key < $1.key }) where !gone.contains(object) {
            findings.append(
                Finding(
                    .incompleteVersion, version: name,
                    "version \(name) lacked object \(object)\(Self.goesOn(name))",
                    isRepaired: true))
        }
        return findings
    }

    private static func goesOn(_ name: String) -> String {
        "; it is what the publisher of version \(name) sent as its manifest, and the version continues without it"
    }

    /// Copies of what is damaged or missing and a version names, and of what incomplete versions are missing.
    ///
    /// What is staged for a version that nobody has called damaged is arriving: it is no copy of anything lost.
    /// - Parameter unnamed: versions that will be made again from their trees, with what these show.
    func copiesOfLost(
        _ findings: [Finding], shownBy unnamed: [LostVersion] = []
    ) throws(StoreError) -> [ObjectCopy] {
        var lost: [Reference] = []
        for version in unnamed where version.unread == nil {
            let name = version.entry ?? Array(version.name.utf8CString)
            let shown = try TreeReading(versions: self).contents(of: name)
            for one in shown.references where try !store.contains(one.address) { lost.append(one) }
        }
        var arriving: Set<ObjectID> = []
        for version in try incompleteVersions() {
            let missing = try store.missingObjects(of: version) ?? []
            lost += missing
            arriving.formUnion(missing.map(\.address))
        }
        let damaged = Set(
            findings.filter { Self.lostKinds.contains($0.kind) }.compactMap(\.object))
        if !damaged.isEmpty {
            lost += try store.sizes(of: damaged)
            // The index may have been made again from damaged files: what manifests promise counts as well.
            for name in try store.manifestNames() {
                guard let manifest = try readable(name) else { continue }
                let references = manifest.references
                for position in 0..<references.count
                where damaged.contains(references[position].address) {
                    lost.append(references[position])
                }
            }
        }
        arriving.subtract(findings.compactMap(\.object))
        return try store.findCopies(of: lost, arriving: arriving, in: findings.wrongPlaces)
    }

    /// The registered versions that are missing objects, needed or not; without those that a living process fetches:
    /// what comes is not lost.
    func incompleteVersions() throws(StoreError) -> [String] {
        var names: [String] = []
        for row in try store.versionRows().map(\.row) where !row.isComplete {
            if try !isBeingFetched(row.name) { names.append(row.name) }
        }
        return names
    }

    /// The incomplete versions that have all that they name, and still are not what they promise; or an object of
    /// theirs that is not what its address says.
    func checkFalseManifests() throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for name in try incompleteVersions() {
            guard let row = try store.versionRow(name), row.recovery == .none, !row.isComplete,
                try store.missingObjects(of: name)?.isEmpty == true,
                try store.versionRow(name)?.isComplete == false
            else { continue }
            if let object = try wrongObject(of: name) {
                findings.append(
                    Finding(
                        .damagedObject, object: object, version: name,
                        StoreError.damagedObject(object).message))
                continue
            }
            // What cannot be read promises nothing, and has a finding of its own.
            if try readable(name) == nil { continue }
            findings.append(
                Finding(
                    .falseManifest, version: name,
                    "version \(name) is incomplete, and promises a size that one of its objects does not have: its manifest is wrong (pull it again, or retire it)"
                ))
        }
        return findings
    }

    /// Whether a process that lives fetches a release under a name.
    package func isBeingFetched(_ name: String) throws(StoreError) -> Bool {
        try isHeld(StoreLayout.pullLock(name), removingFree: true)
    }

    // MARK: Manifests

    /// Finds versions whose manifest is gone, and those whose manifest was made again from a tree.
    func checkLostManifests(
        _ lost: [LostVersion], repairing: Bool
    ) throws(StoreError) -> [Finding] {
        var findings: [Finding] = []
        for version in lost {
            let finding = try finding(of: version)
            findings.append(
                try finding.repaired { () throws(StoreError) in
                    guard repairing, version.unread == nil, try bringBack(version),
                        try isMaterialized(version.name)
                    else { return finding }
                    return try recovering(finding)
                })
        }
        for row in try store.versionRows().map(\.row)
        where row.recovery == .partial && !findings.contains(where: { $0.version == row.name }) {
            findings.append(
                Finding(
                    .recoveredManifest, version: row.name,
                    path: StoreLayout.manifestPath(row.name),
                    "the manifest of version \(row.name) was made again from its tree, and may be missing what the tree "
                        + "did not show; add or pull the version again"))
        }
        return findings
    }

    /// Makes the manifest again that a finding reports as missing.
    func recovering(_ finding: Finding) throws(StoreError) -> Finding {
        guard let name = finding.version else { return finding }
        var finding = finding
        let recovery: Recovery
        do throws(StoreError) {
            recovery = try recoverManifest(of: name)
        } catch {
            guard error.code == .unreadTree else { throw error }
            finding.message += "; \(error.message)"
            return finding
        }
        switch recovery {
        case .whole:
            finding.isRepaired = true
            finding.message +=
                "; it was made again from the tree, without labels and foreign fields if it had any"
        case .partial:
            finding.message +=
                "; it was made again from the tree, and the version counts as incomplete until it is added "
                + "or pulled again"
        case .none: break
        }
        return finding
    }

    /// What a person can do about a version of which neither manifest nor tree is left.
    func waysWithoutTree(of name: String) throws(StoreError) -> String {
        let ways =
            "; there is no tree to make it again from: castree fsck --from an origin that offers the version, or add or "
            + "pull it again"
        guard try store.versionRow(name) != nil, let lifecycle = try lifecycleIfReadable() else {
            return ways
        }
        let need = try need(of: name, lifecycle)
        return ways + "; if nobody has it any more, castree retire \(name)"
            + (need.map { ", but \(lifecycle.advice(on: $0, of: name))" } ?? "")
    }

    /// The finding of a version whose manifest is lost.
    func finding(of lost: LostVersion) throws(StoreError) -> Finding {
        let name = lost.name
        var message =
            if let unread = lost.unread {
                Self.unreadTree(name, unread).message
            } else if lost.isHidden {
                "version \(name) is needed, and nothing is left of it but its hidden tree \(lost.treePath)"
            } else if lost.entry != nil {
                "\(lost.treePath) shows content that no version names, and no version can have its name: a repair "
                    + "makes it version \(name)"
            } else if try store.versionRow(name) != nil {
                "version \(name) is registered and its manifest is not there; nothing that it names is collected"
            } else {
                "the tree \(name) shows content that no version names, and there is no manifest of it"
            }
        let isElsewhere = lost.entry != nil
        let hasTree = try isElsewhere ? true : isMaterialized(name)
        if !hasTree { message += try waysWithoutTree(of: name) }
        return Finding(
            .missingManifest, version: name,
            path: hasTree ? lost.treePath : StoreLayout.manifestPath(name), message)
    }
}
