package import VersionTree

/// The version that was shipped with the app, in a directory that the app cannot write to.
public struct EmbeddedVersion: Sendable, Hashable {
    /// Its directory; castree writes nothing there.
    public var directory: String
    /// Its name; other content needs another name, such as a build number or a digest.
    ///
    /// A name in the directory's own document (Meteor's `program.json`) takes precedence.
    public var version: String
    /// Its place among the origin's releases, if the app knows it: compared with that of downloads.
    public var order: Int64?
    /// Whether to show it instead of a download if orders do not tell which is newer.
    ///
    /// True by default: users who have just updated the app from a store expect to see it.
    public var winsWhenInDoubt = true
    /// Whether to compare the directory with the adopted version even if the name is the same.
    ///
    /// Examines every file at every start; for developers who do not number their builds.
    public var comparesContent = false
    /// What to leave out, as gitignore(5) patterns, before the directory's `.castreeignore` files.
    public var excluded: [String] = []
    /// Whether to leave out system files: `.DS_Store`, AppleDouble files, `__MACOSX`, `Thumbs.db`, `desktop.ini`.
    public var skipsJunk = false

    /// Creates an embedded version.
    public init(directory: String, version: String, order: Int64? = nil) {
        self.directory = directory
        self.version = version
        self.order = order
    }

    /// How its directory is added.
    package var adding: AddOptions {
        var options = AddOptions()
        (options.excluded, options.skipsJunk) = (excluded, skipsJunk)
        options.emptyRefusal = .emptyShipment(directory)
        return options
    }
}

/// The result of adopting an embedded version.
public struct EmbeddedReport: Sendable, Hashable {
    /// Its name in the store; longer than the app's if other content had that name.
    public var version: String
    /// Whether it was adopted now, because the app is new or was updated.
    public var isNew: Bool
    /// Whether it is current now and was not before.
    public var becameCurrent: Bool
    /// Objects that the store did not have before.
    package var newObjects: Int
    package var newBytes: Int64
    /// Why it is shown or not, in words for people.
    public var reason: String
    /// What of the directory was left out when it was adopted now; a directory ends with a slash.
    public var leftOut: [String] = []
    /// Adopted files that look unintended for users, such as `.env`; a directory ends with a slash.
    public var unwanted: [String] = []
}
