import Expectations
import WebServer

@Suite("A WebSocket's frames")
struct FramingTests {
    /// The edges of the three forms of a length (RFC 6455, section 5.2).
    static let edges = [0, 1, 7, 8, 9, 124, 125, 126, 127, 255, 256, 65534, 65535, 65536, 65537]

    @Test(arguments: edges)
    func `carry a message of any length, text or binary`(_ count: Int) {
        let payload = (0..<count).map { UInt8(32 + $0 % 90) }
        for (opcode, kind) in [(UInt8(1), WebSocketMessage.Kind.text), (2, .binary)] {
            let run = Conversation(receiving: Frames.client(opcode, payload))
            expect(run.messages, equals: [WebSocketMessage(kind, payload)])
            expect(run.sent.isEmpty && run.end == nil)
        }
    }

    @Test func `give the same messages wherever the stream is cut`() {
        let stream =
            Frames.text("κόσμε", isFinal: false) + Frames.client(9, [1, 2, 3])
            + Frames.client(0, Array("𝄞".utf8), isFinal: false) + Frames.client(10)
            + Frames.client(0, Array(" end".utf8))
            + Frames.client(2, [UInt8](repeating: 7, count: 300)) + Frames.close(1000)
        let whole = Conversation(receiving: stream)
        expect(whole.messages.map(\.bytes.count), equals: [18, 300])
        expect(whole.messages.first?.text, equals: "κόσμε𝄞 end")
        for pieces in 1...24 {
            let cut = Conversation(receiving: stream, pieces: pieces)
            expect(cut.events, equals: whole.events, "pieces of \(pieces)")
            expect(cut.sent, equals: whole.sent, "pieces of \(pieces)")
        }
        for place in 1..<stream.count {
            var run = Conversation()
            run.receive(Array(stream[..<place]))
            run.receive(Array(stream[place...]))
            expect(run.events, equals: whole.events, "cut at \(place)")
        }
    }

    @Test func `unmask at every length and offset as the RFC's loop does`() {
        let key: UInt32 = withUnsafeBytes(
            of: (0x37, 0xFA, 0x21, 0x3D) as (UInt8, UInt8, UInt8, UInt8)
        ) {
            $0.load(as: UInt32.self)
        }
        for count in 0..<70 {
            for offset in 0..<5 {
                var bytes = (0..<count).map { UInt8($0) }
                let expected = bytes.enumerated().map { $1 ^ Frames.mask[($0 + offset) & 3] }
                bytes.withUnsafeMutableBytes { Masking.apply(key, offset: offset, to: $0) }
                expect(bytes, equals: expected)
            }
        }
    }

    struct Wrong: Sendable, CustomTestStringConvertible {
        var name: String
        var bytes: [UInt8]
        var code: Int
        var testDescription: String { name }

        init(_ name: String, _ code: Int, _ bytes: [UInt8]) {
            (self.name, self.code, self.bytes) = (name, code, bytes)
        }
    }

    static let violations: [Wrong] = {
        var rows: [Wrong] = []
        for bit: UInt8 in [1, 2, 4] {
            for opcode: UInt8 in [1, 2, 8, 9, 10] {
                rows.append(
                    Wrong(
                        "reserved bit \(bit), opcode \(opcode)", 1002,
                        Frames.client(opcode, reserved: bit)))
            }
        }
        for opcode: UInt8 in [3, 4, 5, 6, 7, 11, 12, 13, 14, 15] {
            rows.append(Wrong("reserved opcode \(opcode)", 1002, Frames.client(opcode)))
        }
        for opcode: UInt8 in [0, 1, 2, 8, 9, 10] {
            rows.append(Wrong("unmasked \(opcode)", 1002, Frames.client(opcode, isMasked: false)))
        }
        let long = [UInt8](repeating: 0, count: 126)
        for opcode: UInt8 in [8, 9, 10] {
            rows.append(Wrong("126 bytes in \(opcode)", 1002, Frames.client(opcode, long)))
            rows.append(Wrong("fragment of \(opcode)", 1002, Frames.client(opcode, isFinal: false)))
        }
        rows += [
            Wrong(
                "16-bit length of 125", 1002, Frames.client(2, Array(long[1...]), lengthForm: 16)),
            Wrong("64-bit length of 126", 1002, Frames.client(2, long, lengthForm: 64)),
            Wrong(
                "64-bit length of 65535", 1002,
                Frames.client(2, [UInt8](repeating: 0, count: 65535), lengthForm: 64)),
            Wrong("length of 2^63", 1002, [0x82, 0xFF, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4]),
            Wrong(
                "length of 2^63-1", 1009,
                [0x82, 0xFF, 0x7F, 255, 255, 255, 255, 255, 255, 255, 1, 2, 3, 4]),
            Wrong("continuation of nothing", 1002, Frames.client(0)),
            Wrong("continuation after the end", 1002, Frames.text("a") + Frames.client(0, [98])),
            Wrong(
                "a message inside another", 1002,
                Frames.text("a", isFinal: false) + Frames.text("b")),
            Wrong("binary inside text", 1002, Frames.text("a", isFinal: false) + Frames.client(2)),
            Wrong("close of one byte", 1002, Frames.client(8, [3])),
            Wrong("close reason not UTF-8", 1007, Frames.close(1000, [0xC0, 0x80])),
            Wrong("close reason cut", 1007, Frames.close(1000, [0xE2, 0x82])),
            Wrong("text not UTF-8", 1007, Frames.client(1, [0xFF])),
            Wrong("text cut in a character", 1007, Frames.client(1, [0xE2, 0x82])),
        ]
        for code in [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535] {
            rows.append(Wrong("close code \(code)", 1002, Frames.close(code)))
        }
        return rows
    }()

    @Test(arguments: violations)
    func `that break a rule end the connection with the code for it`(_ row: Wrong) {
        for pieces in [Int.max, 1] {
            let before = Frames.text("before")
            let run = Conversation(
                receiving: before + row.bytes + Frames.text("after"), pieces: pieces)
            expect(run.sentCode, equals: row.code)
            expect(run.end?.code.value == UInt16(row.code) && run.end?.isClean == false)
            expect(run.messages.first?.text, equals: "before")
            expect(!run.messages.contains { $0.text == "after" })
            expect(run.connection.isFinished)
        }
    }

    @Test func `are judged by their first two bytes, before the rest comes`() {
        for bytes in [
            Frames.client(3), Frames.client(1, reserved: 4), Frames.client(9, isFinal: false),
        ] {
            expect(Conversation(receiving: Array(bytes[..<2])).sentCode, equals: 1002)
        }
    }

    @Test func `may not make a message over the limit, whole or in fragments`() {
        var limits = MessageDecoder.Limits()
        limits.messageByteCount = 1000
        let full = [UInt8](repeating: 5, count: 1000)
        let fits = Conversation(
            receiving: Frames.client(2, full) + Frames.client(2, full), limits: limits)
        expect(fits.messages.count, equals: 2)
        let over = Conversation(receiving: Frames.client(2, full + [5]), limits: limits)
        expect(over.sentCode == 1009 && over.messages.isEmpty)
        let pieces = Conversation(
            receiving: Frames.client(2, full, isFinal: false) + Frames.client(0, [5]),
            limits: limits)
        expect(pieces.sentCode, equals: 1009)
    }

    @Test(
        "of a long message count in a budget that others share, until it is whole or its connection fails"
    )
    func budget() {
        var options = WebSocketConnection.Options()
        options.budget = BodyBudget(100_000)
        let long = [UInt8](repeating: 5, count: 60_000)
        func receiving(_ bytes: [UInt8]) -> Conversation {
            var run = Conversation(options)
            run.receive(bytes, pieces: 5000)
            return run
        }
        var first = receiving(Frames.client(2, long, isFinal: false))
        expect(receiving(Frames.client(2, long)).sentCode, equals: 1013)
        // A short one needs none of it.
        expect(receiving(Frames.client(2, Array(long[..<10_000]))).messages.count, equals: 1)
        first.receive(Frames.client(0, [5]))
        expect(first.messages.map(\.bytes.count), equals: [60_001])
        let broken = receiving(Frames.client(2, long, isFinal: false) + Frames.client(2, [5]))
        expect(broken.sentCode, equals: 1002)
        withExtendedLifetime((first, broken)) {
            expect(receiving(Frames.client(2, long + long[..<40_000])).messages.count, equals: 1)
        }
    }

    @Test func `may not be a message of endless empty fragments`() {
        var limits = MessageDecoder.Limits()
        limits.fragmentCount = 100
        let empty = Frames.client(0, isFinal: false)
        let start = Frames.client(2, isFinal: false)
        let fits = start + (0..<98).flatMap { _ in empty } + Frames.client(0)
        expect(Conversation(receiving: fits, limits: limits).messages.map(\.bytes), equals: [[]])
        let over = start + (0..<100).flatMap { _ in empty }
        expect(Conversation(receiving: over, limits: limits).sentCode, equals: 1009)
    }
}
