// Texts that RFC 8259 allows, and what they mean.

import Expectations

@Suite struct AcceptanceTests {
    static let meanings: [(String, JSONValue)] = [
        // RFC 8259 §2: any value is a text, with white space around it.
        ("null", .null), ("true", .bool(true)), ("false", .bool(false)),
        (" \t\n\r 1 \t\n\r ", .number("1")), ("\"\"", .string("")),
        // §4
        ("{}", .object([])), ("{ }", .object([])),
        (#"{"a":1}"#, .object([.init(key: "a", value: .number("1"))])),
        (
            #" { "a" : 1 , "b" : [ ] } "#,
            .object([.init(key: "a", value: .number("1")), .init(key: "b", value: .array([]))])
        ),
        (#"{"":null}"#, .object([.init(key: "", value: .null)])),
        // §5
        ("[]", .array([])), ("[ ]", .array([])),
        (
            "[1,true,null,\"x\",[],{}]",
            .array([.number("1"), .bool(true), .null, .string("x"), .array([]), .object([])])
        ),
        ("[[[1],2],3]", .array([.array([.array([.number("1")]), .number("2")]), .number("3")])),
        // §6: the spelling is kept.
        ("-0", .number("-0")), ("1.50", .number("1.50")), ("1E+2", .number("1E+2")),
        ("123456789012345678901234567890", .number("123456789012345678901234567890")),
        // §7
        (#""\"\\\/\b\f\n\r\t""#, .string("\"\\/\u{8}\u{C}\n\r\t")),
        (#""\u0041\u00e9\u20AC\uD834\uDD1E""#, .string("Aé€\u{1D11E}")),
        ("\"\u{7F}\"", .string("\u{7F}")),
        ("\"\u{2028}\u{FFFF}\u{10FFFF}\"", .string("\u{2028}\u{FFFF}\u{10FFFF}")),
    ]

    @Test(arguments: meanings)
    func `reads what a valid text means, and accepts it in every way`(
        text: String, meaning: JSONValue
    ) throws {
        try expect(parse(text), equals: meaning)
        for reading in Reading.allCases {
            expect(refusal(of: Array(text.utf8), reading: reading) == nil)
        }
    }

    @Test func `reads a manifest of ten thousand entries`() throws {
        var writer = JSONWriter()
        writer.beginObject()
        for number in 0..<10_000 {
            writer.key("path/\(number)")
            writer.integer(number)
        }
        writer.endObject()

        var reader = try JSONReader(writer.drain())
        var count: Int64 = 0
        try reader.enterObject()
        while let key = try reader.nextKey() {
            expect(key, equals: "path/\(count)")
            try expect(reader.readInteger(), equals: count)
            count += 1
        }
        try reader.finish()
        expect(count, equals: 10_000)
    }
}
