import Synchronization

/// Progress of long work, drawn at most ten times a second; any thread may call, at a cost of nanoseconds.
///
/// `finish` removes the bar, and so does the last reference to it.
package final class ProgressBar: Sendable {
    private let operation: String
    private let unit: ProgressUnit
    private let doneCount = Atomic<Int>(0)
    private let total: Mutex<Int?>
    private let statusLine: StatusLine?
    private let now: @Sendable () -> Duration
    private let startedAt: Duration
    /// Nanoseconds since the start before which nothing is drawn; the thread that advances it draws.
    private let drawsAt = Atomic<Int64>(ProgressBar.intervalNanoseconds)
    private let isFinished = Atomic<Bool>(false)

    private static let intervalNanoseconds: Int64 = 100_000_000

    init(
        operation: String, total: Int?, unit: ProgressUnit, statusLine: StatusLine?,
        now: @escaping @Sendable () -> Duration
    ) {
        self.operation = operation
        self.total = Mutex(total)
        self.unit = unit
        self.statusLine = statusLine
        self.now = now
        startedAt = now()
    }

    deinit {
        if !isFinished.load(ordering: .relaxed) { statusLine?.clear() }
    }

    var done: Int { doneCount.load(ordering: .relaxed) }

    /// Sets how much is done and, once known, the total; of reports that overtake each other the last one stays.
    package func report(_ done: some BinaryInteger, of total: (some BinaryInteger)? = Int?.none) {
        doneCount.store(Int(clamping: done), ordering: .relaxed)
        if let total { self.total.withLock { $0 = Int(clamping: total) } }
        drawIfDue()
    }

    /// Removes the bar; later reports are not drawn.
    package func finish() {
        isFinished.store(true, ordering: .relaxed)
        statusLine?.clear()
    }

    private func drawIfDue() {
        guard let statusLine, !isFinished.load(ordering: .relaxed) else { return }
        let elapsed = now() - startedAt
        let nanoseconds = Int64(clamping: elapsed.wholeNanoseconds)
        let due = drawsAt.load(ordering: .relaxed)
        guard nanoseconds >= due else { return }
        let turn = drawsAt.compareExchange(
            expected: due, desired: nanoseconds + Self.intervalNanoseconds, ordering: .relaxed)
        guard turn.exchanged else { return }
        let line = ProgressLine(
            operation: operation, done: done, total: total.withLock { $0 }, unit: unit,
            elapsed: elapsed)
        // Asked again under the lock: `finish` may have cleared the line in the meantime.
        statusLine.draw { columns in
            isFinished.load(ordering: .relaxed) ? nil : line.text(columns: columns)
        }
    }
}

extension Duration {
    fileprivate var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
    }
}
