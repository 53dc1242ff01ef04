/// What an origin keeps.
public struct OriginRetention: Sendable, Hashable {
    /// How many releases of each channel are kept; more if devices can still reach older ones.
    package var releaseCount: Int
    /// How long, in seconds, a manifest is kept after the last channel stopped naming it: clients that
    /// have read an older pointer are still downloading.
    package var graceSeconds: Int64

    /// Makes a rule: by default ten releases, and a day.
    public init(releaseCount: Int = 10, graceSeconds: Int64 = 86_400) {
        self.releaseCount = releaseCount
        self.graceSeconds = graceSeconds
    }
}
