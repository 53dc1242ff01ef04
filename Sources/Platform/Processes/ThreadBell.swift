#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value that threads change and wait for.
///
/// `@unchecked Sendable`: the pointers lead to POSIX objects made for many threads, which guard the value.
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

    /// Changes the value and wakes one waiting thread, or all if the change returns `true`.
    func change(_ change: (inout Value) -> Bool) {
        pthread_mutex_lock(mutex)
        let isForAll = change(&value)
        pthread_mutex_unlock(mutex)
        if isForAll { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
    }

    /// Waits until the value is as wanted, and changes it before any other thread does.
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

    /// Returns after the next ring, or at once if it rang since the last wait.
    package func wait() { hasRung.wait(until: { $0 }) { $0 = false } }
}

/// Lets a limited number of threads pass at once; the others wait.
package final class ThreadGate: Sendable {
    private let state: Monitor<(limit: Int, insideCount: Int)>

    package init(limit: Int) { state = Monitor((max(limit, 1), 0)) }

    package func enter() {
        state.wait(until: { $0.insideCount < $0.limit }) { $0.insideCount += 1 }
    }

    /// Leaves, and sets a new limit.
    package func leave(limit: Int) {
        state.change { state in
            defer { state.limit = max(limit, 1) }
            state.insideCount -= 1
            return limit > state.limit
        }
    }
}
