import CASStore
import VersionTree

/// Fetches a release and registers its version, which is complete afterwards.
///
/// If another pull of the store fetches the same release, waits for it first, and fetches only what is still missing. On
/// a full disk, frees space and fetches again.
struct ReleaseFetch: PullStep {
    let basis: PullBasis
    let offer: FoundRelease

    /// - Parameter plan: without one, takes fewer requests than planning first, because a pack also brings the manifest.
    /// - Throws: as ``Pull/plan(_:)`` and ``Pull/fetch(_:of:)``.
    func run(by plan: DownloadPlan? = nil) throws(StoreError) -> PullReport {
        try judge.refuseExpired(offer)
        let turn = try FetchTurn(for: offer, basis)
        defer { withExtendedLifetime(turn) {} }
        let plan = turn.hasWaited ? nil : plan
        for lettingWaitingGo in [false, true] {
            var lackingByteCount: Int64?
            do throws(StoreError) {
                // It ends, with its lease, before anything is deleted.
                let attempt = FetchAttempt(offer, by: plan, basis)
                defer { lackingByteCount = attempt.lackingByteCount }
                return try attempt.run()
            } catch {
                guard error.code == .outOfSpace,
                    try makeSpace(for: lackingByteCount, lettingWaitingGo: lettingWaitingGo)
                else { throw error }
            }
        }
        return try FetchAttempt(offer, by: plan, basis).run()
    }

    /// Deletes unneeded content first, then the pending version, which was never shown and which the offer replaces.
    ///
    /// Keeps the current version and those to roll back to, and deletes nothing if that could not make enough space.
    /// - Parameter lackingByteCount: what did not fit, if known.
    private func makeSpace(
        for lackingByteCount: Int64?, lettingWaitingGo: Bool
    ) throws(StoreError) -> Bool {
        let name = options.version ?? offer.release.version.description
        guard let count = options.keptGoodCount else {
            guard !lettingWaitingGo,
                try couldHaveSpace(
                    for: lackingByteCount, without: Array(versions.replacedParts(for: name)))
            else { return false }
            let gone = try versions.dropReplacedParts(for: name)
            return try versions.collect().objectCount > 0 || gone
        }
        let lifecycle = try versions.lifecycle()
        var waiting = lifecycle.pending
        if let pending = waiting, pending == name || lifecycle.knownGood.contains(pending) {
            waiting = nil
        }
        let needless = try versions.planTidying(keptGoodCount: count, for: name).retired
        guard
            try couldHaveSpace(
                for: lackingByteCount,
                without: needless.map(\.version) + [waiting].compactMap(\.self))
        else { return false }
        if lettingWaitingGo {
            guard let waiting, try versions.takeBack(pending: waiting) else { return false }
        }
        // If nothing was deleted, the pending version may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || !lettingWaitingGo
    }

    private func couldHaveSpace(
        for lackingByteCount: Int64?, without names: [String]
    ) throws(StoreError) -> Bool {
        let (fileSystem, staging) = (versions.fileSystem, versions.directories.staging.raw)
        // The number of files that deletion would allow is unknown.
        guard let needed = lackingByteCount, try fileSystem.freeSpace(staging).files != 0 else {
            return true
        }
        let plan = try versions.planCollection(retiring: names)
        var freed = plan.byteCount - plan.staged.reduce(0) { $0 + $1.byteCount }
        // Partial content belongs to these versions, to none, or to the release itself.
        try fileSystem.list(staging) { (entry, _) throws(StoreError) in
            freed += try fileSystem.status(staging, entry)?.byteCount ?? 0
            return true
        }
        return try versions.store.hasSpace(for: needed - freed)
    }
}
