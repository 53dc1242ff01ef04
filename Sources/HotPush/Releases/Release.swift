package import CASStore
public import StrictJSON
public import VersionTree

/// A release as an origin offers it: the neutral model into which every format is read.
///
/// Says what the files are, how to check them and where to fetch them. It holds each known format without loss;
/// ``received`` keeps the original bytes.
public struct Release: Sendable {
    /// The format it came in, with that format's version: `castree/1`, `meteor/1`.
    public var family: String
    /// The name of the version in the store.
    public var version: VersionName
    /// Orders releases of one origin, if the format does: a larger one is newer.
    public var order: Int64?
    /// What an app must satisfy to run it; all of them.
    public var requirements: [Requirement] = []
    /// Its files, in the order of the format.
    public var files: [ReleaseFile] = []
    /// How far its content can be proved.
    public var trust: Trust
    /// The devices that may have it.
    public var audience = Audience()
    /// Whether an app must have it before it continues.
    public var isMandatory = false
    /// Distinguishes its publisher's releases from others in the same place: an app, a channel, a deployment.
    ///
    /// Nil if the format has no such thing. ``order`` is not comparable across scopes.
    public var scope: String?
    /// What its publisher has signed.
    public var signatures: [Signature] = []
    /// The manifest's bytes as they came; signatures cover exactly these.
    public var received: [UInt8]
    /// The address of its content, if the publisher states it apart from the files: for a release whose manifest has
    /// not been fetched.
    package var statedContent: ObjectID?
    /// Fields that the neutral model has no place for.
    ///
    /// Omits large fields, and those with a name that castree's own manifests use; ``received`` has them.
    public var foreign: [JSONValue.Member] = []

    /// How far the content of a release can be proved.
    public enum Trust: String, Sendable, Hashable {
        /// Every file has a digest that its bytes must match, and the format has verified ``Release/signatures`` with a
        /// key that the app trusts.
        case signed
        /// Every file has a digest that its bytes must match.
        case digest
        /// Some files are checked only by length, checksum and entity tag.
        case length
    }

    /// Creates a release without files.
    public init(family: String, version: VersionName, trust: Trust, received: [UInt8]) {
        self.family = family
        self.version = version
        self.trust = trust
        self.received = received
    }
}

/// The devices that a release is for: those that meet all of this.
public struct Audience: Sendable, Hashable {
    /// Whether the publisher has withdrawn the release from everybody without a replacement.
    public var isDisabled = false
    /// The share of the devices that gets it; nil for all.
    public var rollout: Rollout?
    /// The groups of devices that it is restricted to (``AppTraits/groups``); empty for everybody.
    public var groups: [String] = []

    /// Everybody.
    public init() {}
}

/// The share of the devices that a release is for.
public struct Rollout: Sendable, Hashable {
    /// The share, in thousandths.
    public var perMille: Int
    /// Makes the choice differ from release to release.
    public var salt: String
    /// How the choice is made: by a place that salt and device determine, or by another system's rule.
    ///
    /// The format applies such a rule when it reads (``ReleaseContext/device``). If it leaves the decision to castree,
    /// any share below the whole excludes every device.
    public var rule: String

    /// castree's own rule.
    public static let ownRule = "castree"

    /// Creates a rollout.
    public init(perMille: Int, salt: String, rule: String = Rollout.ownRule) {
        self.perMille = perMille
        self.salt = salt
        self.rule = rule
    }
}

/// A condition on the app that runs a release.
public struct Requirement: Sendable, Hashable {
    /// What is compared: `compatibility`, `minimumAppVersion`, `runtimeVersion`.
    public var kind: String
    /// The value that the release requires.
    public var value: String
    /// The only platform it applies to, such as `ios`; nil for all.
    public var platform: String?

    /// Creates a condition.
    public init(kind: String, value: String, platform: String? = nil) {
        self.kind = kind
        self.value = value
        self.platform = platform
    }

    package func concerns(platform other: String?) -> Bool {
        guard let platform, let other else { return true }
        return platform.utf8.elementsEqual(other.utf8)
    }
}

/// A publisher's signature, as it came.
///
/// The format verifies it with the app's keys and then says ``Release/Trust/signed``; if that fails, it throws
/// `.badRelease`.
public struct Signature: Sendable, Hashable {
    /// What is signed.
    public enum Subject: String, Sendable, Hashable {
        /// The bytes of the document as they came, ``Release/received``.
        case document
        /// The bytes of a file.
        case file
    }

    /// The algorithm as the publisher spells it: `rsa-v1_5-sha256`, `RS256`.
    public var algorithm: String
    /// The name of the key, if there are several.
    public var key: String?
    /// What is signed.
    public var subject: Subject
    /// The certificates from the key to a trusted one, in PEM (RFC 7468), if the publisher sends them.
    public var certificates: String?
    /// The signature as written: in Base64, as a JWT, or in hexadecimal digits.
    public var text: String

    /// Creates a signature.
    public init(_ algorithm: String, of subject: Subject, key: String? = nil, text: String) {
        self.algorithm = algorithm
        self.key = key
        self.subject = subject
        self.text = text
    }
}
