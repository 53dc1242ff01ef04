public import CASStore
public import StrictJSON
public import VersionTree

/// One file of a release.
public struct ReleaseFile: Sendable, Hashable {
    /// Where it stands in the tree.
    public var path: TreePath
    /// Where its bytes can be had, the best first.
    ///
    /// Those that castree cannot read are passed over; of the others the next is asked when one fails.
    public var sources: [ContentSource]
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
    /// What the app's code calls it, where that is no path (Expo's `key`).
    public var key: String?
    /// Its media type, if the format says it.
    public var mediaType: String?
    /// The extension of its name, with its dot, where the format tells it apart from the name (Expo).
    public var fileExtension: String?
    /// The publisher's signature of this file.
    ///
    /// The format verifies it: that of a digest when it reads the release, that of the bytes when it
    /// inspects them (``needsInspection``).
    public var signature: Signature?
    /// Fields that the neutral model has no place for.
    public var foreign: [JSONValue.Member] = []

    /// Makes a file that is fetched from its own path.
    public init(path: TreePath, address: ObjectID? = nil, byteCount: Int64? = nil) {
        self.init(path: path, source: PercentEncoding.name(path.description))
        self.address = address
        self.byteCount = byteCount
    }

    /// Makes a file that is fetched from elsewhere than its own path.
    ///
    /// - Parameters:
    ///   - path: where it stands in the version.
    ///   - source: as ``ContentSource/reference``.
    public init(path: TreePath, source: String) {
        self.path = path
        sources = [ContentSource(source)]
    }
}
