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
