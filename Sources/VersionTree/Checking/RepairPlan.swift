package import CASStore

/// What a repair would do, before it does anything: a value that people and programs can read.
package struct RepairPlan: Sendable {
    /// What would be done, in the order of the findings; each operation once.
    package var steps: [RepairStep] = []
    /// Objects to fetch again: damaged, missing, or removed by an earlier repair.
    package var fetches: [Reference] = []

    /// Whether there is nothing to do.
    package var isEmpty: Bool { steps.allSatisfy { $0.operation == .nothing } && fetches.isEmpty }

    /// The plan for what keeps a check from being made, which is mended before all else.
    package init(before findings: [Finding]) { self.init(findings, RepairMeans()) }

    init(_ findings: [Finding], _ means: RepairMeans) {
        fetches = means.fetches
        var seen: Set<RepairStep> = []
        func add(_ step: RepairStep) {
            if seen.insert(step).inserted { steps.append(step) }
        }
        // An index that is made again would accept an edited manifest as the truth.
        let keepsIndex = findings.contains { $0.kind == .editedManifest }
        let losing = means.losing(findings)
        // Opening the store has already mended these: they need no step.
        for finding in findings where !finding.isRepaired {
            if let instead = means.steps(insteadOf: finding, losing: losing.keys) {
                instead.forEach(add)
            } else {
                add(means.step(for: finding, keepsIndex: keepsIndex))
            }
        }
        for (version, object) in means.dropping.sorted(by: { $0.key < $1.key }) {
            add(RepairStep(.dropReceived, object: object, version: version))
        }
        let named = Set(findings.compactMap(\.object))
        for (address, path) in means.copies.sorted(by: { $0.key < $1.key })
        where !named.contains(address) {
            add(RepairStep(.restoreObject, object: address, path: path))
        }
        // Tree by tree: what happens to those that show something that is lost for good.
        for (version, objects) in losing.sorted(by: { $0.key < $1.key })
        where means.trees.contains(version) {
            add(
                RepairStep(
                    version == means.current ? .keepTree : .removeIncompleteTree,
                    version: version, path: StoreLayout.treePath(version),
                    lostCount: objects.count))
        }
        for version in means.partial.sorted() {
            add(RepairStep(.removeTree, path: StoreLayout.treePath(version)))
        }
        for version in means.waiting { add(RepairStep(.fetchMissing, version: version)) }
    }
}

/// What a repair can build on, besides the findings.
struct RepairMeans: Sendable {
    /// The objects to ask an origin for.
    var fetches: [Reference] = [] { didSet { fetched = Set(fetches.map(\.address)) } }
    private(set) var fetched: Set<ObjectID> = []
    /// The versions whose manifests to ask an origin for.
    var manifests: [LostManifest] = []
    /// What each version is missing that nobody fetches now.
    var lacked: [String: Set<ObjectID>] = [:]
    /// The versions that are missing something that an origin is asked for.
    var waiting: [String] = []
    /// Other places of the bytes of lost objects, by address.
    var copies: [ObjectID: String] = [:]
    /// The versions that have a tree.
    var trees: Set<String> = []
    /// The version whose tree stays, whatever it has lost.
    var current: String?
    /// The incomplete versions that will then have everything they are missing.
    var completing: Set<String> = []
    /// The versions that will continue without what their publisher sent, which is lost.
    var dropping: [String: ObjectID] = [:]
    /// The versions whose manifest, made again, may be missing something, and whose tree is then removed.
    var partial: Set<String> = []

    /// What will be there again.
    var back: Set<ObjectID> { fetched.union(copies.keys) }

    /// What each version has lost for good; one that will be missing objects gets no tree.
    func losing(_ findings: [Finding]) -> [String: Set<ObjectID>] {
        let back = back
        var losing: [String: Set<ObjectID>] = [:]
        for finding in findings where VersionStore.lostKinds.contains(finding.kind) {
            guard let version = finding.version, let object = finding.object,
                !back.contains(object)
            else { continue }
            losing[version, default: []].insert(object)
        }
        return losing
    }

    /// What to do about a finding if its version will have other content by then, or another step mends it; `nil` for the
    /// usual step.
    ///
    /// - Parameter losing: the versions that are missing objects from then on.
    func steps(insteadOf finding: Finding, losing: some Collection<String>) -> [RepairStep]? {
        guard let version = finding.version else {
            // Nothing shows what a publisher sent: its versions have steps of their own.
            let isOnlyReceived =
                finding.kind == .missingObject
                && dropping.values.contains { $0 == finding.object }
            return isOnlyReceived ? [] : nil
        }
        let isCompleting = completing.contains(version) || dropping[version] != nil
        switch finding.kind {
        case .incompleteVersion where waiting.contains(version): return []
        // Compared with what it is missing now; its tree is right when that is back.
        case .strayTree where isCompleting: return []
        case .strayInTree where isCompleting: return []
        case .incompleteVersion where isCompleting:
            return trees.contains(version) ? [] : [RepairStep(.buildTree, version: version)]
        case .missingTree where losing.contains(version):
            return [RepairStep(.nothing, version: version)]
        // Such a tree is removed unless it is current: that is a step of its own.
        case .missingInTree, .wrongInTree, .strayInTree, .wrongModeInTree, .copiedInTree:
            return losing.contains(version) && version != current ? [] : nil
        default: return nil
        }
    }

    func step(for finding: Finding, keepsIndex: Bool) -> RepairStep {
        let (object, version, path) = (finding.object, finding.version, finding.path)
        if VersionStore.lostKinds.contains(finding.kind), let object {
            if fetched.contains(object) { return RepairStep(.fetchObject, object: object) }
            if let copy = copies[object] {
                return RepairStep(.restoreObject, object: object, path: copy)
            }
        }
        if LostManifest.kinds.contains(finding.kind),
            manifests.contains(where: { $0.version == version })
        {
            return RepairStep(.fetchManifest, version: version)
        }
        let nothing = RepairStep(.nothing, object: object, version: version, path: path)
        return switch finding.kind {
        case .damagedObject, .notAFile: RepairStep(.quarantineObject, object: object)
        case .missingObject: RepairStep(.recordLoss, object: object)
        case .damagedExecutableCopy: RepairStep(.remakeExecutableCopy, object: object)
        case .wrongMode: RepairStep(.setMode, object: object, path: object == nil ? path : nil)
        case .unindexedObject, .wrongFingerprint: RepairStep(.recordObject, object: object)
        case .wrongCount, .damagedIndex:
            keepsIndex ? nothing : RepairStep(.rebuildIndex, path: StoreLayout.index)
        case .missingManifest, .damagedManifest:
            recoveryStep(for: finding) ?? nothing
        case .missingInTree, .wrongInTree, .strayInTree, .wrongModeInTree, .copiedInTree:
            RepairStep(.rebuildTree, version: version)
        case .strayTree: RepairStep(.removeTree, path: path)
        case .missingTree: RepairStep(.buildTree, version: version)
        case .damagedLifecycle: RepairStep(.resetLifecycle, path: path)
        case .editedLifecycle: RepairStep(.acceptLifecycle, path: path)
        case .unknownVersion: RepairStep(.forgetVersion, version: version)
        case .wrongCurrentLink: RepairStep(.setCurrentLink, path: path)
        case .damagedNote: RepairStep(.setAsideNote, path: path)
        case .wrongOwner: RepairStep(.giveBack, path: path)
        case .leftover: RepairStep(.removeLeftover, path: path)
        case .strayFile where !finding.isAmongObjects: RepairStep(.setAsideNote, path: path)
        case .strayFile where path.flatMap(StoreLayout.shard(atPath:)) != nil:
            RepairStep(.clearShard, path: path)
        case .strayFile, .editedManifest, .recoveredManifest, .falseManifest, .incompleteVersion,
            .damagedTrust:
            nothing
        }
    }

    private func recoveryStep(for finding: Finding) -> RepairStep? {
        guard let version = finding.version, trees.contains(version) else { return nil }
        // A tree under another name gets its version's name.
        let isElsewhere =
            finding.kind == .missingManifest && finding.path != StoreLayout.treePath(version)
        return RepairStep(
            .recoverManifest, version: version, path: isElsewhere ? finding.path : nil)
    }
}

/// One thing that a repair would do.
package struct RepairStep: Sendable, Hashable {
    /// What would be done; ``RepairStep/sentence`` says it.
    ///
    /// The raw value is the `action` of JSON output, and stays as it is.
    package enum Operation: String, Sendable, Hashable {
        case fetchObject, fetchMissing, restoreObject, quarantineObject, recordLoss, dropReceived
        case recordObject, setMode
        case remakeExecutableCopy = "remakeTwin"
        case rebuildIndex, recoverManifest, fetchManifest
        case rebuildTree, keepTree, removeIncompleteTree, buildTree, removeTree, removeLeftover
        case setAsideNote, giveBack, resetLifecycle, acceptLifecycle, forgetVersion
        case setCurrentLink, clearShard
        /// A person is needed, or the content.
        case nothing
    }

    /// What would be done.
    package let operation: Operation
    /// The object concerned.
    package let object: ObjectID?
    /// The version concerned.
    package let version: String?
    /// The path concerned, inside the store.
    package let path: String?
    /// How many objects are lost, if that is the reason.
    private let lostCount: Int?

    fileprivate init(
        _ operation: Operation, object: ObjectID? = nil, version: String? = nil,
        path: String? = nil,
        lostCount: Int? = nil
    ) {
        self.operation = operation
        self.object = object
        self.version = version
        self.path = path
        self.lostCount = lostCount
    }

    /// A sentence for people, without a full stop.
    package var sentence: String {
        let name = object.map(\.description) ?? ""
        let place = printable(path ?? version ?? "")
        let lost = lostCount == 1 ? "1 object of it is" : "\(lostCount ?? 0) objects of it are"
        return switch operation {
        case .fetchObject: "fetch object \(name) and put it in place of what is there"
        case .fetchMissing: "fetch what version \(place) is missing, and build its tree"
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
            "let version \(printable(version ?? "")) continue without object \(name), the manifest that its publisher sent: "
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
