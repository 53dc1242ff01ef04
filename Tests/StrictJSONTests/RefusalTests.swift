// Texts that must be refused: for which reason, and at which byte.

import Expectations

struct Refused: Sendable, CustomTestStringConvertible {
    var bytes: [UInt8]
    var reason: JSONError.Reason
    var offset: Int

    init(_ text: String, _ reason: JSONError.Reason, at offset: Int) {
        self.init(Array(text.utf8), reason, at: offset)
    }

    init(_ bytes: [UInt8], _ reason: JSONError.Reason, at offset: Int) {
        (self.bytes, self.reason, self.offset) = (bytes, reason, offset)
    }

    var testDescription: String { String(decoding: bytes, as: UTF8.self).debugDescription }
}

@Suite struct RefusalTests {
    static let structure = [
        Refused("", .unexpectedEnd, at: 0), Refused(" \n", .unexpectedEnd, at: 2),
        Refused("[", .unexpectedEnd, at: 1), Refused("{", .unexpectedEnd, at: 1),
        Refused("[1", .unexpectedEnd, at: 2), Refused("[1,", .unexpectedEnd, at: 3),
        Refused("{\"a\"", .unexpectedEnd, at: 4), Refused("{\"a\":", .unexpectedEnd, at: 5),
        Refused("{\"a\":1,", .unexpectedEnd, at: 7), Refused("nul", .unexpectedEnd, at: 3),
        Refused("\"a", .unexpectedEnd, at: 2), Refused("\"\\", .unexpectedEnd, at: 2),
        // Trailing, leading, doubled and missing commas.
        Refused("[1,]", .unexpectedByte, at: 3), Refused("{\"a\":1,}", .unexpectedByte, at: 7),
        Refused("[,1]", .unexpectedByte, at: 1), Refused("[1,,2]", .unexpectedByte, at: 3),
        Refused("[,]", .unexpectedByte, at: 1), Refused("{,}", .unexpectedByte, at: 1),
        Refused("[1 2]", .unexpectedByte, at: 3), Refused("[\"a\" \"b\"]", .unexpectedByte, at: 5),
        Refused("{\"a\":1 \"b\":2}", .unexpectedByte, at: 7),
        // Members that are none.
        Refused("{\"a\"}", .unexpectedByte, at: 4), Refused("{\"a\":}", .unexpectedByte, at: 5),
        Refused("{\"a\" 1}", .unexpectedByte, at: 5), Refused("{\"a\"::1}", .unexpectedByte, at: 5),
        Refused("{1:1}", .unexpectedByte, at: 1), Refused("{a:1}", .unexpectedByte, at: 1),
        Refused("{null:1}", .unexpectedByte, at: 1), Refused("[\"a\":1]", .unexpectedByte, at: 4),
        Refused("{\"a\":1 2}", .unexpectedByte, at: 7),
        Refused("{\"a\",1}", .unexpectedByte, at: 4),
        Refused("{'a':1}", .unexpectedByte, at: 1), Refused("['a']", .unexpectedByte, at: 1),
        // Brackets that do not match.
        Refused("[}", .unexpectedByte, at: 1), Refused("{]", .unexpectedByte, at: 1),
        Refused("[1}", .unexpectedByte, at: 2), Refused("{\"a\":1]", .unexpectedByte, at: 6),
        Refused("]", .unexpectedByte, at: 0), Refused("}", .unexpectedByte, at: 0),
        // Comments and other white space.
        Refused("/* */ 1", .unexpectedByte, at: 0), Refused("[1 // x\n]", .unexpectedByte, at: 3),
        Refused("# x", .unexpectedByte, at: 0), Refused("[\u{0B}1]", .unexpectedByte, at: 1),
        Refused("[\u{0C}]", .unexpectedByte, at: 1), Refused("[\u{A0}]", .unexpectedByte, at: 1),
        Refused("[1\u{0}]", .unexpectedByte, at: 2), Refused("[\u{2060}]", .unexpectedByte, at: 1),
        // Words that JSON does not have, or spells otherwise.
        Refused("True", .unexpectedByte, at: 0), Refused("nULL", .unexpectedByte, at: 1),
        Refused("nan", .unexpectedByte, at: 1), Refused("NaN", .unexpectedByte, at: 0),
        Refused("Infinity", .unexpectedByte, at: 0), Refused("undefined", .unexpectedByte, at: 0),
        Refused("[truth]", .unexpectedByte, at: 4), Refused("[nullx]", .unexpectedByte, at: 5),
        // More than one value.
        Refused("1 2", .trailingBytes, at: 2), Refused("[]]", .trailingBytes, at: 2),
        Refused("{}{}", .trailingBytes, at: 2), Refused("nullx", .trailingBytes, at: 4),
        Refused("[1],", .trailingBytes, at: 3), Refused("\"a\"\u{0}", .trailingBytes, at: 3),
        Refused("{} // x", .trailingBytes, at: 3), Refused("0x10", .trailingBytes, at: 1),
    ]

    /// RFC 8259 §8.1: UTF-8, without a byte order mark.
    static let encodings = [
        Refused("\u{FEFF}{}", .byteOrderMark, at: 0), Refused("\u{FEFF}", .byteOrderMark, at: 0),
        Refused([0xFF, 0xFE, 0x5B, 0, 0x5D, 0], .byteOrderMark, at: 0),
        Refused([0xFE, 0xFF, 0, 0x5B, 0, 0x5D], .byteOrderMark, at: 0),
        Refused([0x5B, 0, 0x5D, 0], .unexpectedByte, at: 1),
        Refused([0, 0x5B, 0, 0x5D], .unexpectedByte, at: 0),
        Refused([0xFF], .unexpectedByte, at: 0), Refused([0xC3, 0xA9], .unexpectedByte, at: 0),
        Refused(" \u{FEFF}1", .unexpectedByte, at: 1),
        Refused("1\u{FEFF}", .trailingBytes, at: 1),
    ]

    static let all = structure + encodings + StringTests.refusals + NumberTests.refusals

    @Test(arguments: all)
    func `refuses a text that RFC 8259 does not allow`(_ refused: Refused) {
        for reading in Reading.allCases {
            let error = refusal(of: refused.bytes, reading: reading)
            expect(error?.reason, equals: refused.reason)
            expect(error?.offset, equals: refused.offset)
        }
    }

    @Test func `no byte begins a value but those that RFC 8259 names`() {
        // §2: white space and what ends the array; §3: the rest.
        let allowed = Set(" \t\n\r]{[\"-0123456789tfn".utf8)
        for byte in UInt8.min...UInt8.max {
            let error = refusal(of: [0x5B, byte])
            // What may stand there is missing its end; what may not is itself the place of the error.
            expect((error?.offset != 1), equals: allowed.contains(byte))
        }
    }

    @Test func `the tables of refusals name every reason of the grammar`() {
        // The rest have tests of their own: duplicate keys, limits, and types.
        let elsewhere: Set<JSONError.Reason> = [
            .duplicateKey, .tooDeep, .tooLong, .wrongType, .integerOutOfRange,
        ]
        expect(Set(Self.all.map(\.reason)).union(elsewhere), equals: Set(JSONError.Reason.allCases))
    }
}
