package import CASStore

/// What a repair would do, before it does anything: a value that people and programs can read.
package struct RepairPlan: Sendable {
    /// What would be done, in the order of the findings; each deed once.
    package var steps: [RepairStep] = []
    /// Objects to fetch again: damaged, missing, or removed by an earlier repair.
    package var fetches: [Reference] = []

    /// Whether there is nothing to do.
    package var isEmpty: Bool { steps.allSatisfy { $0.deed == .nothing } && fetches.isEmpty }

    /// What a plan depends on besides the findings.
    struct Means: Sendable {
        /// The objects to ask an origin for.
        var fetches: [Reference] = []
        /// The versions that lack some of them.
        var waiting: [String] = []
        /// Other places of the bytes of lost objects, by address.
        var copies: [ObjectID: String] = [:]
        /// The versions that have a tree.
        var trees: Set<String> = []
        /// The versions whose manifests to ask an origin for.
        var manifests: Set<String> = []
        /// The version whose tree stays, whatever it has lost.
        var current: String?
        /// The incomplete versions that will then have everything they lack.
        var completing: Set<String> = []
        /// The versions that will go on without what their publisher sent, which is lost.
        var dropping: [String: ObjectID] = [:]
        /// The versions whose manifest, made again, may lack something, and whose tree is then removed.
        var partial: Set<String> = []

        /// What to do about a finding if its version will have other content by then; `nil` for the usual steps.
        ///
        /// - Parameter losing: the versions that lack objects from then on.
        func steps(insteadOf finding: Finding, losing: some Collection<String>) -> [RepairStep]? {
            guard let version = finding.version else { return nil }
            let isCompleting = completing.contains(version) || dropping[version] != nil
            switch finding.kind {
            // Compared with what it lacks now; its tree is right when that is back.
            case .strayTree where isCompleting: return []
            case .strayInTree where isCompleting: return []
            case .incompleteVersion where isCompleting:
                return trees.contains(version)
                    ? [] : [RepairStep(deed: .buildTree, version: version)]
            case .missingTree where losing.contains(version):
                return [RepairStep(deed: .nothing, version: version)]
            // Such a tree is removed unless it is current: that is a step of its own.
            case .missingInTree, .wrongInTree, .strayInTree, .wrongModeInTree, .copiedInTree:
                return losing.contains(version) && version != current ? [] : nil
            default: return nil
            }
        }
    }

    /// The plan for what keeps a check from being made, which is mended before all else.
    package init(before findings: [Finding]) { self.init(findings, Means()) }

    init(_ findings: [Finding], _ means: Means) {
        fetches = means.fetches
        let fetched = Set(fetches.map(\.address))
        // An index that is made again would accept an edited manifest as the truth.
        let keepsIndex = findings.contains { $0.kind == .editedManifest }
        // What is lost for good. A version that will lack objects gets no tree.
        var losing: [String: Set<ObjectID>] = [:]
        for finding in findings where VersionStore.lostKinds.contains(finding.kind) {
            guard let version = finding.version, let object = finding.object,
                means.copies[object] == nil, !fetched.contains(object)
            else { continue }
            losing[version, default: []].insert(object)
        }
        var seen: Set<RepairStep> = []
        func add(_ step: RepairStep) {
            if seen.insert(step).inserted { steps.append(step) }
        }
        // Opening the store has already mended these: they need no step.
        for finding in findings where !finding.isRepaired {
            let isAsked =
                finding.kind == .incompleteVersion
                && means.waiting.contains { $0 == finding.version }
            if isAsked { continue }
            if let instead = means.steps(insteadOf: finding, losing: losing.keys) {
                instead.forEach(add)
                continue
            }
            // Nothing shows what a publisher sent: its versions have steps of their own.
            let isOnlyReceived =
                finding.kind == .missingObject && finding.version == nil
                && means.dropping.values.contains { $0 == finding.object }
            if isOnlyReceived { continue }
            let isFetched = finding.object.map(fetched.contains) ?? false
            add(RepairStep(finding, means, isFetched: isFetched, keepsIndex: keepsIndex))
        }
        for (version, object) in means.dropping.sorted(by: { $0.key < $1.key }) {
            add(RepairStep(deed: .dropReceived, object: object, version: version))
        }
        let named = Set(findings.compactMap(\.object))
        for (address, path) in means.copies.sorted(by: { $0.key < $1.key })
        where !named.contains(address) {
            add(RepairStep(deed: .restoreObject, object: address, path: path))
        }
        // Tree by tree: what happens to those that show something that is lost for good.
        for (version, objects) in losing.sorted(by: { $0.key < $1.key })
        where means.trees.contains(version) {
            add(
                RepairStep(
                    deed: version == means.current ? .keepTree : .removeIncompleteTree,
                    version: version, path: StoreLayout.treePath(version),
                    lostCount: objects.count))
        }
        for version in means.partial.sorted() {
            add(RepairStep(deed: .removeTree, path: StoreLayout.treePath(version)))
        }
        for version in means.waiting { add(RepairStep(deed: .fetchMissing, version: version)) }
    }
}

/// One thing that a repair would do.
package struct RepairStep: Sendable, Hashable {
    /// What would be done.
    ///
    /// The raw value is the `action` of JSON output, and stays as it is.
    package enum Deed: String, Sendable, Hashable, CaseIterable {
        /// Fetch the object from the origin, and replace what is in its place.
        case fetchObject
        /// Fetch from the origin what a version lacks, and build its tree.
        case fetchMissing
        /// Make the object again from a copy of its bytes elsewhere in the store; what is in its place goes to
        /// quarantine.
        case restoreObject
        /// Put the object into quarantine; the versions that show it are incomplete from then on.
        case quarantineObject
        /// Note that the object is gone; the versions that show it are incomplete from then on.
        case recordLoss
        /// Let a version go on without the manifest that its publisher sent, which is lost; it lacks nothing else.
        case dropReceived
        /// Note a sound object in the index.
        case recordObject
        /// Restore the mode of a file or a directory.
        case setMode
        /// Delete the executable copy and make it again with the trees that need it.
        case remakeExecutableCopy = "remakeTwin"
        /// Make the index again from objects and manifests.
        case rebuildIndex
        /// Make a version's manifest again from its tree.
        case recoverManifest
        /// Fetch the manifest from the origin, with what it names that is not here; continue without what the
        /// origin does not have.
        case fetchManifest
        /// Build a version's tree again, and exchange it with the existing one.
        case rebuildTree
        /// Leave the current version, which has lost something, a tree with what is right in it.
        case keepTree
        /// Remove the tree of a version that has lost something; keep what is right in it as objects.
        case removeIncompleteTree
        /// Build the tree of a version that needs one.
        case buildTree
        /// Remove a tree that belongs to no version.
        case removeTree
        /// Delete what a dead writer left behind.
        case removeLeftover
        /// Put a small file that cannot be read, or what stands in place of something of castree's, into quarantine.
        case setAsideNote
        /// Give something back to the store's owner, or make it anew.
        case giveBack
        /// Put the damaged lifecycle into quarantine and begin with what `current` shows.
        case resetLifecycle
        /// Accept what the edited lifecycle says.
        case acceptLifecycle
        /// Remove an unregistered version from the lifecycle.
        case forgetVersion
        /// Let `current` follow the lifecycle.
        case setCurrentLink
        /// Put what is in place of a directory of objects into quarantine.
        case clearShard
        /// Nothing: a person is needed, or the content.
        case nothing
    }

    /// What would be done.
    package var deed: Deed
    /// The object concerned.
    package var object: ObjectID?
    /// The version concerned.
    package var version: String?
    /// The path concerned, inside the store.
    package var path: String?
    /// How many objects are lost, if that is the reason.
    package var lostCount: Int?
}

extension RepairStep {
    init(
        _ finding: Finding, _ means: RepairPlan.Means, isFetched: Bool, keepsIndex: Bool
    ) {
        let copy = finding.object.flatMap { means.copies[$0] }
        deed = Self.deed(
            finding, isFetched: isFetched, isCopied: copy != nil,
            hasTree: finding.version.map(means.trees.contains) ?? false,
            isAsked: finding.version.map(means.manifests.contains) ?? false,
            keepsIndex: keepsIndex)
        switch deed {
        case .fetchObject, .quarantineObject, .recordLoss, .recordObject, .remakeExecutableCopy:
            object = finding.object
        case .setMode:
            object = finding.object
            if object == nil { path = finding.path }
        case .restoreObject:
            object = finding.object
            path = copy
        case .rebuildIndex: path = StoreLayout.index
        case .rebuildTree, .buildTree, .fetchMissing, .forgetVersion, .recoverManifest,
            .fetchManifest:
            version = finding.version
            // A tree under another name gets its version's name.
            if deed == .recoverManifest, let version, finding.kind == .missingManifest,
                finding.path != StoreLayout.treePath(version)
            {
                path = finding.path
            }
        case .nothing:
            object = finding.object
            version = finding.version
            path = finding.path
        default: path = finding.path
        }
    }

    private static func deed(
        _ finding: Finding, isFetched: Bool, isCopied: Bool, hasTree: Bool, isAsked: Bool,
        keepsIndex: Bool
    ) -> Deed {
        if VersionStore.lostKinds.contains(finding.kind) {
            if isFetched { return .fetchObject }
            if isCopied { return .restoreObject }
        }
        if isAsked, LostManifest.kinds.contains(finding.kind) { return .fetchManifest }
        return switch finding.kind {
        case .damagedObject, .notAFile: .quarantineObject
        case .missingObject: .recordLoss
        case .damagedExecutableCopy: .remakeExecutableCopy
        case .wrongMode: .setMode
        case .unindexedObject, .wrongFingerprint: .recordObject
        case .wrongCount, .damagedIndex: keepsIndex ? .nothing : .rebuildIndex
        case .missingManifest, .damagedManifest: hasTree ? .recoverManifest : .nothing
        case .missingInTree, .wrongInTree, .strayInTree, .wrongModeInTree, .copiedInTree:
            .rebuildTree
        case .strayTree: .removeTree
        case .missingTree: .buildTree
        case .damagedLifecycle: .resetLifecycle
        case .editedLifecycle: .acceptLifecycle
        case .unknownVersion: .forgetVersion
        case .wrongCurrentLink: .setCurrentLink
        case .damagedNote: .setAsideNote
        case .wrongOwner: .giveBack
        case .leftover: .removeLeftover
        case .strayFile:
            if !finding.isAmongObjects {
                .setAsideNote
            } else {
                finding.path.flatMap(StoreLayout.shard(atPath:)) == nil ? .nothing : .clearShard
            }
        case .editedManifest, .recoveredManifest, .falseManifest, .incompleteVersion,
            .damagedTrust:
            .nothing
        }
    }

    /// A sentence for people, without a full stop.
    package var sentence: String {
        let name = object.map(\.description) ?? ""
        let place = printable(path ?? version ?? "")
        let lost = lostCount == 1 ? "1 object of it is" : "\(lostCount ?? 0) objects of it are"
        return switch deed {
        case .fetchObject: "fetch object \(name) and put it in place of what is there"
        case .fetchMissing: "fetch what version \(place) lacks, and build its tree"
        case .quarantineObject:
            "put object \(name) into quarantine; versions that show it will be incomplete"
        case .recordLoss:
            "note that object \(name) is gone; versions that show it will be incomplete"
        case .restoreObject: "make object \(name) again from \(place)"
        case .recoverManifest where path != nil:
            "make \(place) the tree of version \(version ?? ""), and make its manifest again from it"
        case .recoverManifest: "make the manifest of version \(place) again from its tree"
        case .fetchManifest:
            "fetch the manifest of version \(place) and what it names; if the origin has none, make it again from "
                + "the tree"
        case .keepTree:
            "keep the tree of version \(printable(version ?? "")), which is current, with what is right in it: "
                + "\(lost) lost"
        case .removeIncompleteTree:
            "remove the tree of version \(printable(version ?? "")): \(lost) lost; what is right in it is "
                + "kept as objects"
        case .dropReceived:
            "let version \(printable(version ?? "")) go on without object \(name), the manifest that its publisher sent: "
                + "it is lost, and the version needs nothing of it"
        case .recordObject: "note object \(name) in the index"
        case .setMode: "restore the mode of \(object == nil ? place : "object \(name)")"
        case .remakeExecutableCopy: "make the executable copy of object \(name) again"
        case .rebuildIndex: "make the index again from objects and manifests"
        case .rebuildTree: "build the tree of version \(place) again"
        case .buildTree: "build the tree of version \(place)"
        case .removeTree: "remove \(place): everything that it shows is an object"
        case .removeLeftover: "clean up what was left at \(place)"
        case .setAsideNote: "put \(place) into quarantine"
        case .giveBack:
            "give \(place) back to the store's owner; for the owner, who cannot: make it anew if it is derived or can be read"
        case .resetLifecycle: "put \(place) into quarantine and begin with what current shows"
        case .acceptLifecycle: "accept what \(place) says"
        case .forgetVersion:
            "remove version \(place) from the lifecycle; if it is current, show what was good before it"
        case .clearShard: "put what stands in place of the directory \(place) into quarantine"
        case .setCurrentLink: "let the link \(place) follow the lifecycle"
        case .nothing: "leave \(object == nil ? place : "object \(name)") alone: a person is needed"
        }
    }
}
