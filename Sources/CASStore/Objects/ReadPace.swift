import Synchronization

/// Keeps the reads of all threads of a check below a rate.
final class ReadPace: Sendable {
    private let limit: Mutex<RateLimit>
    private let began = ContinuousClock.now
    private let check: @Sendable () throws(StoreError) -> Void

    /// - Parameter check: called while a thread waits; what it throws ends the wait.
    init(byteRate: Int64, _ check: @escaping @Sendable () throws(StoreError) -> Void) {
        limit = Mutex(RateLimit(byteRate: byteRate))
        self.check = check
    }

    /// Notes that bytes were read, and waits until more may be.
    func spend(_ count: Int) throws(StoreError) {
        var wait = limit.withLock { limit in
            limit.fill(at: milliseconds())
            limit.take(count)
            return limit.wait
        }
        while wait > 0 {
            try check()
            pause(milliseconds: Int32(min(wait, 100)))
            wait = limit.withLock { limit in
                limit.fill(at: milliseconds())
                return limit.wait
            }
        }
    }

    private func milliseconds() -> Int64 {
        let (seconds, attoseconds) = (ContinuousClock.now - began).components
        return seconds * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
