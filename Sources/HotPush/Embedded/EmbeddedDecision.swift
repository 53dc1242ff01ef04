internal import VersionTree

/// Whether a newly embedded version is shown instead of what is current: a value, decided without
/// looking at a disk.
struct EmbeddedDecision: Sendable, Hashable {
    /// A version that stands against the embedded one.
    struct Rival: Sendable, Hashable {
        var version: String
        /// Whether its content is the embedded version's.
        var isSame = false
        /// Its place among the origin's releases.
        var order: Int64?
        /// Whether the app as it is now can run it.
        var isFit = true
        /// Whether it is the version that the app was shipped with before.
        var wasEmbedded = false
    }

    var becomesCurrent: Bool
    var dropsPending = false
    var reason: String

    /// Decides.
    ///
    /// Nothing is deleted by it: what loses stays in the store, and costs nothing if an origin offers
    /// it again.
    ///
    /// - Parameters:
    ///   - winsWhenInDoubt: what counts where the orders do not say which is newer.
    static func decide(
        order: Int64?, winsWhenInDoubt: Bool, current: Rival?, pending: Rival?
    ) -> EmbeddedDecision {
        func wins(_ rival: Rival) -> (Bool, String) {
            let name = "version \(rival.version)"
            if !rival.isFit { return (true, "the app cannot run \(name) any more") }
            if rival.isSame { return (false, "\(name) has the same content") }
            if rival.wasEmbedded { return (true, "\(name) was shipped with the app before it") }
            if let order, let other = rival.order {
                return order < other
                    ? (false, "\(name) is newer than what the app was shipped with")
                    : (true, "\(name) is older than what the app was shipped with")
            }
            return winsWhenInDoubt
                ? (true, "what the app was shipped with goes before earlier downloads")
                : (false, "\(name) goes before what the app was shipped with, by the app's choice")
        }
        var decision =
            current.map { rival in
                let (becomesCurrent, reason) = wins(rival)
                return EmbeddedDecision(becomesCurrent: becomesCurrent, reason: reason)
            } ?? EmbeddedDecision(becomesCurrent: true, reason: "nothing else was current")
        // What waits and is no newer would take the place at the next start.
        if let pending { decision.dropsPending = pending.isSame || wins(pending).0 }
        return decision
    }
}
