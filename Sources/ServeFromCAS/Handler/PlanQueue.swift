import Synchronization

/// Long work for clients, done by a few threads beside those that serve: so much for each client, and so much in all.
///
/// Work has a key, and what has the same key is done one after the other and counts once: who asks for what is being
/// made already waits for that, whoever asked first.
package final class PlanQueue: Sendable {
    /// How much is taken.
    package struct Limits: Sendable {
        /// Threads that work at once.
        package var threads = 2
        /// Keys of one client.
        package var perClient = 8
        /// Keys of all clients.
        package var all = 64
        /// Requests that wait for keys that are there already.
        package var waiting = 4096
        /// Whether the threads let others have the processors first.
        package var givesWay = true

        package init() {}
    }

    /// What is to be done; it calls its argument once, when all is over, from any thread.
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
    private let threads: StoreQueue
    private let state = Mutex(State())

    /// - Parameter limits: how much is taken.
    package init(_ limits: Limits = Limits()) {
        self.limits = limits
        threads = StoreQueue(
            threads: limits.threads, countMax: limits.all, givesWay: limits.givesWay)
    }

    /// Does some work, perhaps after other work with the same key.
    ///
    /// - Parameters:
    ///   - key: what is made.
    ///   - client: who asks, as ``Exchange/client(of:)`` tells clients apart.
    ///   - work: makes it.
    /// - Returns: `false` if the client, or all together, have as much under way as may be; then nothing is done.
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
        // Without a thread it is late for everybody, and lost to nobody.
        if !threads.add(job) { job() }
    }

    /// What was done for a key is over: the next that waits for it, or another key.
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
