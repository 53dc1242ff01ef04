// Strings: RFC 8259 §7 for escapes, RFC 3629 §3 and §4 for UTF-8.

import Expectations

@Suite struct StringTests {
    static let refusals = [
        // Escapes that are none.
        Refused(#""\x41""#, .invalidString, at: 1), Refused(#""\'""#, .invalidString, at: 1),
        Refused(#""\0""#, .invalidString, at: 1), Refused(#""\U0041""#, .invalidString, at: 1),
        Refused(#""a\v""#, .invalidString, at: 2), Refused("\"\\\n\"", .invalidString, at: 1),
        Refused("\"\\é\"", .invalidString, at: 1), Refused(#""\u{41}""#, .invalidString, at: 3),
        Refused(#""\u004""#, .invalidString, at: 6), Refused(#""\u00g1""#, .invalidString, at: 5),
        Refused(#""\u+041""#, .invalidString, at: 3), Refused(#""\u 041""#, .invalidString, at: 3),
        // U+0000, raw and escaped, and lone surrogates.
        Refused("\"\u{0}\"", .invalidString, at: 1), Refused(#""\u0000""#, .invalidString, at: 1),
        Refused(#""\uD800""#, .invalidString, at: 1), Refused(#""\uDC00""#, .invalidString, at: 1),
        Refused(#""\uDFFF""#, .invalidString, at: 1), Refused(#""\uD800x""#, .invalidString, at: 1),
        Refused(#""\uD800\n""#, .invalidString, at: 1),
        Refused(#""\uD800\uD800""#, .invalidString, at: 1),
        Refused(#""\uD800\uE000""#, .invalidString, at: 1),
        Refused(#""\uD83D\u0041""#, .invalidString, at: 1),
        Refused(#""\uDE00\uD83D""#, .invalidString, at: 1),
        Refused(#"{"\uD800":1}"#, .invalidString, at: 2),
        // RFC 3629 §10: overlong, surrogates, beyond U+10FFFF, stray and missing tails.
        Refused([0x22, 0xC0, 0x80, 0x22], .invalidUTF8, at: 1),
        Refused([0x22, 0xC1, 0xBF, 0x22], .invalidUTF8, at: 1),
        Refused([0x22, 0xE0, 0x9F, 0xBF, 0x22], .invalidUTF8, at: 2),
        Refused([0x22, 0xED, 0xA0, 0x80, 0x22], .invalidUTF8, at: 2),
        Refused([0x22, 0xF0, 0x8F, 0xBF, 0xBF, 0x22], .invalidUTF8, at: 2),
        Refused([0x22, 0xF4, 0x90, 0x80, 0x80, 0x22], .invalidUTF8, at: 2),
        Refused([0x22, 0xF5, 0x80, 0x80, 0x80, 0x22], .invalidUTF8, at: 1),
        Refused([0x22, 0xFE, 0x22], .invalidUTF8, at: 1),
        Refused([0x22, 0x80, 0x22], .invalidUTF8, at: 1),
        Refused([0x22, 0xC3, 0x22], .invalidUTF8, at: 2),
        Refused([0x22, 0xE2, 0x82, 0x22], .invalidUTF8, at: 3),
        Refused([0x22, 0xF0, 0x9F, 0x98, 0x22], .invalidUTF8, at: 4),
    ]

    /// The length decides where the fast scan looks, so every length up to 20 is tried.
    @Test(arguments: Array(0x00...0x1F as ClosedRange<UInt8>))
    func `refuses a raw control character wherever it stands`(_ control: UInt8) {
        for length in 0...20 {
            for place in 0...length {
                var text = [UInt8](repeating: UInt8(ascii: "~"), count: length)
                text.insert(control, at: place)
                let error = refusal(of: [0x22] + text + [0x22])
                expect(error?.reason, equals: .invalidString)
                expect(error?.offset, equals: place + 1)
            }
        }
    }

    @Test func `finds the end of a string of any length before any byte`() throws {
        for length in 0...20 {
            for after in [UInt8(0x01), 0x22, 0x5C, 0x80, 0xFF] {
                let text = [UInt8](repeating: UInt8(ascii: " "), count: length)
                var reader = try JSONReader([0x22] + text + [0x22, after, after])
                try expect(reader.readString(), equals: String(decoding: text, as: UTF8.self))
                expect(reader.offset, equals: length + 2)
            }
        }
    }

    @Test func `keeps every character but the escaped ones as it is`() throws {
        for first in stride(from: UInt32(0), through: 0x10FFFF, by: 0x400) {
            let scalars = (first..<first + 0x400).compactMap(Unicode.Scalar.init).filter {
                $0.value >= 0x20 && $0 != "\"" && $0 != "\\"
            }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            try expect(JSONValue.parse(Array("\"\(text)\"".utf8)), equals: .string(text))
        }
    }

    @Test func `decodes the escape of every character, in both cases`() throws {
        for value in stride(from: UInt32(1), through: 0x10FFFF, by: 97) {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let units = String(scalar).utf16.map { String($0, radix: 16) }
            let digits = units.map { String(repeating: "0", count: 4 - $0.count) + $0 }
            for spelling in [digits, digits.map { $0.uppercased() }] {
                let text = "\"" + spelling.map { "\\u" + $0 }.joined() + "\""
                try expect(parse(text), equals: .string(String(scalar)))
            }
        }
    }

    @Test func `takes exactly the two-byte sequences that are UTF-8`() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max where second >= 0x80 || first >= 0x80 {
                // RFC 3629 §4: UTF8-2 = %xC2-DF UTF8-tail.
                let isValid = (0xC2...0xDF).contains(first) && (0x80...0xBF).contains(second)
                expect((refusal(of: [0x22, first, second, 0x22]) == nil), equals: isValid)
            }
        }
    }

    @Test func `takes exactly the three- and four-byte sequences that are UTF-8`() {
        let edges: [UInt8] = [0x22, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xFF]
        let tail: ClosedRange<UInt8> = 0x80...0xBF
        for first in UInt8(0xE0)...0xFF {
            for second in edges {
                for third in edges {
                    // RFC 3629 §4, line by line.
                    let second3: ClosedRange<UInt8> =
                        first == 0xE0 ? 0xA0...0xBF : first == 0xED ? 0x80...0x9F : tail
                    let isThree =
                        first <= 0xEF && second3.contains(second) && tail.contains(third)
                    expect(
                        (refusal(of: [0x22, first, second, third, 0x22]) == nil), equals: isThree)

                    let second4: ClosedRange<UInt8> =
                        first == 0xF0 ? 0x90...0xBF : first == 0xF4 ? 0x80...0x8F : tail
                    let isFour =
                        (0xF0...0xF4).contains(first) && second4.contains(second)
                        && tail.contains(third)
                    let four = [0x22, first, second, third, 0xBF, 0x22]
                    expect((refusal(of: four) == nil), equals: isFour)
                }
            }
        }
    }
}
