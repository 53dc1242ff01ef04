import CASStore
import Synchronization

/// Work that nobody can stop in its middle, such as one call of libzstd: whoever waits for it need not.
enum UnstoppableWork {
    private final class Outcome<R: Sendable>: Sendable {
        let result = Mutex<Result<R, StoreError>?>(nil)
    }

    /// Does the work on a thread of its own, and waits for it.
    ///
    /// - Throws: `.interrupted`, within a few milliseconds: the work then goes on to its end, and nobody hears of it;
    ///   what `body` throws.
    static func run<R: Sendable>(
        unless isInterrupted: () -> Bool,
        _ body: @escaping @Sendable () throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let outcome = Outcome<R>()
        Parallel.detach {
            let result: Result<R, StoreError>
            do throws(StoreError) {
                result = .success(try body())
            } catch {
                result = .failure(error)
            }
            outcome.result.withLock { $0 = result }
        }
        var rest: Int32 = 1
        while true {
            if let result = outcome.result.withLock({ $0 }) { return try result.get() }
            if isInterrupted() { throw .packingInterrupted }
            pause(milliseconds: rest)
            rest = min(2 * rest, 10)
        }
    }
}
