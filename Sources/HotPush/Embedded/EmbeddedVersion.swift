/// The version that was shipped with the app, in a directory that the app cannot write to.
public struct EmbeddedVersion: Sendable, Hashable {
    /// Its directory; nothing is written there.
    public var directory: String
    /// Its name; other content needs another name, as a build number or a digest gives it.
    public var version: String
    /// Its place among the releases of the origin, if the app knows it: compared with that of what was
    /// downloaded.
    public var order: Int64?
    /// Whether it is shown instead of a download where orders do not say which is newer.
    ///
    /// True by default: who has just updated the app from a store expects to see it.
    public var winsWhenInDoubt = true
    /// Whether the directory is compared with what was adopted although the name is the same.
    ///
    /// Costs a look at every file at every start; for developers, who build without counting.
    public var comparesContent = false

    /// Makes an embedded version.
    public init(directory: String, version: String, order: Int64? = nil) {
        self.directory = directory
        self.version = version
        self.order = order
    }
}

/// What adopting an embedded version came to.
public struct EmbeddedReport: Sendable, Hashable {
    /// Its name in the store; longer than the app's if that was taken by other content.
    public var version: String
    /// Whether it was adopted now, since the app is new or was updated.
    public var isNew: Bool
    /// Whether it is current now and was not before.
    public var becameCurrent: Bool
    /// Objects that the store did not have before.
    package var newObjects: Int
    /// Their bytes.
    package var newBytes: Int64
    /// Why it is shown, or why not, as people say it.
    public var reason: String
}
