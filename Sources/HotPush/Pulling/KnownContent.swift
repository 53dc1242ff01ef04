import CASStore
import StrictJSON
import VersionTree

/// What the store's versions know of content that a release names only by label: proved labels of earlier pulls, and
/// sizes that lead to unlabelled content, which is then proved.
///
/// Built once per pull.
struct KnownContent {
    private struct Candidate: Hashable {
        var address: ObjectID
        var byteCount: Int64
    }

    /// A place whose content never changes.
    fileprivate struct Place: Hashable {
        var path: TreePath
        var routes: [String]
    }

    private let store: Store
    private var digests: StoredDigests
    private var labelled: [Label: [Candidate]] = [:]
    /// Correct content, fetched under a name that only its publisher can compute.
    private var named: [String: [Candidate]] = [:]
    private var placed: [Place: [Candidate]] = [:]
    private var bySize: [Int64: [ObjectID]] = [:]
    /// What the release's own origin sent, by path, each content with its strong entity tag.
    ///
    /// Content that neither address nor label identifies is requested with `If-None-Match` (RFC 9110, section 13.1.2).
    /// The manifest keeps the tag as `entityTag` in the file's entry.
    private var tagged: [TreePath: [FetchedContent]] = [:]
    /// How many versions of a file one request asks about; an older version is as cheap to return to.
    private static let taggedMax = 4
    /// The manifest member with the origin of its files, as ``digest(of:)``.
    static let originKey = "fetchedFrom"
    /// With more objects of one size, comparing them with a label would cost more than fetching one.
    private static let candidatesMax = 64

    /// - Parameter family: the release's format; content fetched in another format from the same place does not count.
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
            // From a Meteor server, or from the shipped app. Labels of other publishers may mean anything.
            let isMeteor = manifest.received?.format.hasPrefix("meteor/") ?? true
            for entry in manifest.entries {
                if isTagged, tagged[entry.path]?.contains(FetchedContent(of: entry)) == false {
                    tagged[entry.path]?.append(FetchedContent(of: entry))
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

    /// Keeps both addresses: an incomplete version names content by another address than a complete one.
    private static func note(_ candidate: Candidate, _ candidates: inout [Candidate]) {
        if !candidates.contains(candidate) { candidates.append(candidate) }
    }

    /// The stored content of a file, if any.
    ///
    /// Labels in manifests are only hints, because they come from publishers of any origin: the bytes are read, unless
    /// the only knowledge is a name that nobody else can compute.
    mutating func address(of file: ReleaseFile) throws(StoreError) -> ObjectID? {
        for label in file.labels {
            if let address = try present(labelled[label], file, isTrusted: false) { return address }
            guard label.algorithm == .sha256, let address = ObjectID(bytes: label.bytes),
                try store.contains(address)
            else { continue }
            if try isContent(address, of: file, isTrusted: false) { return address }
        }
        for case .meteorLabel(let name) in file.checks {
            if let address = try present(named[name], file, isTrusted: true) { return address }
        }
        if file.hasImmutableSource,
            let address = try present(placed[Place(of: file)], file, isTrusted: true)
        {
            return address
        }
        guard let byteCount = file.byteCount, let candidates = bySize[byteCount],
            candidates.count <= Self.candidatesMax
        else { return nil }
        for candidate in candidates
        where try isContent(candidate, of: file, isTrusted: false) { return candidate }
        return nil
    }

    /// Stored contents that the server may confirm, each with a tag of its own.
    func tagged(_ file: ReleaseFile) throws(StoreError) -> [FetchedContent] {
        guard file.isKnownByTag, let found = tagged[file.path] else { return [] }
        var result: [FetchedContent] = []
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

    /// Identifies an origin without its URL, which may hold secrets.
    static func digest(of location: OriginLocation) throws(StoreError) -> String {
        try ObjectID(of: Array(location.description.utf8)).description
    }

    private mutating func present(
        _ candidates: [Candidate]?, _ file: ReleaseFile, isTrusted: Bool
    ) throws(StoreError) -> ObjectID? {
        for candidate in candidates ?? [] {
            if let byteCount = file.byteCount, byteCount != candidate.byteCount { continue }
            guard try store.contains(candidate.address) else { continue }
            if try isContent(candidate.address, of: file, isTrusted: isTrusted) {
                return candidate.address
            }
        }
        return nil
    }

    /// - Parameter isTrusted: whether the name suffices unless the digests contradict it.
    private mutating func isContent(
        _ candidate: ObjectID, of file: ReleaseFile, isTrusted: Bool
    ) throws(StoreError) -> Bool {
        let isEnough = isTrusted && !file.needsProof
        if isEnough, file.labels.isEmpty { return true }
        // Nothing to read: its address proves it, or nothing would.
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

/// Digests of stored content for comparing labels, each computed once.
struct StoredDigests {
    private let store: Store
    private let algorithms: [DigestAlgorithm]
    private let isInterrupted: () -> Bool
    private var known: [ObjectID: [Label]] = [:]

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

    /// Returns no digests for an object that is gone, damaged or unreadable, which is then fetched.
    mutating func of(_ address: ObjectID) throws(StoreError) -> [Label] {
        if let known = known[address] { return known }
        let found = try allowing([.damagedObject, .io, .permission], try compute(address)) ?? []
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

    /// Refuses labels that stored content does not have, so that the manifest never leads to other content.
    ///
    /// Fetched content is compared as it arrives. Throws `.badRelease`.
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
    /// Whether only the server can identify its content, at a URL that follows from the path.
    var isKnownByTag: Bool {
        address == nil && checks.isEmpty && !needsInspection
            && sources == [ContentSource(PercentEncoding.name(path.description))]
    }
}

extension ObjectID {
    /// A placeholder for content whose address the publisher does not give:
    /// `SHA-256("castree-provisional 1\n" + parts joined by NUL)`.
    ///
    /// The same label and size always give the same name, so that a later pull of any version finds the partial file
    /// again.
    static func placeholder(_ parts: [String]) throws(StoreError) -> ObjectID {
        var hasher = try ObjectHasher()
        var text = Array("castree-provisional 1\n".utf8)
        for part in parts {
            text += part.utf8
            text.append(0)
        }
        hasher.update(text.span.bytes)
        return hasher.finish().address
    }
}

extension ReleaseFile {
    /// Uses origin and version only for content that has no label.
    func placeholderAddress(origin: String, version: String) throws(StoreError) -> ObjectID {
        if let address { return try .placeholder(["address", address.description]) }
        var names: [String] = []
        for check in checks {
            switch check {
            // A checksum does not name content: another origin's file of that size may share it.
            case .digest(let label) where !label.algorithm.identifiesContent: continue
            case .unknownDigest: continue
            case .digest(let label): names.append(label.description)
            case .entityTag(let tag): names.append("etag:" + tag)
            case .meteorLabel(let label): names.append("meteor:" + label)
            }
        }
        names.sort()
        if names.isEmpty { names = ["source", origin, version] + place }
        return try .placeholder(names + [byteCount.map(String.init) ?? "?"])
    }

    /// What distinguishes its content from that of the release's other files.
    private var place: [String] {
        // Many files may come from one archive.
        guard let source = plainSources.first else { return ["path", path.description] }
        return [source.reference] + source.fields.flatMap { [$0.name, $0.value] }
    }

    /// Digests by which later releases may recognize the content.
    var wantedDigests: Set<DigestAlgorithm> {
        checks.contains { if case .meteorLabel = $0 { true } else { false } }
            ? Set(MeteorLabel.algorithms) : []
    }

    /// Whether digests of its bytes prove the content, if proof is needed.
    func isProved(by digests: [Label]) throws(StoreError) -> Bool {
        guard needsProof else { return true }
        for case .meteorLabel(let text) in checks {
            guard let label = MeteorLabel(text) else { continue }
            guard case .proved = try label.proof(digests) else { return false }
        }
        return true
    }

    /// The content's validator on a server built for the format.
    var promisedValidator: Validator? {
        checks.lazy.compactMap(\.entityTag).first.map { .entityTag("\"\($0)\"") }
    }
}

extension ContentCheck {
    var entityTag: String? {
        switch self {
        case .entityTag(let tag), .meteorLabel(let tag): tag
        case .digest, .unknownDigest: nil
        }
    }

    /// The 40 hexadecimal digits between the quotes of an entity tag; nil for another form.
    static func digits(in tag: String) -> String? {
        var text = Substring(tag)
        if text.hasPrefix("W/") { text = text.dropFirst(2) }
        guard text.utf8.count == 42, text.first == "\"", text.last == "\"" else { return nil }
        return MeteorLabel(String(text.dropFirst().dropLast()))?.description
    }
}
