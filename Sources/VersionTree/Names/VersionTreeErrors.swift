public import CASStore

// The codes that versions and trees add to the engine's one error type.
extension StoreError.Code {
    /// A path cannot be one of a tree.
    public static let badPath = Self("badPath")
    /// A name cannot be a version's.
    public static let badName = Self("badName")
    /// A manifest is not one, or breaks its rules.
    public static let badManifest = Self("badManifest")
    /// Two paths of a version would be one on this file system.
    public static let pathCollision = Self("pathTwins")
    /// Nothing is made of a tree, because something in it cannot be read.
    public static let unreadTree = Self("unreadTree")
    /// A version lacks objects.
    public static let incompleteVersion = Self("incompleteVersion")
    /// The version is banned.
    public static let bannedVersion = Self("bannedVersion")
    /// The lifecycle needs the version, or another process does.
    public static let versionInUse = Self("versionInUse")
    /// There is no version to go back to.
    public static let nothingToRollBackTo = Self("nothingToRollBackTo")
    /// A confirmation is not for the version that started.
    public static let wrongToken = Self("wrongToken")
    /// `lifecycle.json` cannot be read.
    public static let badLifecycle = Self("badLifecycle")
    /// A source directory holds something that a version cannot.
    public static let unsupportedFile = Self("unsupportedFile")
    /// A source file changed while it was read.
    public static let changedWhileRead = Self("changedWhileRead")
    /// Something would be written into a store by other means than its own.
    public static let insideStore = Self("insideStore")
    /// The target of a checkout already exists.
    public static let targetExists = Self("targetExists")
}

extension StoreError {
    /// Whether `lifecycle.json` cannot be read.
    var saysLifecycleIsBad: Bool { code == .badLifecycle || code == .tooLarge }

    /// What is to be added has no file.
    package static func emptySource(_ source: String) -> StoreError {
        StoreError(
            .unsupportedFile,
            "\(source) has no files, so the version would be empty; give --allow-empty if you want that"
        )
    }

    /// What an app was shipped with has no file.
    package static func emptyShipment(_ directory: String) -> StoreError {
        StoreError(
            .unsupportedFile,
            "\(printable(directory)) has no files, so there would be nothing to go back to: repeat this when they are there (is it a mount point that is not mounted yet?)"
        )
    }
}
