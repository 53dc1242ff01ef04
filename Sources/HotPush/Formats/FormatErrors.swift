public import CASStore

// The codes that formats add to the engine's one error type.
extension StoreError.Code {
    /// A document is not a release of its format, or breaks the format's rules.
    public static let badRelease = Self("badRelease")
    /// A release is valid but not for this app: it is for another app or platform version.
    public static let unsuitableRelease = Self("unsuitableRelease")
}
