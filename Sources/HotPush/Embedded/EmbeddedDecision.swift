internal import VersionTree

/// Decides, without a disk, whether to show a newly embedded version instead of the current one.
enum EmbeddedDecision {
    /// A version that competes with the embedded one.
    struct Rival: Sendable, Hashable {
        var version: String
        /// Whether it has the embedded version's content.
        var isSame = false
        /// Its place among the origin's releases.
        var order: Int64?
        /// Whether the app as it is now can run it.
        var isFit = true
        /// Whether it is the version that was shipped with the app before.
        var wasEmbedded = false
    }

    /// Deletes nothing: the loser stays in the store, and costs nothing if an origin offers it again.
    /// - Parameter winsWhenInDoubt: decides if the orders do not tell which is newer.
    static func decide(
        order: Int64?, winsWhenInDoubt: Bool, current: Rival?, pending: Rival?
    ) -> EmbeddedChange {
        func wins(_ rival: Rival) -> (Bool, String) {
            let name = "version \(rival.version)"
            if !rival.isFit { return (true, "the app can no longer run \(name)") }
            if rival.isSame { return (false, "\(name) has the same content") }
            if rival.wasEmbedded { return (true, "\(name) was the previous embedded version") }
            if let order, let other = rival.order {
                return order < other
                    ? (false, "\(name) is newer than the embedded version")
                    : (true, "\(name) is older than the embedded version")
            }
            return winsWhenInDoubt
                ? (true, "the embedded version takes precedence over earlier downloads")
                : (false, "\(name) takes precedence over the embedded version, by the app's choice")
        }
        var change = EmbeddedChange()
        (change.becomesCurrent, change.reason) =
            current.map(wins) ?? (true, "nothing else was current")
        // A pending version that is no newer would replace it at the next start.
        if let pending { change.dropsPending = pending.isSame || wins(pending).0 }
        return change
    }
}
