import Platform
import Synchronization

/// What was asked of a bucket in vain: whoever can ask the server can ask for anything.
///
/// Several threads may use it at once.
final class MirrorAbsences: Sendable {
    private struct State: Sendable {
        /// When something was found missing, by its key.
        var keys = BoundedCache<String, Int64>(limit: 1_024)
        /// When those were that no document of the origin names, the oldest first.
        var strays: [Int64] = []
    }

    private let now: @Sendable () -> Int64
    private let state = Mutex(State())

    /// How long it is believed that something is not there, in milliseconds.
    static let lifetime: Int64 = 60_000
    /// After so many vain requests in that time, what no document names is not asked for.
    static let strayCountMax = 64

    /// - Parameter now: a clock in milliseconds that never goes back.
    init(now: @escaping @Sendable () -> Int64 = { SystemClock.milliseconds }) { self.now = now }

    /// Whether a file was found missing a short time ago.
    func has(_ key: String) -> Bool {
        let time = now()
        return state.withLock { $0.keys.value(of: key).map { time - $0 < Self.lifetime } ?? false }
    }

    /// Notes that a file is not there.
    func note(_ key: String) {
        let time = now()
        _ = state.withLock { $0.keys.insert(key, time, cost: 1) }
    }

    /// Whether so much was asked for in vain that nothing more is, for a while.
    var areTooMany: Bool {
        let time = now()
        return state.withLock { state in
            state.strays.count >= Self.strayCountMax
                && time - (state.strays.first ?? 0) < Self.lifetime
        }
    }

    /// Counts a vain request for what no document names.
    func countStray() {
        let time = now()
        state.withLock { state in
            state.strays.append(time)
            if state.strays.count > Self.strayCountMax { state.strays.removeFirst() }
        }
    }

    /// Forgets which files are missing: the origin has changed.
    func forgetKeys() { state.withLock { $0.keys = BoundedCache(limit: 1_024) } }
}
