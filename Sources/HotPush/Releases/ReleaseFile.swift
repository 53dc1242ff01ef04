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
}
