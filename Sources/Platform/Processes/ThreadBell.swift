#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value that threads change and wait for.
///
/// `@unchecked Sendable`: what the pointers lead to is of POSIX, made for many threads; the value is guarded by it.
private final class Monitor<Value>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value, and wakes one that waits, or all if the change says so.
    func change(_ change: (inout Value) -> Bool) {
        pthread_mutex_lock(mutex)
        let isForAll = change(&value)
        pthread_mutex_unlock(mutex)
        if isForAll { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
    }

    /// Waits until the value is as wanted, and changes it before anybody else does.
    func wait(until isReady: (Value) -> Bool, _ change: (inout Value) -> Void) {
        pthread_mutex_lock(mutex)
        while !isReady(value) { pthread_cond_wait(condition, mutex) }
        change(&value)
        pthread_mutex_unlock(mutex)
    }
}

/// Wakes one thread that waits for work.
package final class ThreadBell: Sendable {
    /// A ring before the wait is not lost.
    private let hasRung = Monitor(false)

    package init() {}

    package func ring() {
        hasRung.change { hasRung in
            hasRung = true
            return false
        }
    }

    /// Returns after the next ring, or at once if one has come since the last wait.
    package func wait() { hasRung.wait(until: { $0 }) { $0 = false } }
}

/// Lets so many threads pass at once; the others wait.
package final class ThreadGate: Sendable {
    private let state: Monitor<(limit: Int, insideCount: Int)>

    /// A gate for so many.
    package init(limit: Int) { state = Monitor((max(limit, 1), 0)) }

    /// Waits until there is room, then goes in.
    package func enter() {
        state.wait(until: { $0.insideCount < $0.limit }) { $0.insideCount += 1 }
    }

    /// Goes out, and lets as many in from now on.
    package func leave(limit: Int) {
        state.change { state in
            defer { state.limit = max(limit, 1) }
            state.insideCount -= 1
            return limit > state.limit
        }
    }
}
