import HotPush

/// The decision about a check, made before anything is looked up.
enum HotUpdaterDecision {
    case nothing
    case update(ClientChannel.Live)
    /// An older bundle, because the one that runs is no longer for the device.
    case goBack(ClientChannel.Live)
    case goBackToBuiltIn

    /// Decides on the newest bundle for this device; else its own, if still offered to it; else the newest older one,
    /// whatever its roll-out; else the built-in one.
    ///
    /// Bundles are ordered by their ids, which never change, so offering an older release again withdraws the newer
    /// ones.
    static func decide(_ check: HotUpdaterCheck, in channel: ClientChannel) -> Self {
        // Nothing was ever offered: never withdraw bundles that come from other servers.
        if channel.past.isEmpty { return .nothing }
        let candidates = candidates(check, in: channel).filter { !precedes($0.id, check.minimum) }
        let newest = candidates.filter(\.isEligible).max { precedes($0.id, $1.id) }
        if let newest, precedes(check.current, newest.id) { return .update(newest.live) }
        if check.current == HotUpdaterCheck.builtIn { return .nothing }
        if candidates.contains(where: { $0.id == check.current && $0.isEligible }) {
            return .nothing
        }
        let older = candidates.filter { precedes($0.id, check.current) }
        if let older = older.max(by: { precedes($0.id, $1.id) }) { return .goBack(older.live) }
        return precedes(check.minimum, check.current) ? .goBackToBuiltIn : .nothing
    }

    private struct Candidate {
        var live: ClientChannel.Live
        var id: String
        var isEligible: Bool
    }

    /// The bundles that the channel offers to the app and has not withdrawn from this device.
    private static func candidates(
        _ check: HotUpdaterCheck, in channel: ClientChannel
    ) -> [Candidate] {
        var candidates: [Candidate] = []
        var head: String?
        for live in channel.live {
            guard
                let terms = HotUpdaterTerms(live.release.requirements, platform: check.platform)
            else { continue }
            guard let id = live.offer.id, live.offer.version != nil else {
                // Devices return to what was shipped, so everything below is withdrawn.
                if live.release.rollout == nil, terms.groups.isEmpty { break }
                continue
            }
            guard terms.admit(check.app) else { continue }
            // Offered before `head` was offered again.
            if let head, precedes(head, id) { continue }
            let isEligible = HotUpdaterCohort.includes(
                check.cohort, live.release.rollout, groups: terms.groups, bundle: id)
            if isEligible, head == nil { head = id }
            candidates.append(Candidate(live: live, id: id, isEligible: isEligible))
        }
        return candidates
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
