public import CASStore

// The codes that versions and trees add to the engine's one error type.
extension StoreError.Code {
    /// The text is no valid path in a tree.
    public static let badPath = Self("badPath")
    /// The text is no valid version name.
    public static let badName = Self("badName")
    /// A manifest is malformed or breaks its rules.
    public static let badManifest = Self("badManifest")
    /// Two paths of a version would be one on this file system.
    public static let pathCollision = Self("pathTwins")
    /// A tree cannot be used because something in it is unreadable.
    public static let unreadTree = Self("unreadTree")
    /// Objects of a version are missing.
    public static let incompleteVersion = Self("incompleteVersion")
    /// The version is banned.
    public static let bannedVersion = Self("bannedVersion")
    /// The lifecycle or another process needs the version.
    public static let versionInUse = Self("versionInUse")
    /// There is no version to roll back to.
    public static let nothingToRollBackTo = Self("nothingToRollBackTo")
    /// A confirmation is not for the version that started.
    public static let wrongToken = Self("wrongToken")
    /// `lifecycle.json` cannot be read.
    public static let badLifecycle = Self("badLifecycle")
    /// A source directory contains something that a version cannot hold.
    public static let unsupportedFile = Self("unsupportedFile")
    /// A source file changed while it was read.
    public static let changedWhileRead = Self("changedWhileRead")
    /// The operation would write into a store without going through it.
    public static let insideStore = Self("insideStore")
    /// The target of a checkout already exists.
    public static let targetExists = Self("targetExists")
}

extension StoreError {
    var saysLifecycleIsBad: Bool { code == .badLifecycle || code == .tooLarge }

    package static func emptySource(_ source: String) -> StoreError {
        StoreError(
            .unsupportedFile,
            "\(source) has no files, so the version would be empty; give --allow-empty if you want that"
        )
    }

    package static func emptyShipment(_ directory: String) -> StoreError {
        StoreError(
            .unsupportedFile,
            "\(printable(directory)) has no files, so there would be nothing to go back to: repeat this when they are there (is it a mount point that is not mounted yet?)"
        )
    }
}
