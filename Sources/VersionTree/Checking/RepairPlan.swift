public import CASStore

/// What a repair would do, before it does anything: a value that people and programs can read.
public struct RepairPlan: Sendable {
    /// What would be done, in the order of the findings; each deed once.
    public var steps: [RepairStep] = []
    /// Objects to fetch again: damaged, missing, or taken away by an earlier repair.
    public var fetches: [LostObject] = []

    /// Whether there is nothing to do.
    public var isEmpty: Bool { steps.allSatisfy { $0.deed == .nothing } && fetches.isEmpty }

    /// - Parameters:
    ///   - fetches: the objects that an origin is asked for.
    ///   - waiting: the versions that lack some of them.
    init(
        _ findings: [Finding], fetching fetches: [LostObject] = [], for waiting: [String] = []
    ) {
        self.fetches = fetches
        let fetched = Set(fetches.map(\.address))
        // An index that is made again would take an edited manifest for the truth.
        let keepsIndex = findings.contains { $0.kind == .editedManifest }
        var seen: Set<RepairStep> = []
        for finding in findings {
            let step = RepairStep(
                finding, isFetched: finding.object.map(fetched.contains) ?? false,
                keepsIndex: keepsIndex)
            let isAsked =
                finding.kind == .incompleteVersion && waiting.contains { $0 == finding.version }
            if !isAsked, seen.insert(step).inserted { steps.append(step) }
        }
        steps += waiting.map { RepairStep(completing: $0) }
    }
}

/// An object that is to be had again.
public struct LostObject: Sendable, Hashable {
    /// Its address.
    public var address: ObjectID
    /// Its size, as the manifests say.
    public var byteCount: Int64

    /// Makes one.
    public init(address: ObjectID, byteCount: Int64) {
        self.address = address
        self.byteCount = byteCount
    }
}

/// One thing that a repair would do.
public struct RepairStep: Sendable, Hashable {
    /// What would be done.
    ///
    /// The raw value is the `action` of JSON output, and stays as it is.
    public enum Deed: String, Sendable, Hashable, CaseIterable {
        /// Fetch the object from the origin, and put it in place of what is there.
        case fetchObject
        /// Fetch from the origin what a version lacks, and build its tree.
        case fetchMissing
        /// Take the object away into quarantine, unless a sound twin gives it back; the versions that
        /// show it are incomplete from then on.
        case quarantineObject
        /// Note that the object is gone; the versions that show it are incomplete from then on.
        case recordLoss
        /// Note a sound object in the index.
        case recordObject
        /// Give a file its mode again.
        case setMode
        /// Delete the executable twin and make it again with the trees that need it.
        case remakeTwin
        /// Make the index again from objects and manifests.
        case rebuildIndex
        /// Take a version's tree down and build it again.
        case rebuildTree
        /// Build the tree of a version that needs one.
        case buildTree
        /// Take away a tree that is no version's.
        case removeTree
        /// Delete what a writer that died has left.
        case removeLeftover
        /// Put the damaged lifecycle into quarantine and begin with what `current` shows.
        case resetLifecycle
        /// Take what the edited lifecycle says for right.
        case acceptLifecycle
        /// Take a version that is not registered out of the lifecycle.
        case forgetVersion
        /// Let `current` follow the lifecycle.
        case setCurrentLink
        /// Nothing: a person is needed, or the content.
        case nothing
    }

    /// What would be done.
    public var deed: Deed
    /// The object concerned.
    public var object: ObjectID?
    /// The version concerned.
    public var version: String?
    /// The path concerned, inside the store.
    public var path: String?

    init(completing version: String) {
        deed = .fetchMissing
        self.version = version
    }

    init(_ finding: Finding, isFetched: Bool, keepsIndex: Bool) {
        deed = finding.isRepaired ? .nothing : Self.deed(finding, isFetched: isFetched)
        if deed == .rebuildIndex, keepsIndex { deed = .nothing }
        switch deed {
        case .fetchObject, .quarantineObject, .recordLoss, .recordObject, .remakeTwin, .setMode:
            object = finding.object
        case .rebuildIndex: path = StoreLayout.index
        case .rebuildTree, .buildTree, .fetchMissing, .forgetVersion: version = finding.version
        case .nothing:
            object = finding.object
            version = finding.version
            path = finding.path
        default: path = finding.path
        }
    }

    private static func deed(_ finding: Finding, isFetched: Bool) -> Deed {
        switch finding.kind {
        case .damagedObject, .notAFile: isFetched ? .fetchObject : .quarantineObject
        case .missingObject: isFetched ? .fetchObject : .recordLoss
        case .damagedTwin: .remakeTwin
        case .wrongMode: .setMode
        case .unindexedObject, .wrongFingerprint: .recordObject
        case .wrongCount, .damagedIndex: .rebuildIndex
        case .missingInTree, .wrongInTree, .strayInTree, .wrongModeInTree: .rebuildTree
        case .strayTree: .removeTree
        case .missingTree: .buildTree
        case .damagedLifecycle: .resetLifecycle
        case .editedLifecycle: .acceptLifecycle
        case .unknownVersion: .forgetVersion
        case .wrongCurrentLink: .setCurrentLink
        case .leftover: .removeLeftover
        case .strayFile, .damagedManifest, .editedManifest, .incompleteVersion: .nothing
        }
    }

    /// A sentence for people, without a full stop.
    public var sentence: String {
        let name = object.map(\.description) ?? ""
        let place = printable(path ?? version ?? "")
        return switch deed {
        case .fetchObject: "fetch object \(name) and put it in place of what is there"
        case .fetchMissing: "fetch what version \(place) lacks, and build its tree"
        case .quarantineObject:
            "take object \(name) away into quarantine; versions that show it will be incomplete"
        case .recordLoss:
            "note that object \(name) is gone; versions that show it will be incomplete"
        case .recordObject: "note object \(name) in the index"
        case .setMode: "give object \(name) its mode again"
        case .remakeTwin: "make the executable twin of object \(name) again"
        case .rebuildIndex: "make the index again from objects and manifests"
        case .rebuildTree: "build the tree of version \(place) again"
        case .buildTree: "build the tree of version \(place)"
        case .removeTree: "take \(place) away, which is no version's tree"
        case .removeLeftover: "clean up what was left at \(place)"
        case .resetLifecycle: "put \(place) into quarantine and begin with what current shows"
        case .acceptLifecycle: "take what \(place) says for right"
        case .forgetVersion: "take version \(place) out of the lifecycle"
        case .setCurrentLink: "let the link \(place) follow the lifecycle"
        case .nothing: "leave \(object == nil ? place : "object \(name)") alone: a person is needed"
        }
    }
}
