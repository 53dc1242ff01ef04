import CASStore
import VersionTree

// Making room before a pull fails for want of it.

extension Pull {
    /// Fetches; while there is no room, makes some and fetches again.
    ///
    /// First goes what nobody needs, then what waits: nobody has seen it, and the offer replaces it. What is current, and
    /// what one could go back to, stays.
    func makingRoom(
        for offer: FoundRelease, _ fetch: () throws(StoreError) -> PullReport
    ) throws(StoreError) -> PullReport {
        let name = options.version ?? offer.release.version.description
        do throws(StoreError) {
            return try fetch()
        } catch {
            guard error.code == .outOfSpace, try makeRoom(.needless, for: name) else { throw error }
        }
        do throws(StoreError) {
            return try fetch()
        } catch {
            guard error.code == .outOfSpace, try makeRoom(.waiting, for: name) else { throw error }
        }
        return try fetch()
    }

    /// Lets go what came in part of releases that the offer's channel lists no more, now that the offer is registered.
    ///
    /// Otherwise an origin that changes, and lacks something each time, would fill the disk.
    func dropUnlistedParts(for offer: FoundRelease, as name: String) throws(StoreError) {
        // A repair, or who takes a certain release, follows no channel.
        if offer.sighting == nil, offer.published != nil { return }
        let release = offer.release
        do throws(StoreError) {
            let isGone = try versions.dropReplacedParts(for: name) { (content, terms) in
                guard let sighting = offer.sighting else { return terms.family == release.family }
                return terms.isOf(sighting.channel)
                    && (content == offer.content || !sighting.listed.contains(content))
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

    private enum RoomStage {
        case needless
        case waiting
    }

    /// - Returns: whether there may be more room now.
    private func makeRoom(_ stage: RoomStage, for name: String) throws(StoreError) -> Bool {
        guard let count = options.keptGoodCount else {
            guard stage == .needless else { return false }
            let gone = try versions.dropReplacedParts(for: name)
            return try versions.collect().objectCount > 0 || gone
        }
        if stage == .waiting {
            let lifecycle = try versions.lifecycle()
            guard let pending = lifecycle.pending, pending != name,
                !lifecycle.knownGood.contains(pending), try hasRoom(without: pending),
                try versions.takeBack(pending: pending)
            else { return false }
        }
        // Where nothing went, what waits may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || stage == .needless
    }

    /// Whether there would be room if a version went; otherwise it would go for nothing.
    private func hasRoom(without version: String) throws(StoreError) -> Bool {
        guard let needed = lackingRoomFor else { return true }
        let freed = try versions.store.bytesFreed(retiring: [version]).freed
        do throws(StoreError) {
            try versions.store.checkSpace(for: needed - (freed.first ?? 0))
            return true
        } catch {
            guard error.code == .outOfSpace else { throw error }
            return false
        }
    }
}
