// Numbers: the grammar of RFC 8259 §6, and integers.

import Expectations

@Suite struct NumberTests {
    static let refusals = [
        Refused("01", .invalidNumber, at: 0), Refused("-01", .invalidNumber, at: 1),
        Refused("00", .invalidNumber, at: 0), Refused("[1.]", .invalidNumber, at: 3),
        Refused("1.", .unexpectedEnd, at: 2), Refused(".5", .invalidNumber, at: 0),
        Refused("[-.5]", .invalidNumber, at: 2), Refused("+1", .invalidNumber, at: 0),
        Refused("1e", .unexpectedEnd, at: 2), Refused("[1e]", .invalidNumber, at: 3),
        Refused("[1e+]", .invalidNumber, at: 4), Refused("-", .unexpectedEnd, at: 1),
        Refused("[-]", .invalidNumber, at: 2), Refused("-Infinity", .invalidNumber, at: 1),
        Refused("-NaN", .invalidNumber, at: 1), Refused("--1", .invalidNumber, at: 1),
        Refused("1.e5", .invalidNumber, at: 2), Refused("[1.5.2]", .unexpectedByte, at: 4),
        Refused("[1_000]", .unexpectedByte, at: 2), Refused("[0x10]", .unexpectedByte, at: 2),
        Refused("[1e5.5]", .unexpectedByte, at: 4), Refused("[1f]", .unexpectedByte, at: 2),
        Refused("1e5e5", .trailingBytes, at: 3), Refused("1-1", .trailingBytes, at: 1),
    ]

    @Test func `takes exactly the short texts that the grammar makes`() {
        let number = /-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/
        var texts = [""]
        for _ in 1...5 {
            texts = texts.flatMap { text in "-+.eE09".map { text + String($0) } }
            for text in texts {
                let isNumber = text.wholeMatch(of: number) != nil
                if (refusal(of: text) == nil) != isNumber {
                    Issue.record("\(text) is \(isNumber ? "a number" : "no number")")
                }
            }
        }
    }

    static let integers: [(String, Int64)] = [
        ("0", 0), ("1", 1), ("-1", -1), ("10", 10), ("1234567890", 1_234_567_890),
        ("9007199254740993", 9_007_199_254_740_993),
        ("9223372036854775807", .max), ("-9223372036854775807", -.max),
        ("-9223372036854775808", .min),
    ]

    @Test(arguments: integers)
    func `reads an integer exactly`(text: String, value: Int64) throws {
        var reader = try makeReader(" \(text) ")
        try expect(reader.readInteger(), equals: value)
        try reader.finish()
        try expect(parse(text).asInt64, equals: value)
        expect(JSONValue.integer(value), equals: .number(text))
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551616",
        "92233720368547758070", "100000000000000000000000000000000000000000",
    ])
    func `refuses an integer that 64 bits do not hold`(_ text: String) throws {
        let error = #expect(throws: JSONError.self) {
            var reader = try makeReader(" " + text)
            _ = try reader.readInteger()
        }
        expect(error?.reason, equals: .integerOutOfRange)
        expect(error?.offset, equals: 1)
        try expect(parse(text), equals: .number(text))
        try expect(parse(text).asInt64 == nil)
    }

    @Test(arguments: ["1.0", "1e3", "1E0", "-0", "0.0", "-0.5", "\"1\"", "null", "[1]"])
    func `does not take another value for an integer`(_ text: String) throws {
        let error = #expect(throws: JSONError.self) {
            var reader = try makeReader(text)
            _ = try reader.readInteger()
        }
        expect(error?.reason, equals: .wrongType)
        expect(error?.offset, equals: 0)
        try expect(parse(text).asInt64 == nil)
    }
}
