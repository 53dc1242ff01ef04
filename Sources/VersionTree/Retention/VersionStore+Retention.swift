public import CASStore

package struct RetentionOutcome: Sendable {
    package struct Stuck: Sendable {
        package var version: String
        package var error: StoreError
    }

    package var retired: [String] = []
    package var stuck: [Stuck] = []

    package init() {}
}

extension VersionStore {
    /// Decides which versions a policy lets go, without changing anything.
    ///
    /// Costs as much as listing the versions or, with a limit of bytes, as what the retirable versions name.
    /// - Parameters:
    ///   - policy: what stays.
    ///   - now: seconds since 1970; by default, now.
    /// - Throws: `.badLifecycle`, and what reading the index throws.
    public func planRetention(
        _ policy: RetentionPolicy, now: Int64? = nil
    ) throws(StoreError) -> RetentionPlan {
        let versions = try versions()
        var plan = RetentionPlan(
            versions, try lifecycle(), pinned: try pinnedVersions(), pinReasons: try pinReasons(),
            fetched: try fetchedVersions(among: versions), policy: policy,
            now: now ?? secondsNow())
        if let limit = policy.byteCountMax {
            let oldestFirst = Array(plan.retired.map(\.version).reversed())
            let (freed, total) = try store.bytesFreed(retiring: oldestFirst)
            plan.reach(limit, from: total, freeing: freed)
            plan.sortKept(like: versions)
        }
        return plan
    }

    /// Those of the incomplete versions that some process is fetching.
    private func fetchedVersions(among versions: [VersionSummary]) throws(StoreError) -> Set<String>
    {
        var fetched: Set<String> = []
        for version in versions where version.state == .incomplete {
            if try isHeld(StoreLayout.pullLock(version.version)) { fetched.insert(version.version) }
        }
        return fetched
    }

    /// Retires what a plan lets go, oldest first; the first error is thrown after the others are retired.
    ///
    /// Skips versions that are needed by now or were retired meanwhile. Works on a full disk.
    /// - Returns: the versions that were retired.
    /// - Throws: also what ``retire(_:)`` throws.
    @discardableResult
    public func retire(_ plan: RetentionPlan) throws(StoreError) -> [String] {
        let outcome = try carryOut(plan)
        if let first = outcome.stuck.first { throw first.error }
        return outcome.retired
    }

    /// Retires what a plan lets go, oldest first; one that cannot go does not stop the others.
    ///
    /// Skips versions that are needed by now or were retired meanwhile.
    /// - Returns: what was retired, and what could not be, with the reason.
    /// - Throws: what would stop each of them: `.locked`, `.interrupted`, `.writesRefused`, `.notOwner`, `.readOnly`.
    package func carryOut(_ plan: RetentionPlan) throws(StoreError) -> RetentionOutcome {
        var outcome = RetentionOutcome()
        for verdict in plan.retired.reversed() {
            try store.checkInterruption()
            do throws(StoreError) {
                try retire(verdict.version)
                outcome.retired.append(verdict.version)
            } catch {
                switch error.code {
                case .versionInUse, .noVersion: continue
                case .locked, .interrupted, .writesRefused, .notOwner, .readOnly: throw error
                default: outcome.stuck.append(.init(version: verdict.version, error: error))
                }
            }
        }
        return outcome
    }

    /// Decides what ``collect(progress:)`` would delete, without changing anything.
    /// - Parameter names: versions to retire first, in this order; names that are not registered are ignored.
    /// - Throws: what the collection would refuse.
    public func planCollection(
        retiring names: [String] = []
    ) throws(StoreError) -> CollectionPlan {
        let lost = try lostBeforeCollecting().unknown
        var plan = try store.planCollection(retiring: names)
        guard !lost.isEmpty else { return plan }
        // Content that such a tree does not show may belong to its version.
        var kept = Set(try store.objectsOfNobody().map(\.address))
        for version in lost {
            let name = version.entry ?? Array(version.name.utf8CString)
            kept.formUnion(
                try TreeReading(versions: self, trustsLinks: true).contents(of: name).addresses)
        }
        plan.objects.removeAll { kept.contains($0.address) }
        return plan
    }

    /// Deletes what nothing references, and the pins and locks of dead processes; see
    /// ``CASStore/Store/collect(progress:)``.
    ///
    /// Nothing that a tree shows is garbage, even if its version has lost its manifest: the version is rebuilt first.
    /// Nothing is collected while only the lifecycle knows a version that it needs.
    /// - Throws: also `.badLifecycle`, and `.index` for such a version.
    @discardableResult
    public func collect(
        progress: (Collected) -> Void = { _ in }
    ) throws(StoreError) -> Collected {
        for name in try recoverBeforeCollecting() {
            store.options.notice(
                "version \(name) has lost its manifest; what it names is kept, and castree fsck --repair makes "
                    + "the manifest again where its tree is there")
        }
        let collected = try store.collect(progress: progress)
        // They hold nothing, and the next collection tries again.
        try? removeDeadPins()
        try? store.removeDeadLocksOfPulls()
        rememberStuck()
        if collected.objectCount > 0 {
            note(.collected(objects: collected.objectCount, bytes: collected.byteCount))
        }
        return collected
    }
}
