#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lets so many threads pass at once; the others wait.
///
/// `@unchecked Sendable`: what the pointers lead to is of POSIX, made for many threads; the counts are guarded by it.
package final class ThreadGate: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var limit: Int
    private var insideCount = 0

    /// A gate for so many.
    package init(limit: Int) {
        self.limit = max(limit, 1)
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Waits until there is room, then goes in.
    package func enter() {
        pthread_mutex_lock(mutex)
        while insideCount >= limit { pthread_cond_wait(condition, mutex) }
        insideCount += 1
        pthread_mutex_unlock(mutex)
    }

    /// Goes out, and lets as many in from now on.
    package func leave(limit: Int) {
        pthread_mutex_lock(mutex)
        insideCount -= 1
        let isWider = limit > self.limit
        self.limit = max(limit, 1)
        pthread_mutex_unlock(mutex)
        if isWider { pthread_cond_broadcast(condition) } else { pthread_cond_signal(condition) }
    }
}
