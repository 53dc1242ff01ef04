public import CASStore

extension VersionStore {
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
