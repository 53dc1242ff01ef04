public import CASStore
import HotPush

extension Publisher {
    /// Deletes what no channel offers, once nobody can need it any more.
    ///
    /// Files that a prune finds unneeded are deleted by a prune after the grace period. A call continues a killed one.
    /// - Throws: `.noOrigin`; `.damagedOrigin` if a pointer or a manifest to be kept cannot be read, in which case
    ///   nothing is deleted (with keys: one of their channels; another's keeps all objects); `.interrupted`;
    ///   `.outOfSpace`.
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
    /// How many releases of each channel are kept, besides older ones that devices can still reach.
    public var releaseCount: Int
    /// How long, in seconds, a manifest is kept after the last channel stopped naming it, for clients that have read
    /// an older pointer and are still downloading.
    public var graceSeconds: Int64

    /// Keeps ten releases and a day by default.
    public init(releaseCount: Int = 10, graceSeconds: Int64 = 86_400) {
        self.releaseCount = releaseCount
        self.graceSeconds = graceSeconds
    }
}
