public import CASStore

// The codes that formats add to the engine's one error type.
extension StoreError.Code {
    /// A document is not a release of its format, or breaks the format's rules.
    public static let badRelease = Self("badRelease")
    /// A release is sound, but not one for this app: another app, another platform version.
    public static let unsuitableRelease = Self("unsuitableRelease")
}
