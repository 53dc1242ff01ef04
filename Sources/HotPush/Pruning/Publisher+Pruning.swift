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
        try OriginPruner(draft()).prune(
            keeping: retention.releaseCount, grace: retention.graceSeconds, isDryRun: true)
    }
}
