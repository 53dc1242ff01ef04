import ServeFromCAS
import WebTestSupport

/// A page on one WebSocket, driven by hand.
struct Page {
    var link: BridgeLink
    var socket = WebSocketClient(now: .zero)
    var frames: [BridgeFrame] = []
    var closed: CloseReason?

    init(
        _ bridge: Bridge, _ greeting: String = "H 1 -", now: Duration = .zero,
        wake: @escaping @Sendable () -> Void = {}
    ) throws {
        link = BridgeLink(bridge: bridge, now: now, wake: wake)
        if !greeting.isEmpty { try send(greeting, now: now) }
    }

    mutating func send(_ frame: String, now: Duration = .zero) throws {
        socket.send(.text, Array(frame.utf8))
        try move(now: now)
    }

    mutating func send(binary bytes: [UInt8], now: Duration = .zero) throws {
        socket.send(.binary, bytes)
        try move(now: now)
    }

    /// Moves everything both ways.
    mutating func move(now: Duration = .zero) throws {
        var bytes: [UInt8] = []
        socket.withOutput {
            bytes = Array($0); return $0.count
        }
        bytes.withUnsafeBytes { link.receive($0, now: now) }
        link.pump(now: now)
        while link.outputByteCount > 0 {
            link.withOutput(now: now) {
                bytes = Array($0); return $0.count
            }
            for event in socket.receive(bytes, now: now) {
                if case .message(let message) = event {
                    frames.append(
                        try BridgeFrame(message.bytes[...], isBinary: message.kind == .binary))
                }
                if case .closed(let reason) = event { closed = reason }
            }
        }
    }

    var lines: [String] { frames.map { String(decoding: $0.bytes, as: UTF8.self) } }
}

@Suite("The bridge")
struct BridgeTests {
    let changes = Changes()
    let bridge: Bridge

    final class Changes: Sendable {
        let all = Mutex<[BridgeSessionChange]>([])
    }

    init() {
        let changes = changes
        bridge = Bridge { change in changes.all.withLock { $0.append(change) } }
    }

    @Test func `greets a page and carries messages both ways`() throws {
        var page = try Page(bridge)
        let session = try require(page.link.session)
        expect(page.lines, equals: ["W 1 \(session) 0"])
        expect(bridge.sessions, equals: [session])
        expect(changes.all.withLock { $0 }, equals: [.opened(session)])
        try page.send("M 1 0\nhello")
        try page.send(binary: Array("B 2 0\n".utf8) + [0, 255])
        let first = try require(bridge.takeMessage())
        expect(first.text == "hello" && first.session == session && !first.mayRepeat)
        expect(bridge.takeMessage()?.content, equals: .binary([0, 255]))
        expect(bridge.takeMessage() == nil)
        try expect(bridge.send("answer"), equals: 1)
        try expect(bridge.send([1, 2], to: session), equals: 1)
        try page.move()
        expect(page.lines.dropFirst(), equals: ["M 1 2\nanswer", "B 2 2\n\u{1}\u{2}"])
    }

    @Test func `takes no longer message than a greeting may be, until it has one`() throws {
        let long = "M 1 0\n" + String(repeating: "a", count: BridgeLimits.greetingByteCount)
        var stranger = try Page(bridge, "")
        try stranger.send(long)
        expect(stranger.closed?.code, equals: .tooLarge)
        expect(bridge.sessions.isEmpty)
        var page = try Page(bridge)
        try page.send(long)
        expect(page.closed == nil && bridge.takeMessage() != nil)
    }

    @Test func `acknowledges what was taken, on a message if there is one, else soon`() throws {
        var page = try Page(bridge)
        try page.send("M 1 0\na")
        try page.send("M 2 0\nb")
        let due = try require(page.link.nextDeadline)
        expect(due <= .milliseconds(50))
        expect(page.frames.count, equals: 1, "nothing was taken yet")
        _ = bridge.takeMessage()
        page.link.advance(to: due)
        try page.move(now: due)
        expect(page.lines.last, equals: "A 1")
        // The app was late; now it is told without waiting.
        _ = bridge.takeMessage()
        try page.move(now: due)
        expect(page.lines.last, equals: "A 2")
        try page.send("P", now: due)
        expect(page.lines.suffix(2), equals: ["A 2", "A 2"])
    }

    @Test func `continues where a broken link stopped`() throws {
        var page = try Page(bridge)
        let session = try require(page.link.session)
        try page.send("M 1 0\na")
        try bridge.send("x")
        try bridge.send("y")
        try page.move()
        page.link.receiveEnd(now: .zero)
        try bridge.send("z")
        var again = try Page(bridge, "H 1 \(session) 1")
        expect(again.lines.prefix(3), equals: ["W 1 \(session) 1", "M 2 0\ny", "M 3 0\nz"])
        try again.send("M 1 3\na")
        try again.send("M 2 3\nb")
        expect(bridge.takeMessage()?.text, equals: "a")
        expect(bridge.takeMessage()?.text, equals: "b")
        expect(bridge.takeMessage() == nil)
        expect(bridge.sessions, equals: [session])
    }

    @Test func `lets a newer link take over and closes the older`() throws {
        var page = try Page(bridge)
        let session = try require(page.link.session)
        let next = try Page(bridge, "H 1 \(session) 0")
        try page.move()
        expect(page.closed?.code == BridgeLink.replacedCode || page.link.isFinished == false)
        expect(next.link.session == session && page.link.session == nil)
        page.link.receiveEnd(now: .zero)
        try bridge.send("still here")
        var last = next
        try last.move()
        expect(last.lines.last, equals: "M 1 0\nstill here")
    }

    @Test
    func `gives a new session to a page whose own is gone, and marks what may come twice`() throws {
        var page = try Page(bridge)
        let old = try require(page.link.session)
        try bridge.send("lost")
        page.link.receiveEnd(now: .zero)
        expect(bridge.nextDeadline, equals: .seconds(300))
        bridge.advance(to: .seconds(300))
        expect(changes.all.withLock { $0.last }, equals: .closed(old, undelivered: 1))
        var again = try Page(bridge, "H 1 \(old) 4")
        let new = try require(again.link.session)
        expect(new != old && again.lines == ["W 1 \(new) 0"])
        try again.send("M 1 0 again\nperhaps twice")
        expect(bridge.takeMessage()?.mayRepeat, equals: true)
    }

    @Test func `ends with the page`() throws {
        var page = try Page(bridge)
        let session = try require(page.link.session)
        try page.send("C")
        expect(page.closed?.code, equals: .normal)
        expect(bridge.sessions.isEmpty)
        #expect(throws: StoreError.self) { try bridge.send("x", to: session) }
        try expect(bridge.send("x"), equals: 0)
    }

    static let violations: [(String, CloseCode)] = [
        ("M 2 0\ngap", .protocolError), ("A 1", .protocolError), ("M 1 5\nx", .protocolError),
        ("H 1 -", .protocolError), ("W 1 00112233445566778899aabbccddeeff 0", .protocolError),
        ("nonsense", .protocolError), ("M 1 0", .protocolError), ("B 1 0\nx", .unsupported),
        ("M 1 0\n" + String(repeating: "x", count: 1 << 20) + "y", .tooLarge),
        ("M 1 0\n" + String(repeating: "x", count: 2 << 20), .tooLarge),
    ]

    @Test("cuts off a page that breaks the protocol, and keeps its session", arguments: violations)
    func violation(_ frame: String, _ code: CloseCode) throws {
        var page = try Page(bridge)
        let session = try require(page.link.session)
        try page.send(frame)
        expect(page.closed?.code, equals: code)
        expect(bridge.sessions == [session] && bridge.takeMessage() == nil)
    }

    @Test func `wants a greeting first, of its version, and soon`() throws {
        for (frame, code) in [("M 1 0\nx", CloseCode.protocolError), ("H 2 -", .unsupported)] {
            try expect(Page(bridge, frame).closed?.code, equals: code)
        }
        var silent = try Page(bridge, "")
        let deadline = try require(silent.link.nextDeadline)
        silent.link.advance(to: deadline)
        try silent.move(now: deadline)
        expect(silent.closed?.code, equals: .policy)
        expect(bridge.sessions.isEmpty)
    }

    @Test func `sends no more than the window, and refuses when the queue is full`() throws {
        var page = try Page(bridge)
        for number in 1...1024 { try bridge.send("\(number)") }
        expect(StoreErrorCode.of { try bridge.send("over") }, equals: .queueFull)
        try page.move()
        expect(page.lines.last, equals: "M 256 0\n256")
        try page.send("A 100")
        expect(page.lines.last, equals: "M 356 0\n356")
        try expect(bridge.send("fits"), equals: 1)
        expect(
            StoreErrorCode.of { try bridge.send([UInt8](repeating: 0, count: 1 << 20 | 1)) },
            equals: .tooLarge)
        // A page that is away does not stop the others: it is given up.
        page.link.receiveEnd(now: .zero)
        for number in 0..<99 { try bridge.send("\(number)") }
        let other = try Page(bridge)
        try expect(bridge.send("to the living"), equals: 1)
        expect(bridge.sessions, equals: [other.link.session])
    }

    @Test func `cuts off a page that sends beyond the window`() throws {
        var page = try Page(bridge)
        for number in 1...256 { try page.send("M \(number) 0\nx") }
        expect(page.closed == nil)
        try page.send("M 257 0\nx")
        expect(page.closed?.code, equals: .policy)
        for _ in 1...256 { expect(bridge.takeMessage() != nil) }
        expect(bridge.takeMessage() == nil)
    }

    @Test func `has space for so many pages, the longest away giving way`() throws {
        var limits = BridgeLimits()
        limits.sessionCount = 2
        let small = Bridge(limits: limits)
        var first = try Page(small)
        let second = try Page(small)
        try expect(Page(small).closed?.code, equals: .tryAgainLater)
        first.link.receiveEnd(now: .seconds(1))
        let third = try Page(small, now: .seconds(2))
        expect(Set(small.sessions), equals: Set([second, third].compactMap(\.link.session)))
    }

    @Test func `tells of a session that has expired, also if a refused greeting finds it`() throws {
        var gone = try Page(bridge)
        let expired = try require(gone.link.session)
        gone.link.receiveEnd(now: .zero)
        let linked = try require(try Page(bridge).link.session)
        let late = bridge.limits.sessionExpiry + .seconds(1)
        try expect(Page(bridge, "H 1 \(linked) 99", now: late).closed?.code, equals: .protocolError)
        expect(bridge.sessions, equals: [linked])
        expect(changes.all.withLock { $0 }.last, equals: .closed(expired, undelivered: 0))
    }

    @Test func `tells events in their order, and of progress the newest that waits`() throws {
        var page = try Page(bridge)
        bridge.announce(.progress(done: 1, total: 10))
        bridge.announce(.progress(done: 5, total: 10))
        try bridge.send("between")
        bridge.announce(.versionReady(version: "a\"b"))
        try page.move()
        bridge.announce(.progress(done: 9, total: 10))
        bridge.announce(.rolledBack(version: "v2", reason: "no confirm"))
        try page.move()
        let expected: [String] = [
            "E 1 0 progress\n{\"done\":5,\"total\":10}", "M 2 0\nbetween",
            "E 3 0 version-ready\n{\"version\":\"a\\\"b\"}",
            "E 4 0 progress\n{\"done\":9,\"total\":10}",
            "E 5 0 rolled-back\n{\"version\":\"v2\",\"reason\":\"no confirm\"}",
        ]
        expect(Array(page.lines.dropFirst()), equals: expected)
    }

    @Test func `wakes a link once until it looks`() throws {
        let counter = Counter()
        var page = try Page(bridge, wake: { counter.add() })
        for _ in 0..<10 { try bridge.send("x") }
        expect(counter.count, equals: 1)
        try page.move()
        try bridge.send("x")
        expect(counter.count, equals: 2)
    }

    @Test
    func `gives messages to a task that waits, ends when finished or cancelled`() async throws {
        let reader = Task { [bridge] in
            var texts: [String] = []
            for await message in bridge.messages { texts.append(message.text ?? "") }
            return texts
        }
        let cancelled = Task { [bridge] in
            for await _ in bridge.messages {}
            return true
        }
        cancelled.cancel()
        await expect(cancelled.value)
        var page = try Page(bridge)
        for number in 1...50 {
            try page.send("M \(number) 0\n\(number)")
            await Task.yield()
        }
        bridge.finish()
        await expect(reader.value, equals: (1...50).map { "\($0)" })
    }

    @Test func `serves a script of at most 20 KB that names the limits of the protocol`() {
        let text = String(decoding: BridgeScript.bytes, as: UTF8.self)
        expect(BridgeScript.refusingBytes.count <= 20_480)
        for part in ["'use strict'", "H 1 -", "/_castree/", "256", "4<<20", "1<<20"] {
            expect(text.contains(part))
        }
    }
}

/// A number that any thread may raise.
final class Counter: Sendable {
    private let value = Mutex(0)
    var count: Int { value.withLock { $0 } }
    func add() { value.withLock { $0 += 1 } }
}

enum StoreErrorCode {
    static func of(_ body: () throws -> Int) -> StoreError.Code? {
        do {
            _ = try body()
            return nil
        } catch {
            return (error as? StoreError)?.code
        }
    }
}
