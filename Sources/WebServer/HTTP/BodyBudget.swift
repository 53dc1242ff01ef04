import Synchronization

/// How many bytes of bodies all connections of a server may hold in memory together.
package final class BodyBudget: Sendable {
    private let limit: Int
    private let held = Atomic<Int>(0)

    package init(_ limit: Int) { self.limit = limit }

    /// Takes bytes; `false` if there are not so many left, and then none are taken.
    func take(_ count: Int) -> Bool {
        guard held.add(count, ordering: .relaxed).newValue > limit else { return true }
        giveBack(count)
        return false
    }

    func giveBack(_ count: Int) { held.subtract(count, ordering: .relaxed) }
}
