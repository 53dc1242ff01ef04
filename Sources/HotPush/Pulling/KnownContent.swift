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
    /// What the release's own origin gave, by path, each content with the strong entity tag under which its server sent it.
    ///
    /// Where neither address nor label vouches for content, it is asked for on condition that it has changed: what has
    /// not costs an answer without a body (RFC 9110, section 13.1.2). The tag is kept with the version, in the member
    /// `entityTag` of the file's entry in its manifest.
    private var tagged: [TreePath: [ArrivedContent]] = [:]
    /// As many versions of a file are asked about at once: going back to an older one is as cheap.
    private static let taggedMax = 4
    /// The name of the member of a manifest that says where its files came from: ``digest(of:)``.
    static let originKey = "fetchedFrom"
    /// Objects of one size are compared with a label only if there are at most this many: reading
    /// more would cost more than fetching one.
    private static let candidatesMax = 64

    /// - Parameter family: the format of the release: what another one has fetched from the same place means nothing here.
    init(
        _ versions: VersionStore, for files: [ReleaseFile], _ digests: StoredDigests,
        from location: OriginLocation, family: String
    ) throws(StoreError) {
        store = versions.store
        self.digests = digests
        let origin = try Self.digest(of: location)
        for file in files where file.isKnownByTag { tagged[file.path] = [] }
        let sizes = Set(files.compactMap { $0.address == nil ? $0.byteCount : nil })
        for file in files where file.hasImmutableSource { placed[Place(of: file)] = [] }
        var found: [Int64: Set<ObjectID>] = [:]
        for name in try versions.store.manifestNames() {
            guard let manifest = try versions.readableManifest(of: name) else { continue }
            let isTagged =
                !tagged.isEmpty && manifest.received?.format == family
                && manifest.foreign.first { $0.key == Self.originKey }?.value.asString == origin
            // It was pulled from a Meteor server, or made here from what the app was shipped with. The labels of other
            // publishers may mean anything.
            let isMeteor = manifest.received?.format.hasPrefix("meteor/") ?? true
            for entry in manifest.entries {
                if isTagged, tagged[entry.path]?.contains(ArrivedContent(of: entry)) == false {
                    tagged[entry.path]?.append(ArrivedContent(of: entry))
                }
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

    /// What a file may still be, as far as its server can tell: content that is here, each with a tag of its own.
    func tagged(_ file: ReleaseFile) throws(StoreError) -> [ArrivedContent] {
        guard file.isKnownByTag, let found = tagged[file.path] else { return [] }
        var result: [ArrivedContent] = []
        for one in found where one.entityTag != nil {
            // A server that gave two contents one tag cannot tell them apart.
            guard result.count < Self.taggedMax,
                found.count(where: { $0.entityTag == one.entityTag }) == 1,
                file.byteCount ?? one.byteCount == one.byteCount
            else { continue }
            if try store.contains(one.address) { result.append(one) }
        }
        return result
    }

    /// Names an origin without its URL, in which there may be secrets.
    static func digest(of location: OriginLocation) throws(StoreError) -> String {
        try ObjectID(of: Array(location.description.utf8)).description
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
    fileprivate func isAddress(_ address: ObjectID) -> Bool {
        guard case .digest(let label) = self else { return false }
        return label.algorithm == .sha256 && label.bytes == address.bytes
    }
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

/// The digests of content that the store has, each computed once, for comparing labels.
struct StoredDigests {
    private let store: Store
    /// The algorithms by which the release names content.
    private let algorithms: [DigestAlgorithm]
    private let isInterrupted: () -> Bool
    private var known: [ObjectID: [Label]] = [:]

    /// - Parameter isInterrupted: called while content is read, which may take long.
    init(_ store: Store, for files: [ReleaseFile], isInterrupted: @escaping () -> Bool) {
        self.store = store
        self.isInterrupted = isInterrupted
        var wanted: Set<DigestAlgorithm> = []
        for file in files where !file.checks.isEmpty {
            wanted.formUnion(file.labels.map(\.algorithm))
            wanted.formUnion(file.wantedDigests)
        }
        algorithms = DigestAlgorithm.allCases.filter { wanted.contains($0) }
    }

    /// The digests of an object; none if it is gone, damaged or unreadable: then it is fetched.
    /// - Throws: `.interrupted`.
    mutating func of(_ address: ObjectID) throws(StoreError) -> [Label] {
        if let known = known[address] { return known }
        let found =
            try allowing(.damagedObject, .io, .permission) { () throws(StoreError) in
                try compute(address)
            } ?? []
        known[address] = found
        return found
    }

    private func compute(_ address: ObjectID) throws(StoreError) -> [Label] {
        guard let reader = try store.open(address) else { return [] }
        let digester = try ContentDigests(algorithms)
        try reader.forEachPiece { (piece) throws(StoreError) in
            if isInterrupted() { throw .interruptedPull }
            piece.withUnsafeBytes { digester.update($0) }
        }
        return digester.finish(address: address)
    }

    /// Refuses labels that the content of an address does not have.
    ///
    /// Fetched content is compared with them as it comes; this is for content that is already here.
    /// Otherwise the version's manifest would hold wrong labels, and lookups by them would find
    /// other content.
    /// - Throws: `.badRelease`; `.interrupted`.
    mutating func refuseContradicted(_ release: Release) throws(StoreError) {
        for file in release.files {
            guard let address = file.address, file.hasLabelsBesidesAddress else { continue }
            let digests = try of(address)
            if let label = file.labels.firstContradicted(by: digests) {
                throw StoreError(
                    .badRelease,
                    "release \(printable(release.publisherVersion)) is refused: the content of "
                        + "\(quoted(file.path.description)) at its address is here, and has another "
                        + "\(label.algorithm.rawValue) than the release says")
            }
        }
    }
}

extension ReleaseFile {
    /// Whether nothing but its server knows its content, at a URL that its path alone gives.
    var isKnownByTag: Bool {
        address == nil && checks.isEmpty && !needsInspection
            && sources == [ContentSource(PercentEncoding.name(path.description))]
    }
}
