import Synchronization

/// The last line of a terminal, redrawn by a progress bar from any thread; clear it before printing anything else.
final class StatusLine: Sendable {
    private let sink: @Sendable (String) -> Void
    private let columns: @Sendable () -> Int
    private let isDrawn = Mutex(false)

    init(
        columns: @escaping @Sendable () -> Int, sink: @escaping @Sendable (String) -> Void
    ) {
        self.columns = columns
        self.sink = sink
    }

    convenience init(descriptor: Int32) {
        self.init(
            columns: { System.columnCount(of: descriptor) ?? 80 },
            sink: { text in
                // A bar that cannot be drawn is no reason to fail, and there is no one to tell.
                try? System.write(Array(text.utf8)[...], to: descriptor)
            })
    }

    /// Replaces the line by the one that the closure makes for the width given; nil leaves it.
    func draw(_ render: (_ columns: Int) -> String?) {
        isDrawn.withLock { isDrawn in
            // One column is left free: a full line would wrap, and the next drawing with it.
            guard let line = render(columns() - 1) else { return }
            sink("\r" + line + "\u{1B}[K")
            isDrawn = true
        }
    }

    func clear() {
        isDrawn.withLock { isDrawn in
            if isDrawn { sink("\r\u{1B}[K") }
            isDrawn = false
        }
    }
}
