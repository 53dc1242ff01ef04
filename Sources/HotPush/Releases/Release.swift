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
