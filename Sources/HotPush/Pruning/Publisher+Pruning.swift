public import CASStore

extension Publisher {
    /// Deletes what no channel offers, once nobody can need it any more.
    ///
    /// What a prune finds unneeded waits out the grace, and is deleted by one that comes after it. If it is killed half-way,
    /// the next call continues.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if a pointer or a manifest to be kept cannot be read: then nothing is deleted;
    ///   `.interrupted`; `.outOfSpace`.
    @discardableResult
    public func collect(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> PruneReport {
        try OriginPruner(engine()).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds)
    }

    /// What ``collect(_:)`` would delete; deletes nothing.
    public func planCollection(
        _ retention: OriginRetention = OriginRetention()
    ) throws(StoreError) -> PruneReport {
        try OriginPruner(engine(isDraft: true)).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: true)
    }
}

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
