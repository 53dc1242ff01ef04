public import CASStore

extension VersionStore {
    /// Decides which versions a policy lets go.
    ///
    /// Changes nothing. With a limit of bytes it costs what the versions that may go name, else what the
    /// versions are.
    /// - Parameter now: seconds since 1970; by default, now.
    /// - Throws: `.badLifecycle`, and what reading the index throws.
    public func planRetention(
        _ policy: RetentionPolicy, now: Int64? = nil
    ) throws(StoreError) -> RetentionPlan {
        let versions = try versions()
        var plan = RetentionPlan(
            versions, try lifecycle(), pinned: try pinnedVersions(), policy: policy,
            now: now ?? secondsNow())
        if let limit = policy.byteCountMax {
            let oldestFirst = Array(plan.retired.map(\.version).reversed())
            let (freed, total) = try store.bytesFreed(retiring: oldestFirst)
            plan.reach(limit, from: total, freeing: freed)
            plan.sortKept(like: versions)
        }
        return plan
    }

    /// Retires what a plan lets go, the oldest first.
    ///
    /// What something needs by now, or somebody has retired meanwhile, is passed over. Works on a full
    /// disk.
    /// - Returns: the versions that were retired.
    /// - Throws: what ``retire(_:)`` throws besides.
    @discardableResult
    public func retire(_ plan: RetentionPlan) throws(StoreError) -> [String] {
        var retired: [String] = []
        for verdict in plan.retired.reversed() {
            try store.checkInterruption()
            do throws(StoreError) {
                try retire(verdict.version)
                retired.append(verdict.version)
            } catch {
                guard error.code == .versionInUse || error.code == .noVersion else { throw error }
            }
        }
        return retired
    }
}
