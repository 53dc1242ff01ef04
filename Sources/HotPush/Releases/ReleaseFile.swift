public import CASStore
public import StrictJSON
public import VersionTree

/// One file of a release.
public struct ReleaseFile: Sendable, Hashable {
    /// Its path in the tree.
    public var path: TreePath
    /// Where to get its bytes, best first.
    ///
    /// Passes over those that castree cannot read; if one fails, asks the next.
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
    /// Whether the release is whole without it (a source map that a server keeps to itself).
    public var isOptional = false
    /// Whether the format examines its bytes once they are here, before the version may be shown
    /// (``ReleaseFormat/inspect(_:_:of:_:)``).
    public var needsInspection = false
    /// Whether its source never gives other bytes, because the URL holds a hash of them.
    ///
    /// Then what an earlier version has under the same path and routes is the same, although
    /// nothing else says so.
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
    /// The format verifies it: the signature of a digest when it reads the release, that of the bytes
    /// when it inspects them (``needsInspection``).
    public var signature: Signature?
    /// Fields that the neutral model has no place for.
    public var foreign: [JSONValue.Member] = []

    /// Makes a file that is fetched from its own path.
    public init(path: TreePath, address: ObjectID? = nil, byteCount: Int64? = nil) {
        self.init(path: path, source: PercentEncoding.name(path.description))
        self.address = address
        self.byteCount = byteCount
    }

    /// Makes a file that is fetched from somewhere other than its own path.
    ///
    /// - Parameters:
    ///   - path: its path in the version.
    ///   - source: as ``ContentSource/reference``.
    public init(path: TreePath, source: String) {
        self.path = path
        sources = [ContentSource(source)]
    }
}
