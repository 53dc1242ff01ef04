import CASStore
import HotPush
import Synchronization

final class PackingProgress: Sendable {
    let isInterrupted: @Sendable () -> Bool
    private let report: @Sendable (_ done: Int64, _ total: Int64) -> Void
    private let expected: Int64
    private let done = Atomic<Int64>(0)
    private let total = Atomic<Int64>(0)
    private let reused = Atomic<Int>(0)
    private let made = Atomic<Int>(0)

    /// - Parameter expected: an estimate of the bytes to examine, until they are known.
    init(
        expected: Int64, isInterrupted: @escaping @Sendable () -> Bool,
        report: @escaping @Sendable (_ done: Int64, _ total: Int64) -> Void
    ) {
        self.expected = expected
        self.isInterrupted = isInterrupted
        self.report = report
    }

    var frameCounts: (reused: Int, made: Int) {
        (reused.load(ordering: .relaxed), made.load(ordering: .relaxed))
    }

    func check() throws(StoreError) {
        if isInterrupted() { throw .packingInterrupted }
    }

    func add(_ byteCount: Int64) { total.add(byteCount, ordering: .relaxed) }

    /// Reports uncounted work, so that the display appears immediately.
    func tick() {
        let total = total.load(ordering: .relaxed)
        report(done.load(ordering: .relaxed), total > 0 ? total : expected)
    }

    func countReused(_ count: Int) { reused.add(count, ordering: .relaxed) }

    func advance(by byteCount: Int64) {
        made.add(1, ordering: .relaxed)
        done.add(byteCount, ordering: .relaxed)
        tick()
    }
}

extension StoreError {
    /// The error of a publisher interrupted by a signal before it has committed anything.
    static var publishingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted; the channel offers what it did before, and repeat the command to continue"
        )
    }

    static var packingInterrupted: StoreError {
        StoreError(
            .interrupted,
            "interrupted while packing; what is compressed is kept, and repeat the command to continue"
        )
    }
}
