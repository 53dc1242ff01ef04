public import CASStore
public import StrictJSON
public import VersionTree

/// A release as an origin offers it: the neutral model that every format is read into.
///
/// A value without content: it says what the files are, how they are checked and where they are
/// fetched from. It holds each known format without loss; the bytes that it was read from are kept
/// verbatim in ``received``.
public struct Release: Sendable {
    /// The format it came in, with its version: `castree/1`, `meteor/1`.
    public var family: String
    /// What the version will be called in the store.
    public var version: VersionName
    /// Orders releases of one origin, if the format does: a larger one is newer.
    public var order: Int64?
    /// What an app must fulfil to run it; all of them.
    public var requirements: [Requirement] = []
    /// Its files, in the order of the format.
    public var files: [ReleaseFile] = []
    /// How far its content can be proved.
    public var trust: Trust
    /// Which devices may have it.
    public var rollout: Rollout?
    /// Whether an app must have it before it goes on.
    public var isMandatory = false
    /// The manifest's bytes as they came; signatures cover exactly these.
    public var received: [UInt8]
    /// Fields that the neutral model has no place for.
    ///
    /// What is large or has a name that castree's own manifests use is left out; ``received`` has it.
    public var foreign: [JSONValue.Member] = []

    /// How far the content of a release can be proved.
    public enum Trust: String, Sendable, Hashable {
        /// Every file has a digest that its bytes must match.
        case digest
        /// Some files are checked by length and entity tag only.
        case length
    }

    /// Makes a release without files.
    public init(family: String, version: VersionName, trust: Trust, received: [UInt8]) {
        self.family = family
        self.version = version
        self.trust = trust
        self.received = received
    }
}

/// One file of a release.
public struct ReleaseFile: Sendable, Hashable {
    /// Where it stands in the tree.
    public var path: TreePath
    /// Where it is fetched: a URL reference, percent-encoded, relative to the origin or absolute
    /// (``OriginURL/url(of:)``).
    public var source: String
    /// The address of its bytes, if the format says it.
    public var address: ObjectID?
    /// The number of its bytes, if the format says it.
    public var byteCount: Int64?
    /// What its bytes must fulfil besides address and size.
    public var checks: [ContentCheck] = []
    /// URL paths besides "/" and the path.
    public var routes: [String] = []
    /// Whether it is materialized with mode 0555 instead of 0444.
    public var isExecutable = false
    /// Whether the app needs it to show anything: it is fetched first.
    public var isLaunchFile = false
    /// Whether the release is whole without it (a source map that a server does not give away).
    public var isOptional = false
    /// Whether the format looks at its bytes once they are here, before the version may be shown
    /// (``ReleaseFormat/inspect(_:_:of:_:)``).
    public var needsInspection = false
    /// Whether its source never gives other bytes: the URL holds a hash of what is there.
    ///
    /// What an earlier version has under the same path and routes is then the same, though nothing
    /// else says so.
    public var hasImmutableSource = false
    /// Whether Meteor's label must prove the bytes: in the file's time only they went into labels.
    public var needsProof = false
    /// Fields that the neutral model has no place for.
    public var foreign: [JSONValue.Member] = []

    /// Makes a file that is fetched from its own path.
    public init(path: TreePath, address: ObjectID? = nil, byteCount: Int64? = nil) {
        self.init(path: path, source: PercentEncoding.name(path.description))
        self.address = address
        self.byteCount = byteCount
    }

    /// Makes a file that is fetched from elsewhere than its own path.
    public init(path: TreePath, source: String) {
        self.path = path
        self.source = source
    }
}

/// What the bytes of a file must fulfil.
public enum ContentCheck: Sendable, Hashable {
    /// A digest of the bytes: `sri`, MD5, SHA-1.
    case digest(Label)
    /// A name that some publishers' servers use as entity tag, in lower-case hex.
    ///
    /// Compared only when the server's entity tag has its form.
    case entityTag(String)
    /// Meteor's `hash`: one of several digests of the bytes, or of more than the bytes
    /// (its rules changed from release to release). A match is proof; no match proves nothing.
    ///
    /// See ``MeteorLabel/proof(sha1:sha512:)``.
    case meteorLabel(String)
}

/// A condition on the app that runs a release.
public struct Requirement: Sendable, Hashable {
    /// What is compared: `compatibility`, `minimumAppVersion`, `runtimeVersion`.
    public var kind: String
    /// The value that the release asks for.
    public var value: String
    /// The only platform it concerns, such as `ios`; nil for all.
    public var platform: String?

    /// Makes a condition.
    public init(kind: String, value: String, platform: String? = nil) {
        self.kind = kind
        self.value = value
        self.platform = platform
    }

    /// Whether the condition is one on apps of a platform.
    public func concerns(platform other: String?) -> Bool {
        guard let platform, let other else { return true }
        return platform.utf8.elementsEqual(other.utf8)
    }
}

/// Which part of the devices a release is for.
public struct Rollout: Sendable, Hashable {
    /// The share, in thousandths.
    public var perMille: Int
    /// What makes the choice differ from release to release.
    public var salt: String

    /// Makes a roll-out.
    public init(perMille: Int, salt: String) {
        self.perMille = perMille
        self.salt = salt
    }
}
