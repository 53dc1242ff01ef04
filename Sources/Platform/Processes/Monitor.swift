import CSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A value that threads change and wait for.
///
/// `@unchecked Sendable`: the pointers lead to POSIX objects made for many threads, which guard the value.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        #if canImport(Glibc)
            // The clock of `now`.
            var attributes = pthread_condattr_t()
            pthread_condattr_init(&attributes)
            pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
            pthread_cond_init(condition, &attributes)
        #else
            pthread_cond_init(condition, nil)
        #endif
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value, and wakes the threads that wait for it.
    package func change<R>(_ change: (inout Value) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer {
            pthread_mutex_unlock(mutex)
            pthread_cond_broadcast(condition)
        }
        return change(&value)
    }

    /// Waits until the value is as wanted, and changes it before any other thread does.
    package func wait<R>(until isReady: (Value) -> Bool, _ change: (inout Value) -> R) -> R {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(value) { pthread_cond_wait(condition, mutex) }
        return change(&value)
    }

    /// Does the same within a time; `nil` if that has passed.
    package func wait<R>(
        atMost time: Duration, until isReady: (Value) -> Bool, _ change: (inout Value) -> R
    ) -> R? {
        let deadline = now + time
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while !isReady(value) {
            let rest = deadline - now
            guard rest > .zero else { return nil }
            #if canImport(Glibc)
                var end = timespec(deadline)
                pthread_cond_timedwait(condition, mutex, &end)
            #else
                var end = timespec(rest)
                pthread_cond_timedwait_relative_np(condition, mutex, &end)
            #endif
        }
        return change(&value)
    }
}

/// By the clock of `castree_monotonic_ns`, which nobody sets.
private var now: Duration { .nanoseconds(castree_monotonic_ns()) }

extension timespec {
    fileprivate init(_ time: Duration) {
        let (seconds, attoseconds) = time.components
        self.init(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    }
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
        state.change { $0 = (max(limit, 1), $0.insideCount - 1) }
    }
}
