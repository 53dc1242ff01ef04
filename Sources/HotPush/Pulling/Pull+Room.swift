import CASStore
import VersionTree

// Making room for a pull.

extension Pull {
    /// Fetches; on a full disk, makes room and fetches again.
    ///
    /// Deletes unneeded content first, then the pending version, which was never shown and which the offer replaces.
    /// Keeps the current version and those to roll back to, and deletes nothing if that could not make enough room.
    func makingRoom(
        for offer: FoundRelease, _ fetch: () throws(StoreError) -> PullReport
    ) throws(StoreError) -> PullReport {
        let name = options.version ?? offer.release.version.description
        for lettingWaitingGo in [false, true] {
            do throws(StoreError) {
                return try fetch()
            } catch {
                guard error.code == .outOfSpace,
                    try makeRoom(for: name, lettingWaitingGo: lettingWaitingGo)
                else { throw error }
            }
        }
        return try fetch()
    }

    /// Deletes parts of the channel's other releases: an origin that keeps changing while files are missing would
    /// otherwise fill the disk.
    func dropOtherParts(for offer: FoundRelease, as name: String) throws(StoreError) {
        // Repairs and pulls of a certain release follow no channel.
        if offer.sighting == nil, offer.published != nil { return }
        let release = offer.release
        do throws(StoreError) {
            let isGone = try versions.dropReplacedParts(for: name) { terms in
                offer.sighting.map { terms.isOf($0.channel) } ?? (terms.family == release.family)
            }
            guard isGone else { return }
            if options.keptGoodCount == nil {
                try versions.store.dropUnwantedPartials()
            } else {
                try versions.collect()
            }
        } catch {
            // A leftover takes room, but must not stop an update.
            if error.code == .interrupted { throw error }
            options.journal?.record(error, during: "tidy")
        }
    }

    private func makeRoom(
        for name: String, lettingWaitingGo: Bool
    ) throws(StoreError) -> Bool {
        guard let count = options.keptGoodCount else {
            guard !lettingWaitingGo,
                try couldHaveRoom(without: Array(versions.replacedParts(for: name)))
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
        guard try couldHaveRoom(without: needless.map(\.version) + [waiting].compactMap(\.self))
        else { return false }
        if lettingWaitingGo {
            guard let waiting, try versions.takeBack(pending: waiting) else { return false }
        }
        // If nothing was deleted, the pending version may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || !lettingWaitingGo
    }

    private func couldHaveRoom(without names: [String]) throws(StoreError) -> Bool {
        let (fileSystem, staging) = (versions.fileSystem, versions.directories.staging.raw)
        // The number of files that deletion would allow is unknown.
        guard let needed = lackingRoomFor, try fileSystem.freeSpace(staging).files != 0 else {
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
