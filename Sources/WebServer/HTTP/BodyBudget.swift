import Synchronization

/// The memory that all connections of a server may use together for bodies, and for heads that cookies make long.
package final class BodyBudget: Sendable {
    private let limit: Int
    private let held = Atomic<Int>(0)

    package init(_ limit: Int) { self.limit = limit }

    /// Takes bytes, all or none; `false` if there are not so many left.
    func take(_ count: Int) -> Bool {
        guard held.add(count, ordering: .relaxed).newValue > limit else { return true }
        giveBack(count)
        return false
    }

    func giveBack(_ count: Int) { held.subtract(count, ordering: .relaxed) }
}

/// A long head's share of the budget, returned when the head is no longer referenced.
final class HeldHead: Sendable {
    private let budget: BodyBudget
    private let held = Atomic<Int>(0)

    init(_ budget: BodyBudget) { self.budget = budget }

    /// Whether the head may have so many bytes; called only by the thread that reads it.
    func grow(to count: Int) -> Bool {
        let more = count - held.load(ordering: .relaxed)
        guard more > 0 else { return true }
        guard budget.take(more) else { return false }
        held.store(count, ordering: .relaxed)
        return true
    }

    deinit { budget.giveBack(held.load(ordering: .relaxed)) }
}
