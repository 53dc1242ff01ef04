import Synchronization

/// Progress of long work, drawn on the terminal at most ten times a second.
///
/// Any thread may call; a call costs a few nanoseconds when nothing is drawn. `finish` removes the
/// bar, and so does the last reference to it.
public final class ProgressBar: Sendable {
    private let doneCount: Atomic<Int>
    private let doneBefore: Int
    private let unit: ProgressUnit
    private let shown = Mutex<(label: String, total: Int?)>(("", nil))
    private let statusLine: StatusLine?
    private let now: @Sendable () -> Duration
    private let startedAt: Duration
    /// Nanoseconds since the start before which nothing is drawn; whoever moves it on draws.
    private let drawsAt = Atomic<Int64>(ProgressBar.intervalNanoseconds)
    private let isFinished = Atomic<Bool>(false)

    private static let intervalNanoseconds: Int64 = 100_000_000

    init(
        label: String, total: Int?, done: Int, unit: ProgressUnit, statusLine: StatusLine?,
        now: @escaping @Sendable () -> Duration
    ) {
        doneCount = Atomic(done)
        doneBefore = done
        self.unit = unit
        self.statusLine = statusLine
        self.now = now
        startedAt = now()
        shown.withLock { $0 = (label, total) }
    }

    deinit {
        if !isFinished.load(ordering: .relaxed) { statusLine?.clear() }
    }

    /// How much is done.
    public var done: Int { doneCount.load(ordering: .relaxed) }

    /// Notes that so much more is done.
    public func advance(by count: Int = 1) {
        doneCount.add(count, ordering: .relaxed)
        drawIfDue()
    }

    /// Notes what is being done now, and of how much.
    public func update(label: String? = nil, total: Int? = nil) {
        shown.withLock { shown in
            if let label { shown.label = label }
            if let total { shown.total = total }
        }
        drawIfDue()
    }

    /// Removes the bar; what is counted afterwards is not drawn.
    public func finish() {
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
        let (label, total) = shown.withLock { $0 }
        let line = ProgressLine(
            label: label, done: done, total: total, unit: unit, doneBefore: doneBefore,
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
