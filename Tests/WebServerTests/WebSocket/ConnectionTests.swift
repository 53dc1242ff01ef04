import WebTestSupport

@Suite("A WebSocket connection")
struct ConnectionTests {
    @Test func `answers only the newest ping while its output is stuck`() {
        var run = Conversation()
        for number in 0..<30_000 {
            let payload = [UInt8(number & 255)] + [UInt8](repeating: 0, count: 124)
            _ = run.connection.receive(Frames.client(9, payload), now: .zero)
        }
        expect(run.connection.outputCount < 70 << 10)
        run.drain()
        run.drain()
        expect(run.sent.suffix(127)[...].dropFirst(2).first, equals: UInt8(29_999 & 255))
        expect(run.connection.outputCount, equals: 0)
    }

    @Test func `echoes a close code, and is finished when that is sent`() {
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 3999, 4000, 4999] {
            var run = Conversation()
            run.events = run.connection.receive(
                Frames.close(code, Array("bye".utf8)) + Frames.text("late"), now: .zero)
            expect(!run.connection.isFinished)
            run.drain()
            expect(run.connection.isFinished)
            expect(run.sent, equals: [0x88, 2, UInt8(code >> 8), UInt8(code & 255)])
            expect(
                run.events,
                equals: [.closed(CloseReason(CloseCode(UInt16(code)), "bye", isClean: true))])
        }
        let empty = Conversation(receiving: Frames.close(nil))
        expect(empty.sent, equals: [0x88, 0])
        expect(empty.end, equals: CloseReason(.absent, isClean: true))
    }

    @Test
    func `closed from here still delivers what arrives before the answer, sends nothing more`() {
        var run = Conversation()
        run.connection.close(CloseCode(1001), "stop", now: .zero)
        run.connection.send(.text, [97])
        run.receive(Frames.text("last") + Frames.client(9, [1]))
        expect(run.messages.map(\.text), equals: ["last"])
        expect(run.sent, equals: [0x88, 6, 3, 0xE9] + Array("stop".utf8))
        expect(!run.connection.isFinished)
        run.receive(Frames.close(1001))
        expect(run.connection.isFinished && run.end?.isClean == true)
    }

    @Test func `cuts a reason to what a Close frame holds, at a character's edge`() {
        var run = Conversation()
        run.connection.close(.normal, String(repeating: "é", count: 100), now: .zero)
        run.drain()
        expect(run.sent.count, equals: 2 + 2 + 122)
    }

    @Test func `ended by the stream without a Close frame is not clean`() {
        var run = Conversation(receiving: Frames.text("a", isFinal: false))
        expect(
            run.connection.receiveEnd(), equals: [.closed(CloseReason(.abnormal, isClean: false))])
        expect(run.connection.receiveEnd().isEmpty && run.connection.isFinished)
        expect(run.connection.receive(Frames.text("x"), now: .zero).isEmpty)
    }

    @Test func `pings after silence and gives up when nothing comes back`() {
        var options = WebSocketConnection.Options()
        options.pingInterval = .seconds(30)
        options.answerTimeout = .seconds(10)
        var run = Conversation(options)
        expect(run.connection.nextDeadline, equals: .seconds(30))
        expect(run.connection.advance(to: .seconds(29)).isEmpty)
        run.drain()
        expect(run.sent.isEmpty)
        _ = run.connection.advance(to: .seconds(31))
        run.drain()
        expect(run.sent, equals: [0x89, 0])
        expect(run.connection.nextDeadline, equals: .seconds(41))
        run.receive(Frames.client(10), now: .seconds(35))
        expect(run.connection.nextDeadline, equals: .seconds(65))
        _ = run.connection.advance(to: .seconds(65))
        expect(run.connection.advance(to: .seconds(74)).isEmpty)
        let events = run.connection.advance(to: .seconds(75))
        expect(
            events, equals: [.closed(CloseReason(.abnormal, "no answer in time", isClean: false))])
    }

    @Test func `gives up on a Close frame without an answer`() {
        var run = Conversation()
        run.connection.close(now: .seconds(5))
        run.drain()
        expect(run.connection.nextDeadline, equals: .seconds(15))
        expect(run.connection.advance(to: .seconds(15)).count, equals: 1)
        expect(run.connection.isFinished && run.connection.nextDeadline == nil)
    }

    @Test func `sends frames that a client understands, and the other way round, at any pace`() {
        var server = WebSocketConnection(now: .zero)
        var client = WebSocketClient(now: .zero)
        let sizes = [0, 1, 125, 126, 65535, 65536, 200_000]
        for size in sizes {
            server.send(.binary, [UInt8](repeating: 1, count: size))
            client.send(.text, [65], [UInt8](repeating: 66, count: size)[...])
        }
        var atClient: [WebSocketConnection.Event] = []
        var atServer: [WebSocketConnection.Event] = []
        var step = 1
        while server.outputCount + client.outputCount > 0 {
            var bytes: [UInt8] = []
            server.withOutput {
                bytes = Array($0.prefix(step)); return bytes.count
            }
            atClient += client.receive(bytes, now: .zero)
            client.withOutput {
                bytes = Array($0.prefix(step)); return bytes.count
            }
            atServer += server.receive(bytes, now: .zero)
            step = step % 5000 + 7
        }
        expect(
            atClient,
            equals: sizes.map { .message(.init(.binary, [UInt8](repeating: 1, count: $0))) })
        expect(
            atServer,
            equals: sizes.map { .message(.init(.text, [65] + [UInt8](repeating: 66, count: $0))) })
    }

    @Test func `survives any bytes: the same verdict whole and in pieces, one Close at most`() {
        var random = SeededRandom(seed: 6455)
        let seeds: [[UInt8]] = [
            Frames.text("Hello κόσμε") + Frames.client(9, [1]) + Frames.close(1000),
            Frames.text("ab", isFinal: false) + Frames.client(0, [99]) + Frames.client(10),
            Frames.client(2, [UInt8](repeating: 3, count: 130)) + Frames.close(nil),
        ]
        for round in 0..<4000 {
            var bytes = seeds[round % seeds.count]
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                case 1: bytes[place] = .random(in: 0...255, using: &random)
                case 2 where bytes.count > 1: bytes.remove(at: place)
                default: bytes.insert(.random(in: 0...255, using: &random), at: place)
                }
            }
            let whole = Conversation(receiving: bytes)
            let cut = Conversation(receiving: bytes, pieces: .random(in: 1...9, using: &random))
            if whole.events != cut.events || whole.sent != cut.sent {
                Issue.record("round \(round): \(bytes)")
            }
            let ends = whole.events.filter { if case .closed = $0 { true } else { false } }
            if ends.count > 1 { Issue.record("round \(round) ends twice: \(bytes)") }
        }
    }
}
