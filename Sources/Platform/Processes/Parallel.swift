import CSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A few threads that pull chunks of work from one counter.
///
/// Measured: half the time of one thread on two cores. A task per file would be 1.3 to 3 times slower, because here
/// each worker keeps its own hasher and buffer.
package enum Parallel {
    /// As many workers as the machine has processors, or as its quota of them allows; at most eight.
    package static let workerCount: Int = {
        let quota = processorQuota(LockHolder.text("/proc/self/cgroup", limit: 4096)) {
            LockHolder.text($0, limit: 64)
        }
        return min(max(Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))), 1), quota ?? 8, 8)
    }()

    /// How many processors the control group of this process may use, rounded up; `nil` without a quota.
    ///
    /// cgroups(7), `cpu.max`. Groups above it are not asked: containers and services have the quota themselves.
    /// - Parameter groups: `/proc/self/cgroup`.
    static func processorQuota(_ groups: String, _ read: (String) -> String) -> Int? {
        let own = groups.split(separator: "\n").first { $0.hasPrefix("0::/") }
        guard let own else { return nil }
        let words = read("/sys/fs/cgroup\(own.dropFirst(3))/cpu.max").split(
            whereSeparator: \.isWhitespace)
        let (time, period) = (words.first.flatMap { Int($0) }, words.last.flatMap { Int($0) })
        guard let time, let period, time > 0, period > 0 else { return nil }
        return (time - 1) / period + 1
    }

    /// Calls `body` on each of `workers` threads with a counter to pull indices from; throws the first error of any.
    /// - Parameter first: work for the calling thread to do before it pulls chunks, while the others already pull.
    package static func run(
        workers: Int, count: Int, chunk: Int = 16,
        first: () throws(StoreError) -> Void = { () throws(StoreError) in },
        _ body: @escaping @Sendable (borrowing WorkCounter) throws(StoreError) -> Void
    ) throws(StoreError) {
        let work = SharedWork(count: count, chunk: chunk)
        let extra = min(workers, max(1, (count + chunk - 1) / chunk)) - 1
        var threads: [pthread_t] = []
        for _ in 0..<max(extra, 0) {
            let job = Job(
                Cancellation.inherited {
                    do throws(StoreError) { try body(work.counter) } catch { work.fail(error) }
                })
            // A thread that cannot be created (EAGAIN) only means fewer workers.
            if let thread = thread(for: job) { threads.append(thread) }
        }
        do throws(StoreError) {
            try first()
            try body(work.counter)
        } catch { work.fail(error) }
        for thread in threads { pthread_join(thread, nil) }
        if let error = work.firstError { throw error }
    }

    /// Lowers the priority of this thread below the others of the process, for as long as it lives.
    package static func giveWay() { castree_give_way() }

    /// Calls `body`, which may block, on a thread of its own; on this one if no thread can be created.
    package static func detach(_ body: @escaping @Sendable () -> Void) {
        if !start(body) { body() }
    }

    /// Calls `body` on a detached thread.
    /// - Returns: `false` if no thread can be created; then `body` is not called.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        guard let thread = thread(for: Job(body)) else { return false }
        pthread_detach(thread)
        return true
    }

    /// Whether so many threads can be created at once, now.
    package static func canStart(_ count: Int) -> Bool {
        let isOver = Monitor(false)
        let running = (0..<count).compactMap { _ in
            thread(for: Job { isOver.wait(until: { $0 }) { _ in } }).map { Running($0) }
        }
        isOver.change { $0 = true }
        return running.count == count
    }

    /// Calls `body` on a thread of its own to be waited for later; on this one if no thread can be created.
    package static func begin(_ body: @escaping @Sendable () -> Void) -> Running {
        guard let thread = thread(for: Job(Cancellation.inherited(body))) else {
            body()
            return Running(nil)
        }
        return Running(thread)
    }

    /// Work to wait for; belongs to one thread.
    package final class Running {
        private var thread: pthread_t?

        fileprivate init(_ thread: pthread_t?) { self.thread = thread }

        deinit { wait() }

        package func wait() {
            guard let thread = thread.take() else { return }
            pthread_join(thread, nil)
        }
    }

    private final class Job: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    private static func thread(for job: Job) -> pthread_t? {
        let context = Unmanaged.passRetained(job)
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let result = pthread_create(
            &thread, nil,
            { pointer in
                // Optional on Linux, and not on Darwin.
                let context: UnsafeMutableRawPointer? = pointer
                if let context {
                    Unmanaged<Job>.fromOpaque(context).takeRetainedValue().body()
                }
                return nil
            }, context.toOpaque())
        if result == 0 { return thread }
        context.release()
        return nil
    }

    private final class SharedWork: Sendable {
        let counter: WorkCounter
        private let error = Mutex<StoreError?>(nil)

        init(count: Int, chunk: Int) { counter = WorkCounter(count: count, chunk: chunk) }

        func fail(_ failure: StoreError) {
            counter.stop()
            error.withLock { if $0 == nil { $0 = failure } }
        }

        var firstError: StoreError? { error.withLock { $0 } }
    }
}

/// Hands out ranges of indices, each index once, to several threads.
package struct WorkCounter: ~Copyable, Sendable {
    private let next = Atomic<Int>(0)
    private let count: Int
    private let chunk: Int

    init(count: Int, chunk: Int) {
        self.count = count
        self.chunk = chunk
    }

    /// The next chunk of indices; `nil` when all are handed out or a worker failed.
    package borrowing func nextChunk() -> Range<Int>? {
        let start = next.add(chunk, ordering: .relaxed).oldValue
        return start < count ? start..<min(start + chunk, count) : nil
    }

    borrowing func stop() { next.store(count, ordering: .relaxed) }
}
