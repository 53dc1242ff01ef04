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
    public var audience = Audience()
    /// Whether an app must have it before it goes on.
    public var isMandatory = false
    /// What sets its publisher's releases apart from others in one place: an app, a channel, a
    /// deployment; nil if the format knows no such thing.
    ///
    /// ``order`` means nothing across two of them.
    public var scope: String?
    /// What its publisher has signed.
    public var signatures: [Signature] = []
    /// The manifest's bytes as they came; signatures cover exactly these.
    public var received: [UInt8]
    /// Fields that the neutral model has no place for.
    ///
    /// What is large or has a name that castree's own manifests use is left out; ``received`` has it.
    public var foreign: [JSONValue.Member] = []

    /// How far the content of a release can be proved.
    public enum Trust: String, Sendable, Hashable {
        /// Every file has a digest that its bytes must match, and the format has verified
        /// ``Release/signatures`` with a key that the app trusts.
        case signed
        /// Every file has a digest that its bytes must match.
        case digest
        /// Some files are checked by length, checksum and entity tag only.
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
