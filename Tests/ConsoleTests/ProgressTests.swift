import Expectations

@testable import Console

@Suite struct ProgressLineTests {
    private let line = ProgressLine(
        operation: "Hashing", done: 512 << 20, total: 1 << 30, unit: .bytes, elapsed: .seconds(4))

    @Test func `a wide line shows bar, share, bytes, rate and time left`() {
        expect(
            line.text(columns: 79),
            equals: "Hashing  [========        ]   50%"
                + "    512.0 MiB/1.0 GiB   128.0 MiB/s  0:04 left")
    }

    @Test func `no line is wider than its terminal`() {
        for columns in 0...200 {
            for done in [0, 1, 512 << 20, 1 << 30, Int.max] {
                for total in [nil, 0, 1 << 30, Int.max] as [Int?] {
                    var line = line
                    (line.done, line.total) = (done, total)
                    expect(line.text(columns: columns).columnCount <= columns)
                }
            }
        }
    }

    @Test func `a narrow line keeps the operation and the share longest`() {
        expect(line.text(columns: 13), equals: "Hashing   50%")
        expect(line.text(columns: 7), equals: "Hashing")
        expect(line.text(columns: 4), equals: "Has…")
        expect(line.text(columns: 0), equals: "")
    }

    @Test func `an unknown total shows what is done and how fast`() {
        var line = line
        line.total = nil
        expect(line.text(columns: 79), equals: "Hashing  512.0 MiB   128.0 MiB/s")
    }

    @Test func `before any time has passed there is no rate`() {
        var line = line
        line.elapsed = .zero
        expect(line.text(columns: 79).hasSuffix("]   50%    512.0 MiB/1.0 GiB"))
    }

    @Test func `more than everything is everything`() {
        var line = line
        line.done = 2 << 30
        expect(line.text(columns: 79).contains("100%"))
        expect(!line.text(columns: 79).contains("left"))
        (line.done, line.total) = (0, 0)
        expect(line.text(columns: 79).contains("100%"))
    }

    @Test func `all but everything is not 100 %`() {
        var line = line
        line.done = 1 << 30 - 1
        expect(line.text(columns: 79).contains(" 99%") || line.text(columns: 79).contains(" 50%"))
    }

    @Test func `things are counted with their noun`() {
        let line = ProgressLine(
            operation: "Linking", done: 1500, total: 10_000, unit: .count("files"),
            elapsed: .seconds(1)
        )
        expect(
            line.text(columns: 100).hasSuffix("15%   1,500/10,000 files       1,500/s  0:06 left"))
    }

    @Test(arguments: [(59, "0:59"), (61, "1:01"), (3600, "1:00:00"), (90_061, "25:01:01")])
    func `the time left reads as a clock`(seconds: Int, clock: String) {
        let line = ProgressLine(
            operation: "", done: 1, total: 1 + seconds, unit: .count("x"), elapsed: .seconds(1))
        expect(line.text(columns: 200).hasSuffix("\(clock) left"))
    }

    @Test func `an operation from outside is escaped`() {
        var line = line
        line.operation = "a\u{1B}[2J"
        expect(line.text(columns: 79).hasPrefix(#"a\u{1B}[2J"#))
    }
}

@Suite struct ProgressBarTests {
    /// A terminal and a clock in memory.
    private final class Screen: Sendable {
        let drawn = Mutex<[String]>([])
        let time = Mutex(Duration.zero)
        let done = Atomic<Int>(0)

        func statusLine() -> StatusLine {
            StatusLine(columns: { 60 }, sink: { text in self.drawn.withLock { $0.append(text) } })
        }

        func bar(total: Int? = 100, on line: StatusLine?) -> ProgressBar {
            ProgressBar(
                operation: "Work", total: total, unit: .count("files"), statusLine: line,
                now: { self.time.withLock { $0 } })
        }

        var texts: [String] { drawn.withLock { $0 } }
    }

    @Test func `draws at most ten times a second`() {
        let screen = Screen()
        let bar = screen.bar(total: 3000, on: screen.statusLine())
        for done in 1...3000 {
            screen.time.withLock { $0 += .milliseconds(1) }
            bar.report(done)
        }
        expect(screen.texts.count, equals: 30)
        expect(bar.done, equals: 3000)
    }

    @Test func `clears itself at the end and draws nothing afterwards`() {
        let screen = Screen()
        let bar = screen.bar(on: screen.statusLine())
        screen.time.withLock { $0 = .seconds(1) }
        bar.report(10)
        bar.finish()
        screen.time.withLock { $0 = .seconds(2) }
        bar.report(20, of: 200)
        expect(screen.texts.count, equals: 2)
        expect(screen.texts.last, equals: "\r\u{1B}[K")
    }

    @Test func `clears itself when the work is abandoned`() {
        let screen = Screen()
        do {
            let bar = screen.bar(on: screen.statusLine())
            screen.time.withLock { $0 = .seconds(1) }
            bar.report(1)
        }
        expect(screen.texts.last, equals: "\r\u{1B}[K")
    }

    @Test func `a bar that was never drawn leaves the terminal alone, and counts without one`() {
        let screen = Screen()
        for line in [screen.statusLine(), nil] {
            let bar = screen.bar(on: line)
            bar.report(3)
            expect(bar.done, equals: 3)
            bar.finish()
            expect(screen.texts.isEmpty)
        }
    }

    @Test func `a total may become known`() {
        let screen = Screen()
        let bar = screen.bar(total: nil, on: screen.statusLine())
        screen.time.withLock { $0 = .seconds(1) }
        bar.report(0, of: 50)
        expect(screen.texts.last?.contains("0/50 files"), equals: true)
    }

    @Test func `draws whole lines when many threads report`() async {
        let screen = Screen()
        let bar = screen.bar(total: 80_000, on: screen.statusLine())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<10_000 {
                        screen.time.withLock { $0 += .microseconds(50) }
                        bar.report(screen.done.add(1, ordering: .relaxed).newValue)
                    }
                }
            }
        }
        bar.report(screen.done.load(ordering: .relaxed))
        expect(bar.done, equals: 80_000)
        expect((1...41).contains(screen.texts.count))
        for text in screen.texts { expect(text.hasPrefix("\rWork")) }
    }
}
