// The writer: layout, strings and numbers of RFC 8785.

import Expectations

@Suite struct WriterTests {
    @Test func `puts commas and colons and no white space`() {
        let text = written { writer in
            writer.beginObject()
            writer.key("a")
            writer.integer(1)
            writer.key("b")
            writer.beginArray()
            writer.bool(true)
            writer.bool(false)
            writer.null()
            writer.string("x")
            writer.beginObject()
            writer.endObject()
            writer.beginArray()
            writer.endArray()
            writer.endArray()
            writer.key("c")
            writer.value(.object([.init(key: "d", value: .number("1.50"))]))
            writer.endObject()
        }
        expect(text, equals: #"{"a":1,"b":[true,false,null,"x",{},[]],"c":{"d":1.50}}"#)
    }

    static let strings: [(String, String)] = [
        ("", #""""#), ("plain text", #""plain text""#), ("\"", #""\"""#), ("\\", #""\\""#),
        ("/", #""/""#), ("'<>&", #""'<>&""#), ("\u{8}\t\n\u{C}\r", #""\b\t\n\f\r""#),
        ("\u{0}\u{1}\u{B}\u{F}\u{1F}", #""\u0000\u0001\u000b\u000f\u001f""#),
        ("\u{7F}", "\"\u{7F}\""), ("é€😀", "\"é€😀\""),
        ("\u{2028}\u{FEFF}\u{FFFF}", "\"\u{2028}\u{FEFF}\u{FFFF}\""),
        ("e\u{301}", "\"e\u{301}\""),
        // The example of RFC 8785 §3.2.2.
        ("\u{20ac}$\u{F}\nA'B\"\\\\\"/", #""€$\u000f\nA'B\"\\\\\"/""#),
        (
            "a \"long\" text é with\nevery kind 😀 of run\u{1}",
            #""a \"long\" text é with\n"#
                + "every kind 😀 of run" + #"\u0001""#
        ),
    ]

    @Test(arguments: strings)
    func `writes a string as RFC 8785 does`(text: String, expected: String) {
        let bytes = Array(text.utf8)
        let ways = [
            written { $0.string(text) },
            written { $0.string(utf8: bytes) },
            written { $0.string(utf8: ([0x22, 0xFF] + bytes + [0x80])[2..<2 + bytes.count]) },
            written { $0.string(utf8: text.utf8) },
            written { writer in bytes.withUnsafeBufferPointer { writer.string(utf8: $0) } },
            written { $0.string(utf8: bytes.lazy.map { $0 }) },
            written { $0.value(.string(text)) },
        ]
        for way in ways { expect(way.utf8.elementsEqual(expected.utf8)) }
        let object = written {
            $0.beginObject()
            $0.key(text)
            $0.null()
            $0.endObject()
        }
        expect(object.utf8.elementsEqual("{\(expected):null}".utf8))
    }

    @Test func `writes an integer of any type`() {
        expect(written { $0.integer(0) }, equals: "0")
        expect(written { $0.integer(UInt8(255)) }, equals: "255")
        expect(written { $0.integer(-10) }, equals: "-10")
        expect(written { $0.integer(Int64.max) }, equals: "9223372036854775807")
        expect(written { $0.integer(Int64.min) }, equals: "-9223372036854775808")
        expect(written { $0.integer(UInt64.max) }, equals: "18446744073709551615")
        expect(
            written { $0.integer(Int128.min) }, equals: "-170141183460469231731687303715884105728")
    }

    @Test func `a text drained in pieces is the whole text`() throws {
        var writer = JSONWriter()
        var drained: [UInt8] = []
        writer.beginArray()
        for number in 0..<100 {
            writer.integer(number)
            if number.isMultiple(of: 7) { drained += writer.drain() }
        }
        expect(!writer.isComplete)
        writer.endArray()
        expect(writer.isComplete)
        drained += writer.drain()
        expect(writer.drain().isEmpty)
        try expect(JSONValue.parse(drained).asArray?.count, equals: 100)
    }
}
