import Expectations
import WebServer

/// Sequences after RFC 3629, section 4, and Kuhn's "UTF-8 decoder capability and stress test".
@Suite("Text over a WebSocket")
struct UTF8Tests {
    static let valid: [[UInt8]] = [
        [], [0x00], [0x7F], [0xC2, 0x80], [0xDF, 0xBF], [0xE0, 0xA0, 0x80], [0xEC, 0xBF, 0xBF],
        [0xED, 0x9F, 0xBF], [0xEE, 0x80, 0x80], [0xEF, 0xBF, 0xBD], [0xEF, 0xBF, 0xBF],
        [0xEF, 0xBF, 0xBE], [0xF0, 0x90, 0x80, 0x80], [0xF4, 0x8F, 0xBF, 0xBF],
        [0xF0, 0x9F, 0xBF, 0xBE], Array("Hello-µ@ßöäüàá-UTF-8!!".utf8), Array("κόσμε".utf8),
        Array("πλήρης, 日本語, 👩‍👩‍👧".utf8),
    ]

    /// Each with the place of the byte at which it is certain that this is not UTF-8.
    static let invalid: [([UInt8], at: Int)] = [
        ([0x80], 0), ([0xBF], 0), ([0x80, 0xBF], 0), ([0xC0, 0x80], 0), ([0xC0, 0xAF], 0),
        ([0xC1, 0xBF], 0), ([0xE0, 0x80, 0xAF], 1), ([0xE0, 0x9F, 0xBF], 1),
        ([0xF0, 0x80, 0x80, 0xAF], 1), ([0xF0, 0x8F, 0xBF, 0xBF], 1), ([0xF8, 0x88, 0x80], 0),
        ([0xFC, 0x84], 0), ([0xFE], 0), ([0xFF], 0), ([0xED, 0xA0, 0x80], 1),
        ([0xED, 0xAF, 0xBF], 1), ([0xED, 0xBF, 0xBF], 1), ([0xED, 0xA0, 0x81, 0xED, 0xB0], 1),
        ([0xF4, 0x90, 0x80, 0x80], 1), ([0xF5, 0x80], 0), ([0xF7, 0xBF, 0xBF, 0xBF], 0),
        ([0xC2, 0x41], 1), ([0xE2, 0x82, 0x41], 2), ([0xE2, 0x41], 1),
        ([0xF0, 0x9F, 0x98, 0x41], 3),
        ([0xC2, 0xC2], 1), ([0x61, 0xE2, 0x28, 0xA1], 2), ([0x61, 0x62, 0x80], 2),
    ]

    @Test func `arrives as it was sent when it is UTF-8, in any pieces and any fragments`() {
        for bytes in Self.valid {
            for pad in [0, 31, 32, 33] {
                let text = [UInt8](repeating: 0x61, count: pad) + bytes
                expect(
                    Conversation(receiving: Frames.client(1, text)).messages.map(\.bytes),
                    equals: [text])
                var stream = Frames.client(1, [], isFinal: false)
                for byte in text { stream += Frames.client(0, [byte], isFinal: false) }
                stream += Frames.client(0)
                let run = Conversation(receiving: stream, pieces: 3)
                expect(run.messages.map(\.bytes), equals: [text])
            }
        }
    }

    @Test func `that is not UTF-8 ends the connection at the first byte that cannot be`() {
        for (bytes, place) in Self.invalid {
            for pad in [0, 7, 32, 40] {
                var stream = Frames.client(1, [UInt8](repeating: 0x61, count: pad), isFinal: false)
                var run = Conversation(receiving: stream)
                for byte in bytes[..<place] {
                    run.receive(Frames.client(0, [byte], isFinal: false))
                }
                expect(run.sentCode == nil, "\(bytes) too early")
                stream = Frames.client(0, Array(bytes[place...]))
                // The head and one byte of the payload are enough.
                run.receive(Array(stream[..<7]))
                expect(run.sentCode, equals: 1007, "\(bytes)")
                expect(run.messages.isEmpty)
            }
        }
    }

    @Test func `that is cut inside a character is refused at its end only`() {
        for bytes in Self.valid where bytes.last.map({ $0 >= 0x80 }) ?? false {
            let short = Array(bytes.dropLast())
            var run = Conversation(receiving: Frames.client(1, short, isFinal: false))
            expect(run.sentCode == nil)
            run.receive(Frames.client(0))
            expect(run.sentCode, equals: 1007)
        }
    }

    @Test func `agrees with the standard library for every two-byte and many three-byte starts`() {
        for first in UInt8.min...255 {
            for second in UInt8.min...255 {
                for tail: [UInt8] in [[], [0x80], [0xBF, 0x80]] {
                    let bytes = [first, second] + tail
                    var check = UTF8Check()
                    let isSound = bytes.withUnsafeBytes { check.accept($0) } && check.isComplete
                    let expected = String(validating: bytes, as: UTF8.self) != nil
                    if isSound != expected { Issue.record("\(bytes): \(isSound)") }
                }
            }
        }
    }
}
