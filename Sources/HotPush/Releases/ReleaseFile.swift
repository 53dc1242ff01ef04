public import CASStore
public import StrictJSON
public import VersionTree

/// One file of a release.
public struct ReleaseFile: Sendable, Hashable {
    /// Its path in the tree.
    public var path: TreePath
    /// Where to get its bytes, best first; sources that castree cannot read are skipped, and after a failure the next
    /// is asked.
    public var sources: [ContentSource]
    /// The address of its bytes, if the format gives it.
    public var address: ObjectID?
    /// The number of its bytes, if the format gives it.
    public var byteCount: Int64?
    /// What its bytes must satisfy besides address and size.
    public var checks: [ContentCheck] = []
    /// URL paths besides "/" and the path.
    public var routes: [String] = []
    /// Whether it is materialized with mode 0555 instead of 0444.
    public var isExecutable = false
    /// Whether the app needs it to show anything: it is fetched first.
    public var isLaunchFile = false
    /// Whether the release is complete without it (a source map that a server keeps to itself).
    public var isOptional = false
    /// Whether the format examines its bytes before the version may be shown (``ReleaseFormat/inspect(_:_:of:_:)``).
    public var needsInspection = false
    /// Whether its source never gives other bytes, because the URL holds a hash of them.
    ///
    /// Then an earlier version's file of the same path and routes is the same, even if nothing else says so.
    public var hasImmutableSource = false
    /// Whether Meteor's label must prove the bytes: labels of the file's time cover nothing else.
    public var needsProof = false
    /// The name that the app's code uses for it, if that is not a path (Expo's `key`).
    public var key: String?
    /// Its media type, if the format gives it.
    public var mediaType: String?
    /// The extension of its name, with its dot, if the format gives it separately (Expo).
    public var fileExtension: String?
    /// The publisher's signature of this file.
    ///
    /// The format verifies a signature of a digest when it reads the release, one of the bytes when it inspects them
    /// (``needsInspection``).
    public var signature: Signature?
    /// Fields that the neutral model has no place for.
    public var foreign: [JSONValue.Member] = []

    /// Creates a file that is fetched from its own path.
    public init(path: TreePath, address: ObjectID? = nil, byteCount: Int64? = nil) {
        self.init(path: path, source: PercentEncoding.name(path.description))
        self.address = address
        self.byteCount = byteCount
    }

    /// Creates a file that is fetched from `source`, a ``ContentSource/reference``.
    public init(path: TreePath, source: String) {
        self.path = path
        sources = [ContentSource(source)]
    }

    /// The digests that the bytes must match.
    var labels: [Label] {
        checks.compactMap { if case .digest(let label) = $0 { label } else { nil } }
    }

    /// Whether its address is all there is to prove.
    ///
    /// Otherwise its content has a placeholder until it arrives, so that it cannot complete a version unchecked.
    var isProvedByAddress: Bool {
        address != nil && byteCount != nil && !needsInspection && !hasLabelsBesidesAddress
    }

    /// Whether there are digests that the address does not prove: the SHA-256 is the address.
    var hasLabelsBesidesAddress: Bool {
        !checks.isEmpty && labels.contains { $0.algorithm != .sha256 || address == nil }
    }

    func contradicts(_ entry: Manifest.Entry) -> Bool {
        if let address, address != entry.address { return true }
        if let byteCount, byteCount != entry.byteCount { return true }
        for label in labels {
            if label.algorithm == .sha256, label.bytes != entry.address.bytes { return true }
            let kept = entry.labels.first { $0.algorithm == label.algorithm }
            if let kept, kept != label { return true }
        }
        var own = foreign
        if let checksMember { own.append(checksMember) }
        for key in ["hash", Self.checksKey] {
            let said = [own, entry.foreign].map { fields in fields.first { $0.key == key }?.value }
            if said[0] != nil, said[1] != nil, said[0] != said[1] { return true }
        }
        return false
    }

    /// The manifest field for checks that do not name the content: it distinguishes a later release of the same name.
    var checksMember: JSONValue.Member? {
        guard !foreign.contains(where: { $0.key == Self.checksKey }) else { return nil }
        let said: [JSONValue] = checks.compactMap { check in
            switch check {
            case .unknownDigest(let algorithm, let text): .string("\(algorithm):\(text)")
            case .digest(let label) where !label.algorithm.identifiesContent:
                .string(label.description)
            case .digest, .entityTag, .meteorLabel: nil
            }
        }
        return said.isEmpty ? nil : .init(key: Self.checksKey, value: .array(said))
    }

    private static let checksKey = "checks"

    var isProvable: Bool {
        if address != nil { return true }
        return checks.contains { check in
            switch check {
            case .digest(let label): label.algorithm.identifiesContent
            case .meteorLabel: true
            case .entityTag, .unknownDigest: false
            }
        }
    }

    /// The sources that castree can read, in their order.
    var plainSources: [ContentSource] {
        sources.allSatisfy(\.isPlain) ? sources : sources.filter(\.isPlain)
    }
}

/// One way to get the content of a file: what to request, and what to do with the body.
public struct ContentSource: Sendable, Hashable {
    /// A URL reference, percent-encoded, relative to the origin or absolute (`OriginURL`).
    public var reference: String
    /// The steps that turn the body into the content, in order; none if the body is the content.
    ///
    /// castree reads only bodies without steps. A format may also offer others, which an app can fetch itself
    /// (``CASStore/IncomingContents``).
    public var steps: [Step] = []
    /// The size of the body, if it differs from the file's.
    public var byteCount: Int64?
    /// What the body must satisfy, besides what its content must.
    public var checks: [ContentCheck] = []
    /// Request fields that the publisher asks for (Expo's `assetRequestHeaders`).
    public var fields: [Field] = []

    /// Creates a source whose body is the content.
    public init(_ reference: String) { self.reference = reference }

    package var isPlain: Bool { steps.isEmpty }

    /// A step that is applied to the bytes of a body.
    public enum Step: Sendable, Hashable {
        /// Extracted from an archive such as `zip`: the file with this path there.
        case extract(String, path: String)
        /// Decompressed: `br`, `gzip`, `zstd`.
        case decompress(String)
        /// Decrypted, with a key that the format knows: `aes-128-cbc`.
        case decrypt(String)
        /// Applied as a difference to other content: `bsdiff`.
        case patch(String, of: Base)

        package var name: String {
            switch self {
            case .extract(let name, _), .decompress(let name), .decrypt(let name),
                .patch(let name, _):
                name
            }
        }
    }

    /// The content to which a difference applies.
    public struct Base: Sendable, Hashable {
        /// The publisher's name of the version that has it; nil if any version may have it.
        public var version: String?
        /// Its digest: the base is whatever has these bytes, under any name.
        public var digest: Label?

        /// Creates a base.
        public init(version: String? = nil, digest: Label? = nil) {
            self.version = version
            self.digest = digest
        }
    }

    /// A field of a request (RFC 9110, section 5).
    public struct Field: Sendable, Hashable {
        /// Its name, in any case.
        public var name: String
        /// Its value.
        public var value: String

        /// Creates a field.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }
}

/// What the bytes of a file must satisfy.
public enum ContentCheck: Sendable, Hashable {
    /// A digest of the bytes: `sri`, MD5, SHA-1, or only a checksum.
    case digest(Label)
    /// A digest that castree cannot compute, as its publisher writes it; it is kept, and proves nothing.
    case unknownDigest(algorithm: String, text: String)
    /// A name in lower-case hex that some publishers' servers use as the entity tag; compared only if the server's
    /// entity tag has that form.
    case entityTag(String)
    /// Meteor's `hash`, one of several digests of the bytes, or of more than the bytes (see `MeteorLabel`).
    ///
    /// A match is proof; a mismatch proves nothing.
    case meteorLabel(String)
}
