import CASStore
import Synchronization

/// One document of the dashboard: made on another thread, and kept for a while for all requests.
///
/// Requests that come while it is being made share the result, so a hundred windows cost as much as one.
final class DashboardDocument: Sendable {
    struct Made: Sendable {
        var bytes: [UInt8]
        var policy: String
        /// The strong entity tag with its quotes.
        var tag: String
    }

    typealias Outcome = Result<Made, StoreError>

    private struct State {
        var made: Made?
        var freshUntil = Duration.zero
        var waiting: [@Sendable (Outcome) -> Void] = []
        var isMaking = false
    }

    private let make: @Sendable () throws(StoreError) -> Dashboard.Page
    private let freshFor: Duration
    private let state = Mutex(State())

    /// - Parameter freshFor: how long it is kept at least. If making it takes long, it is kept ten times as long as
    ///   that, so that it never takes more than a tenth of one processor.
    init(
        freshFor: Duration, _ make: @escaping @Sendable () throws(StoreError) -> Dashboard.Page
    ) {
        self.freshFor = freshFor
        self.make = make
    }

    /// Calls `answer` with the document: at once if it is fresh, otherwise from another thread.
    func ask(now: Duration, _ answer: @escaping @Sendable (Outcome) -> Void) {
        let (fresh, begins) = state.withLock { state -> (Made?, Bool) in
            if let made = state.made, now < state.freshUntil { return (made, false) }
            state.waiting.append(answer)
            defer { state.isMaking = true }
            return (nil, !state.isMaking)
        }
        if let fresh { return answer(.success(fresh)) }
        if begins { Parallel.detach { self.run() } }
    }

    private func run() {
        let began = SystemClock.now
        let outcome = Outcome { () throws(StoreError) in
            let page = try make()
            let digest = try Digester.digest(.sha256, of: page.bytes)
            let tag = "\"\(Hex.string(digest.prefix(16)))\""
            return Made(bytes: page.bytes, policy: page.policy, tag: tag)
        }
        let now = SystemClock.now
        let waiting = state.withLock { state -> [@Sendable (Outcome) -> Void] in
            // After a failure, the next request makes it again.
            state.made = nil
            if case .success(let made) = outcome { state.made = made }
            state.freshUntil = now + max(freshFor, (now - began) * 10)
            state.isMaking = false
            defer { state.waiting = [] }
            return state.waiting
        }
        for answer in waiting { answer(outcome) }
    }
}
