internal import Platform

/// Writes lines to a file that may block: a pipe that is not read, a paused terminal, a slow disk.
///
/// A separate thread writes them, so that adding a line never waits, which a server's threads must not. Lines beyond
/// the limit are dropped and counted; once lines flow again, the number is written in their place. The file stays
/// blocking, because other programs may have it open, too; the thread asks it for space before each write (poll(2)).
/// Safe to use from all threads.
package final class LineQueue: Sendable {
    private struct State {
        var waiting: [[UInt8]] = []
        /// The cost of the waiting lines and of those being written.
        var cost = 0
        var dropped = 0
        /// Counts lines that were written or given up.
        var done = 0
        var hasThread = false
        var isStuck = false
        var isBroken = false
        var hasFailed = false
        var isOver: Bool { cost == 0 || isStuck || isBroken }
    }

    /// Far more than a live reader is ever behind.
    package static let byteCountMax = 1 << 20
    private static let overhead = 64
    /// A pipe that has space at all has space for this many bytes (pipe(7), PIPE_BUF).
    private static let pieceByteCount = 4096
    private static let endPause = Duration.seconds(1)

    private let descriptor: Int32
    private let byteCountMax: Int
    /// Whether a write may wait for a reader, so that the thread must ask for space.
    private let mayBlock: Bool
    private let state = Monitor(State())
    private let onTurn: @Sendable () -> Void
    private let onLoss: @Sendable (Int) -> [UInt8]?
    private let onFailure: @Sendable (_ reason: String) -> Void

    /// - Parameters:
    ///   - descriptor: of a file that stays open.
    ///   - onTurn: called before each line is written, on the thread that writes.
    ///   - onLoss: makes the line with the number of dropped ones; `nil` to write none there.
    ///   - onFailure: called once, with the reason, if the file cannot be written; not if its reader has gone.
    package init(
        descriptor: Int32, byteCountMax: Int = LineQueue.byteCountMax,
        onTurn: @escaping @Sendable () -> Void = {},
        onLoss: @escaping @Sendable (Int) -> [UInt8]?,
        onFailure: @escaping @Sendable (_ reason: String) -> Void = { _ in }
    ) {
        self.descriptor = descriptor
        self.byteCountMax = byteCountMax
        self.onTurn = onTurn
        self.onLoss = onLoss
        self.onFailure = onFailure
        mayBlock = !System.isRegularFile(descriptor)
    }

    /// Adds a line, including its line feed; never waits.
    package func add(_ line: [UInt8]) {
        let needsThread = state.change { state -> Bool in
            guard !state.isBroken else { return false }
            guard state.cost + line.count + Self.overhead <= byteCountMax else {
                state.dropped += 1
                return false
            }
            noteLoss(&state)
            append(line, &state)
            defer { state.hasThread = true }
            return !state.hasThread
        }
        if needsThread, !Parallel.start({ self.run() }) {
            // No thread is available: the next line tries again.
            state.change { $0.hasThread = false }
        }
    }

    /// Writes what is queued, as long as it flows, and drops the rest; waits at most a second for a started line.
    package func end() {
        var (seen, isOver) = (-1, false)
        while !isOver {
            let news = state.wait(
                atMost: Self.endPause, until: { $0.done != seen || $0.isOver }
            ) { ($0.done, $0.isOver) }
            (seen, isOver) = news ?? (seen, true)
        }
    }

    private func append(_ line: [UInt8], _ state: inout State) {
        state.waiting.append(line)
        state.cost += line.count + Self.overhead
    }

    private func noteLoss(_ state: inout State) {
        guard state.dropped > 0 else { return }
        let line = onLoss(state.dropped)
        state.dropped = 0
        if let line { append(line, &state) }
    }

    // MARK: The thread

    private func run() {
        while true {
            let lines = state.wait(until: { !$0.waiting.isEmpty || $0.dropped > 0 }) { state in
                // The last loss is reported even if no further line comes.
                if state.waiting.isEmpty { noteLoss(&state) }
                defer { state.waiting = [] }
                return state.waiting
            }
            for line in lines {
                write(line)
                state.change { state in
                    state.cost -= line.count + Self.overhead
                    state.done += 1
                }
            }
        }
    }

    private func write(_ line: [UInt8]) {
        guard !state.change({ $0.isBroken }) else { return }
        onTurn()
        do throws(SystemError) {
            guard mayBlock else { return try System.write(line[...], to: descriptor) }
            var start = 0
            while start < line.count {
                try waitForSpace()
                let end = min(line.count, start + Self.pieceByteCount)
                try System.write(line[start..<end], to: descriptor)
                start = end
            }
        } catch {
            // A disk that is full for a moment takes the next line; a reader that has gone takes none.
            let isNews = state.change { state -> Bool in
                if error.isClosedPipe { state.isBroken = true }
                defer { state.hasFailed = true }
                return !state.isBroken && !state.hasFailed
            }
            if isNews { onFailure(error.text) }
        }
    }

    private func waitForSpace() throws(SystemError) {
        if try System.isWritable(descriptor, within: .zero) { return }
        state.change { $0.isStuck = true }
        defer { state.change { $0.isStuck = false } }
        while try !System.isWritable(descriptor, within: nil) {}
    }
}
