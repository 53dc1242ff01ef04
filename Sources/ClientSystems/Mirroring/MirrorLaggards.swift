import CASStore
import Platform
import Synchronization

/// Files of a bucket that kept a look waiting and did not come: they are asked for beside the looks, until they answer.
///
/// Several threads may use it at once.
final class MirrorLaggards: Sendable {
    private struct State: Sendable {
        /// Why each of them did not come, by its key.
        var failures: [String: StoreError] = [:]
        /// What is to be asked for, the one that has waited longest first.
        var line: [String] = []
        /// What is in the line, or is being asked for.
        var queued: Set<String> = []
        var threadCount = 0
    }

    private let patience: Int64
    private let ask: @Sendable (String) throws(StoreError) -> Void
    private let state = Mutex(State())

    private static let threadMax = 2
    private static let countMax = 256

    /// - Parameters:
    ///   - patience: how long a file may keep a look waiting, in milliseconds.
    ///   - ask: reads a file, whatever it says; throws if it does not come.
    init(patience: Int64, ask: @escaping @Sendable (String) throws(StoreError) -> Void) {
        self.patience = patience
        self.ask = ask
    }

    /// Notes that a file has not come.
    /// - Parameter began: when it was asked for, by the monotonic clock.
    func note(_ key: String, _ failure: StoreError, since began: Int64) {
        guard MirrorReach.isLoss(failure), SystemClock.milliseconds - began >= patience else {
            return
        }
        state.withLock { state in
            if state.failures.count >= Self.countMax {
                state.failures = state.failures.filter { state.queued.contains($0.key) }
            }
            state.failures[key] = failure
        }
    }

    /// Why a file need not be waited for now; `nil` if it is none of these files.
    ///
    /// It is asked for on another thread.
    func failure(of key: String) -> StoreError? {
        let (failure, needsThread) = state.withLock { state -> (StoreError?, Bool) in
            guard let failure = state.failures[key] else { return (nil, false) }
            guard state.queued.insert(key).inserted else { return (failure, false) }
            state.line.append(key)
            guard state.threadCount < Self.threadMax else { return (failure, false) }
            state.threadCount += 1
            return (failure, true)
        }
        if needsThread { Parallel.detach { self.work() } }
        return failure
    }

    private func work() {
        while let key = next() {
            var failure: StoreError?
            do throws(StoreError) {
                try ask(key)
            } catch {
                // A refusal is an answer: the next look says what it means.
                if MirrorReach.isLoss(error) { failure = error }
            }
            state.withLock { state in
                state.failures[key] = failure
                state.queued.remove(key)
            }
        }
    }

    private func next() -> String? {
        state.withLock { state in
            guard !state.line.isEmpty else {
                state.threadCount -= 1
                return nil
            }
            return state.line.removeFirst()
        }
    }
}
