import Synchronization

/// What happens at one request of an actor, once.
package final class Once: Sendable {
    private let fits: @Sendable (ModelRequest) -> Bool
    private let fate: RequestFate
    private let body: @Sendable () -> Void
    private let reached = Atomic<Bool>(false)

    /// - Parameter body: what others do just before it.
    package init(
        where fits: @escaping @Sendable (ModelRequest) -> Bool, _ fate: RequestFate = .answered,
        _ body: @escaping @Sendable () -> Void = {}
    ) {
        (self.fits, self.fate, self.body) = (fits, fate, body)
    }

    package convenience init(
        at number: Int, _ fate: RequestFate = .answered,
        _ body: @escaping @Sendable () -> Void = {}
    ) {
        self.init(where: { $0.number == number }, fate, body)
    }

    package var wasReached: Bool { reached.load(ordering: .relaxed) }

    package func callAsFunction(_ request: ModelRequest) -> RequestFate {
        guard fits(request), !reached.exchange(true, ordering: .relaxed) else { return .answered }
        body()
        return fate
    }
}
