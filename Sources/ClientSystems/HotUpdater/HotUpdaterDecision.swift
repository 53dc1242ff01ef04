import HotPush

/// The decision about a check, made before anything is looked up.
enum HotUpdaterDecision {
    /// It runs the right bundle.
    case nothing
    /// A newer bundle.
    case update(ClientChannel.Live)
    /// An older bundle, since the one that it runs is no longer for it.
    case goBack(ClientChannel.Live)
    /// The app's built-in bundle.
    case goBackToBuiltIn

    /// Decides on the newest bundle for this device; else its own, if that is still for it; else the newest older one,
    /// whatever its roll-out; else the built-in one.
    ///
    /// Bundles are ordered by their ids, which never change, so a channel that offers an older release again takes back
    /// the newer ones.
    static func decide(_ check: HotUpdaterCheck, in channel: ClientChannel) -> Self {
        // Nothing was ever offered: other servers' bundles are not for this one to take back.
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
        /// Whether its roll-out reaches the device.
        var isEligible: Bool
    }

    /// The bundles that the channel offers to the app and has not taken back from this device.
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
                // Devices go back to what was shipped: all below is taken back.
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

    /// The order of ids.
    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }
}
