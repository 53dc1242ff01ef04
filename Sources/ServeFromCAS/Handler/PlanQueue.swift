import Synchronization

/// Long work for clients on a few threads beside the serving ones, with limits for each client and for all.
///
/// Work with the same key runs one after the other and counts once: requests for the same result wait for the first.
package final class PlanQueue: Sendable {
    package struct Limits: Sendable {
        package var threads = 2
        package var perClient = 8
        package var all = 64
        /// Requests that wait for keys already queued.
        package var waiting = 4096
        package var givesWay = true

        package init() {}
    }

    /// The work; it calls its argument once when finished, from any thread.
    package typealias Work = @Sendable (_ done: @escaping @Sendable () -> Void) -> Void

    private struct Place {
        let client: [UInt8]
        var following: [Work] = []
    }

    private struct State {
        var places: [String: Place] = [:]
        var counts: [[UInt8]: Int] = [:]
        var waiting = 0
    }

    private let limits: Limits
    private let threads: WorkQueue
    private let state = Mutex(State())

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
        threads = WorkQueue(
            threads: limits.threads, countMax: limits.all, givesWay: limits.givesWay)
    }

    /// Does some work, perhaps after other work with the same key.
    /// - Parameters:
    ///   - key: identifies the result.
    ///   - client: who asks, as ``Exchange/client(of:)`` tells clients apart.
    /// - Returns: `false` if a limit is reached; then nothing is done.
    package func add(_ key: String, for client: [UInt8], _ work: @escaping Work) -> Bool {
        let isFirst = state.withLock { state -> Bool? in
            if state.places[key] != nil {
                guard state.waiting < limits.waiting else { return nil }
                state.waiting += 1
                state.places[key]?.following.append(work)
                return false
            }
            guard state.places.count < limits.all,
                state.counts[client, default: 0] < limits.perClient
            else { return nil }
            state.places[key] = Place(client: client)
            state.counts[client, default: 0] += 1
            return true
        }
        if isFirst == true { begin(key, work) }
        return isFirst != nil
    }

    private func begin(_ key: String, _ work: @escaping Work) {
        let job: @Sendable () -> Void = { [self] in work { self.goOn(key) } }
        // If no thread can be started, this one does the work: slow is better than lost.
        if !threads.add(job) { job() }
    }

    /// After work for a key: continues with the next that waits for it, or with another key.
    private func goOn(_ key: String) {
        let next = state.withLock { state -> Work? in
            if state.places[key]?.following.isEmpty == false {
                state.waiting -= 1
                return state.places[key]?.following.removeFirst()
            }
            guard let place = state.places.removeValue(forKey: key) else { return nil }
            let count = state.counts[place.client, default: 0] - 1
            state.counts[place.client] = count > 0 ? count : nil
            return nil
        }
        if let next { begin(key, next) }
    }
}
