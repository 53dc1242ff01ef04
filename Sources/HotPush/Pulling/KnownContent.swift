import CASStore
import StrictJSON
import VersionTree

/// What the versions of a store say about content that a release names only by label.
///
/// Built once for a pull, from the manifests: labels that earlier pulls have proved, and sizes, by
/// which content that was added without labels is found and then proved.
struct KnownContent {
    /// Content that some version claims to have; it may be missing.
    private struct Candidate: Hashable {
        var address: ObjectID
        var byteCount: Int64
    }

    /// A place that never has other content.
    fileprivate struct Place: Hashable {
        var path: TreePath
        var routes: [String]
    }

    private let store: Store
    private var digests: StoredDigests
    private var labelled: [Label: [Candidate]] = [:]
    /// Correct content that was fetched under a name that only its publisher can compute.
    private var named: [String: [Candidate]] = [:]
    private var placed: [Place: [Candidate]] = [:]
    private var bySize: [Int64: [ObjectID]] = [:]
    /// What the release's own origin gave, and may still have.
    private(set) var tagged: TaggedContents?
    /// Objects of one size are compared with a label only if there are at most this many: reading
    /// more would cost more than fetching one.
    private static let candidatesMax = 64

    init(
        _ versions: VersionStore, for files: [ReleaseFile], _ digests: StoredDigests,
        tagged: TaggedContents? = nil
    ) throws(StoreError) {
        store = versions.store
        self.digests = digests
        self.tagged = tagged
        let sizes = Set(files.compactMap { $0.address == nil ? $0.byteCount : nil })
        for file in files where file.hasImmutableSource { placed[Place(of: file)] = [] }
        var found: [Int64: Set<ObjectID>] = [:]
        for name in try versions.store.manifestNames() {
            guard let manifest = try versions.readableManifest(of: name) else { continue }
            self.tagged?.note(manifest)
            let isMeteor = manifest.isOfMeteor
            for entry in manifest.entries {
                let candidate = Candidate(address: entry.address, byteCount: entry.byteCount)
                for label in entry.labels { Self.note(candidate, &labelled[label, default: []]) }
                if isMeteor, let name = MeteorLabel.kept(in: entry) {
                    Self.note(candidate, &named[name, default: []])
                }
                if !placed.isEmpty {
                    let place = Place(path: entry.path, routes: entry.routes)
                    if placed[place] != nil { Self.note(candidate, &placed[place, default: []]) }
                }
                if sizes.contains(entry.byteCount) {
                    found[entry.byteCount, default: []].insert(entry.address)
                }
            }
        }
        for (size, addresses) in found { bySize[size] = addresses.sorted() }
    }

    /// Versions that wait for their content name it by other addresses than versions that have it:
    /// both are kept.
    private static func note(_ candidate: Candidate, _ candidates: inout [Candidate]) {
        if !candidates.contains(candidate) { candidates.append(candidate) }
    }

    /// The address of content that is known to be a file's, if the store has it.
    ///
    /// Manifests only say where to look: their labels come from publishers, of any origin. The bytes
    /// are read, unless nothing is known of them except a name that nobody can compute.
    /// - Throws: `.interrupted`.
    mutating func address(of file: ReleaseFile) throws(StoreError) -> ObjectID? {
        for label in file.labels {
            if let address = try present(labelled[label], file, isVouched: false) { return address }
            guard label.algorithm == .sha256, let address = ObjectID(bytes: label.bytes),
                try store.contains(address)
            else { continue }
            if try isContent(address, of: file, isVouched: false) { return address }
        }
        for case .meteorLabel(let name) in file.checks {
            if let address = try present(named[name], file, isVouched: true) { return address }
        }
        if file.hasImmutableSource,
            let address = try present(placed[Place(of: file)], file, isVouched: true)
        {
            return address
        }
        guard let byteCount = file.byteCount, let candidates = bySize[byteCount],
            candidates.count <= Self.candidatesMax
        else { return nil }
        for candidate in candidates
        where try isContent(candidate, of: file, isVouched: false) { return candidate }
        return nil
    }

    /// The first candidate that is there, has the size that the release says, and is the content.
    private mutating func present(
        _ candidates: [Candidate]?, _ file: ReleaseFile, isVouched: Bool
    ) throws(StoreError) -> ObjectID? {
        for candidate in candidates ?? [] {
            if let byteCount = file.byteCount, byteCount != candidate.byteCount { continue }
            guard try store.contains(candidate.address) else { continue }
            if try isContent(candidate.address, of: file, isVouched: isVouched) {
                return candidate.address
            }
        }
        return nil
    }

    /// Whether an object is a file's content.
    ///
    /// - Parameter isVouched: its name is reason enough, unless its digests contradict it.
    private mutating func isContent(
        _ candidate: ObjectID, of file: ReleaseFile, isVouched: Bool
    ) throws(StoreError) -> Bool {
        let isEnough = isVouched && !file.needsProof
        if isEnough, file.labels.isEmpty { return true }
        // There is nothing to read: its address proves it, or nothing would.
        if !file.checks.isEmpty, file.checks.allSatisfy({ $0.isAddress(candidate) }) { return true }
        guard isEnough || file.isProvable else { return false }
        let own = try digests.of(candidate)
        var isProved = false
        for check in file.checks {
            switch check {
            case .entityTag, .unknownDigest: continue
            case .digest(let label):
                guard own.contains(label) else { return false }
                if label.algorithm.identifiesContent { isProved = true }
            case .meteorLabel(let text):
                guard let label = MeteorLabel(text) else { continue }
                if case .proved = try label.proof(own) { isProved = true }
            }
        }
        return isProved || isEnough
    }
}

extension ContentCheck {
    /// Whether it says no more than an address.
    fileprivate func isAddress(_ address: ObjectID) -> Bool {
        guard case .digest(let label) = self else { return false }
        return label.algorithm == .sha256 && label.bytes == address.bytes
    }
}

extension Manifest {
    /// Whether the labels that its entries keep are Meteor's.
    ///
    /// It was pulled from a Meteor server, or made here from what the app was shipped with. The labels
    /// of other publishers may mean anything.
    fileprivate var isOfMeteor: Bool { received?.format.hasPrefix("meteor/") ?? true }
}

extension MeteorLabel {
    /// The label under which a version's file was fetched from a Meteor server.
    fileprivate static func kept(in entry: Manifest.Entry) -> String? {
        guard let text = entry.foreign.first(where: { $0.key == "hash" })?.value.asString else {
            return nil
        }
        return MeteorLabel(text)?.description
    }
}

extension KnownContent.Place {
    fileprivate init(of file: ReleaseFile) {
        self.init(path: file.path, routes: file.routes)
    }
}
