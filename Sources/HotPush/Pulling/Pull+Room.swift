import CASStore
import VersionTree

// Making room before a pull fails for want of it.

extension Pull {
    /// Fetches; while there is no room, makes some and fetches again.
    ///
    /// First goes what nobody needs, then what waits: nobody has seen it, and the offer replaces it. What is current, and
    /// what one could go back to, stays; and nothing goes where that would not make enough.
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

    /// Lets go what came in part of the other releases of the offer's channel, listed or not, now that the offer is
    /// registered.
    ///
    /// Otherwise an origin that changes, and lacks something each time, would fill the disk.
    func dropOtherParts(for offer: FoundRelease, as name: String) throws(StoreError) {
        // A repair, or who takes a certain release, follows no channel.
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
            // What stays takes room, and must stop no update.
            if error.code == .interrupted { throw error }
            options.journal?.record(error, during: "tidy")
        }
    }

    /// - Returns: whether there may be more room now.
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
        // Where nothing went, what waits may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || !lettingWaitingGo
    }

    /// Whether there could be room if versions went; otherwise they would go for nothing.
    private func couldHaveRoom(without names: [String]) throws(StoreError) -> Bool {
        let (fileSystem, staging) = (versions.fileSystem, versions.directories.staging.raw)
        // How many files there could be, nobody knows.
        guard let needed = lackingRoomFor, try fileSystem.freeSpace(staging).files != 0 else {
            return true
        }
        let plan = try versions.planCollection(retiring: names)
        var freed = plan.byteCount - plan.staged.reduce(0) { $0 + $1.byteCount }
        // What has come in part is of these versions, of nobody, or of the release itself.
        try fileSystem.list(staging) { (entry, _) throws(StoreError) in
            freed += try fileSystem.status(staging, entry)?.byteCount ?? 0
            return true
        }
        return try allowing(.outOfSpace) { () throws(StoreError) in
            try versions.store.checkSpace(for: needed - freed)
        } != nil
    }
}
