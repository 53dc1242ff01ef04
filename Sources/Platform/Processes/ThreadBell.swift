#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Wakes one thread that waits for work.
///
/// `@unchecked Sendable`: what the pointers lead to is of POSIX, made for many threads.
package final class ThreadBell: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    /// Guarded by the mutex: a ring before the wait is not lost.
    private var hasRung = false

    package init() {
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    package func ring() {
        pthread_mutex_lock(mutex)
        let isNews = !hasRung
        hasRung = true
        pthread_mutex_unlock(mutex)
        if isNews { pthread_cond_signal(condition) }
    }

    /// Returns after the next ring, or at once if one has come since the last wait.
    package func wait() {
        pthread_mutex_lock(mutex)
        while !hasRung { pthread_cond_wait(condition, mutex) }
        hasRung = false
        pthread_mutex_unlock(mutex)
    }
}
