import Testing

/// The cases of the Autobahn test suite, groups 1 to 7 and 10, by its published descriptions: what a
/// client sends to an echo server, and what must come back.
///
/// The suite is a program of its own that needs Python 2; these are its cases under its numbers.
struct AutobahnCase: Sendable, CustomTestStringConvertible {
    /// What must come back, in order.
    enum Reply: Sendable, Hashable {
        case text([UInt8])
        case binary([UInt8])
        case pong([UInt8])
    }

    var number: String
    /// Sent one after the other.
    var frames: [[UInt8]]
    var replies: [Reply]
    /// The code of the Close frame that the server sends at the end.
    var code: Int
    /// The frame at which the server must close, and not before; by default any.
    var closesAt: Int?
    var testDescription: String { number }
}

extension AutobahnCase {
    static let all: [AutobahnCase] =
        lengths + pings + reserved + opcodes + fragments + texts + sequences + closing
        + fragmented

    /// A case that ends well: the client closes after the replies.
    private static func good(
        _ number: String, _ frames: [[UInt8]], _ replies: [Reply]
    ) -> AutobahnCase {
        AutobahnCase(
            number: number, frames: frames + [Frames.close(1000)], replies: replies, code: 1000,
            closesAt: frames.count)
    }

    /// A case in which the server ends the connection.
    private static func bad(
        _ number: String, _ frames: [[UInt8]], _ replies: [Reply] = [], code: Int = 1002,
        at place: Int? = nil
    ) -> AutobahnCase {
        AutobahnCase(number: number, frames: frames, replies: replies, code: code, closesAt: place)
    }

    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    private static func octets(_ payload: [UInt8]) -> [[UInt8]] {
        payload.indices.map { index in
            Frames.client(index == 0 ? 1 : 0, [payload[index]], isFinal: index == payload.count - 1)
        }
    }

    private static let lengths: [AutobahnCase] = {
        let sizes = [0, 125, 126, 127, 128, 65_535, 65_536, 65_536]
        return sizes.enumerated().flatMap { index, size -> [AutobahnCase] in
            let (stars, bytes) = (
                [UInt8](repeating: 42, count: size), [UInt8](repeating: 254, count: size)
            )
            return [
                good("1.1.\(index + 1)", [Frames.client(1, stars)], [.text(stars)]),
                good("1.2.\(index + 1)", [Frames.client(2, bytes)], [.binary(bytes)]),
            ]
        }
    }()

    private static let pings: [AutobahnCase] = {
        func ping(_ number: String, _ payload: [UInt8]) -> AutobahnCase {
            good(number, [Frames.client(9, payload)], [.pong(payload)])
        }
        let long = [UInt8](repeating: 254, count: 125)
        let pong = Frames.client(10, text("unsolicited pong payload"))
        let ten = (0..<10).map { text("payload-\($0)") }
        let tenPings = ten.map { Frames.client(9, $0) }
        return [
            ping("2.1", []), ping("2.2", text("Hello, world!")),
            ping("2.3", [0, 255, 254, 253, 252, 251, 0, 255]), ping("2.4", long),
            bad("2.5", [Frames.client(9, long + [254])]), ping("2.6", long),
            good("2.7", [Frames.client(10)], []), good("2.8", [pong], []),
            good(
                "2.9", [pong, Frames.client(9, text("ping payload"))],
                [.pong(text("ping payload"))]),
            good("2.10", tenPings, ten.map { .pong($0) }),
            good("2.11", tenPings, ten.map { .pong($0) }),
        ]
    }()

    private static let hello = Frames.text("Hello, world!")
    private static let greeting = Reply.text(text("Hello, world!"))
    private static let ping = Frames.client(9)

    private static let reserved: [AutobahnCase] = {
        func marked(_ opcode: UInt8, _ bits: UInt8) -> [UInt8] {
            Frames.client(opcode, text("Hello, world!"), reserved: bits)
        }
        return [
            bad("3.1", [marked(1, 1)]),
            bad("3.2", [hello, marked(1, 2), ping], [greeting], at: 1),
            bad("3.3", [hello, marked(1, 3), ping], [greeting], at: 1),
            bad("3.4", [hello, marked(1, 4), ping], [greeting], at: 1), bad("3.5", [marked(2, 5)]),
            bad("3.6", [marked(9, 6)]), bad("3.7", [marked(8, 7)]),
        ]
    }()

    private static let opcodes: [AutobahnCase] = [("4.1", 3), ("4.2", 11)].flatMap {
        (group: String, first: UInt8) -> [AutobahnCase] in
        let payload = text("reserved opcode payload")
        return [
            bad("\(group).1", [Frames.client(first)]),
            bad("\(group).2", [Frames.client(first + 1, payload)]),
            bad("\(group).3", [hello, Frames.client(first + 2), ping], [greeting], at: 1),
            bad("\(group).4", [hello, Frames.client(first + 3, payload), ping], [greeting], at: 1),
            bad("\(group).5", [hello, Frames.client(first + 4, payload), ping], [greeting], at: 1),
        ]
    }

    private static let fragments: [AutobahnCase] = {
        func part(_ opcode: UInt8, _ number: Int, _ isFinal: Bool) -> [UInt8] {
            Frames.client(opcode, text("fragment\(number)"), isFinal: isFinal)
        }
        func whole(_ count: Int) -> Reply {
            .text(text((1...count).map { "fragment\($0)" }.joined()))
        }
        func pinged(_ payload: String) -> [UInt8] { Frames.client(9, text(payload)) }
        let two = [part(1, 1, false), part(0, 2, true)]
        let between = [part(1, 1, false), pinged("ping payload"), part(0, 2, true)]
        let long = [
            part(1, 1, false), part(0, 2, false), pinged("pongme 1!"), part(0, 3, false),
            part(0, 4, false), pinged("pongme 2!"), part(0, 5, true),
        ]
        let answers: [Reply] = [.pong(text("pongme 1!")), .pong(text("pongme 2!")), whole(5)]
        var cases = [
            bad("5.1", [part(9, 1, false), part(0, 2, true)], at: 0),
            bad("5.2", [part(10, 1, false), part(0, 2, true)], at: 0),
        ]
        // One after the other; the suite chops each of them in three ways.
        for number in 3...5 { cases.append(good("5.\(number)", two, [whole(2)])) }
        for number in 6...8 {
            cases.append(good("5.\(number)", between, [.pong(text("ping payload")), whole(2)]))
        }
        for number in 9...14 {
            let nothing = Frames.client(0, text("non-continuation"), isFinal: number < 12)
            cases.append(bad("5.\(number)", [nothing, hello], at: 0))
        }
        cases.append(bad("5.15", two + [part(0, 3, false), part(1, 4, true)], [whole(2)], at: 2))
        for (number, isFinal) in [(16, false), (17, true)] {
            let round = [part(0, 1, isFinal), part(1, 2, false), part(0, 3, true)]
            cases.append(bad("5.\(number)", round + round, at: 0))
        }
        cases.append(bad("5.18", [part(1, 1, false), part(1, 2, true)], at: 1))
        for number in 19...20 { cases.append(good("5.\(number)", long, answers)) }
        return cases
    }()

    private static let greek = text("κ\u{1F79}σμε")

    private static let texts: [AutobahnCase] = {
        func empty(_ opcode: UInt8, _ isFinal: Bool) -> [UInt8] {
            Frames.client(opcode, isFinal: isFinal)
        }
        let (front, back) = (text("Hello-µ@ßöä"), text("üàá-UTF-8!!"))
        let sound = front + back
        let surrogate = greek + [0xED, 0xA0, 0x80] + text("edited")
        // U+110000 does not exist: certain at the second of its bytes.
        let beyond = greek + [0xF4, 0x90, 0x80, 0x80] + text("edited")
        func parts(_ first: Int, _ second: Int) -> [[UInt8]] {
            [
                Frames.client(1, Array(beyond[..<first]), isFinal: false),
                Frames.client(0, Array(beyond[first..<second]), isFinal: false),
                Frames.client(0, Array(beyond[second...])),
            ]
        }
        func chops(_ first: Int, _ second: Int) -> [[UInt8]] {
            let frame = Frames.client(1, beyond)
            let head = frame.count - beyond.count
            return [
                Array(frame[..<(head + first)]), Array(frame[(head + first)..<(head + second)]),
                Array(frame[(head + second)...]),
            ]
        }
        return [
            good("6.1.1", [empty(1, true)], [.text([])]),
            good("6.1.2", [empty(1, false), empty(0, false), empty(0, true)], [.text([])]),
            good(
                "6.1.3",
                [empty(1, false), Frames.client(0, front, isFinal: false), empty(0, true)],
                [.text(front)]),
            good("6.2.1", [Frames.client(1, sound)], [.text(sound)]),
            good(
                "6.2.2", [Frames.client(1, front, isFinal: false), Frames.client(0, back)],
                [.text(sound)]),
            good("6.2.3", octets(sound), [.text(sound)]),
            good("6.2.4", octets(greek), [.text(greek)]),
            bad("6.3.1", [Frames.client(1, surrogate)], code: 1007),
            bad("6.3.2", octets(surrogate), code: 1007, at: greek.count + 1),
            bad("6.4.1", parts(11, 15), code: 1007, at: 1),
            bad("6.4.2", parts(12, 13), code: 1007, at: 1),
            bad("6.4.3", chops(11, 15), code: 1007, at: 1),
            bad("6.4.4", chops(12, 13), code: 1007, at: 1),
        ]
    }()

    /// Groups 6.5 to 6.23: Kuhn's "UTF-8 decoder capability and stress test".
    private static let sequences: [AutobahnCase] = {
        var cases: [AutobahnCase] = []
        for (index, group) in AutobahnText.groups.enumerated() {
            for (place, bytes) in group.enumerated() {
                let number = "6.\(index + 5).\(place + 1)"
                let frame = [Frames.client(1, bytes)]
                let isSound = String(validating: bytes, as: UTF8.self) != nil
                cases.append(
                    isSound
                        ? good(number, frame, [.text(bytes)]) : bad(number, frame, code: 1007))
            }
        }
        return cases
    }()

    private static let closing: [AutobahnCase] = {
        let (close, hello) = (Frames.close(1000), Frames.text("Hello World!"))
        let greeting = Reply.text(text("Hello World!"))
        let large = [UInt8](repeating: 65, count: 256 << 10)
        func closes(_ number: String, _ frames: [[UInt8]], _ code: Int) -> AutobahnCase {
            AutobahnCase(number: number, frames: frames, replies: [], code: code, closesAt: 0)
        }
        var cases = [
            good("7.1.1", [hello], [greeting]), closes("7.1.2", [close, Frames.close(nil)], 1000),
            closes("7.1.3", [close, ping], 1000), closes("7.1.4", [close, hello], 1000),
            AutobahnCase(
                number: "7.1.5",
                frames: [
                    Frames.text("fragment1", isFinal: false), close,
                    Frames.client(0, text("fragment2")),
                ], replies: [], code: 1000, closesAt: 1),
            AutobahnCase(
                number: "7.1.6", frames: [Frames.client(1, large), hello, close, ping],
                replies: [.text(large), greeting], code: 1000, closesAt: 2),
            // No code at all is read as 1005 and answered by none.
            closes("7.3.1", [Frames.close(nil)], 1005),
            closes("7.3.2", [Frames.client(8, text("a"))], 1002),
            closes("7.3.3", [close], 1000),
            closes("7.3.4", [Frames.close(1000, text("Hello World!"))], 1000),
            closes("7.3.5", [Frames.close(1000, [UInt8](repeating: 42, count: 123))], 1000),
            closes("7.3.6", [Frames.close(1000, [UInt8](repeating: 42, count: 124))], 1002),
            closes(
                "7.5.1", [Frames.close(1000, greek + [0xED, 0xA0, 0x80] + text("edited"))], 1007),
        ]
        let allowed = [
            1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999,
        ]
        for (index, code) in allowed.enumerated() {
            cases.append(closes("7.7.\(index + 1)", [Frames.close(code)], code))
        }
        let forbidden = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999]
        for (index, code) in forbidden.enumerated() {
            cases.append(closes("7.9.\(index + 1)", [Frames.close(code)], 1002))
        }
        return cases + [
            closes("7.13.1", [Frames.close(5000)], 1002),
            closes("7.13.2", [Frames.close(65_535)], 1002),
        ]
    }()

    private static let fragmented: [AutobahnCase] = {
        let stars = [UInt8](repeating: 42, count: 65_536)
        let starts = Array(stride(from: 0, to: stars.count, by: 1300))
        let frames = starts.map { start in
            Frames.client(
                start == 0 ? 1 : 0, Array(stars[start..<min(start + 1300, stars.count)]),
                isFinal: start + 1300 >= stars.count)
        }
        return [good("10.1.1", frames, [.text(stars)])]
    }()
}
