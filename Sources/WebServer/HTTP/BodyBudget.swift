import Synchronization

/// The memory that all connections of a server may use together for bodies, for heads that cookies make long, and for
/// WebSocket messages under way.
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

/// What a long head, or a long message under way, takes of the budget; returned when nothing references it.
final class BudgetShare: Sendable {
    private let budget: BodyBudget
    private let held = Atomic<Int>(0)

    init(_ budget: BodyBudget) { self.budget = budget }

    /// Whether it may have so many bytes; called only by the thread that reads them.
    func grow(to count: Int) -> Bool {
        let more = count - held.load(ordering: .relaxed)
        guard more > 0 else { return true }
        guard budget.take(more) else { return false }
        held.store(count, ordering: .relaxed)
        return true
    }

    deinit { budget.giveBack(held.load(ordering: .relaxed)) }
}
