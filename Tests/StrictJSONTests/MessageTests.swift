// What people are told.

import Expectations

@Suite struct MessageTests {
    @Test(arguments: [
        ("[1,\n  2,\n  x]", "at byte 11 (line 3, column 3)."),
        ("[\"é€😀\", x]", "at byte 14 (line 1, column 9)."),
        ("", "at byte 0 (line 1, column 1)."),
        ("[\r\n]]", "at byte 4 (line 2, column 2)."),
    ])
    func `a message ends with the place, counted in bytes and in characters`(
        text: String, place: String
    ) {
        let message = refusal(of: text)?.message ?? ""
        expect(message.hasSuffix(place), "\(message)")
    }

    @Test func `a message names the key that comes twice`() {
        let message = refusal(of: #"{"a\"é😀":1,"a\"é😀":2}"#)?.message ?? ""
        expect(message.contains(#""a\"\u00e9\ud83d\ude00""#), "\(message)")
    }

    @Test func `a message is printable and short whatever the text is`() {
        let key = String(repeating: "\\u001b[2J\u{202E}", count: 1_000)
        var texts = [Array("{\"\(key)\":1,\"\(key)\":2}".utf8)]
        for byte in UInt8.min...UInt8.max {
            texts += [
                [byte], [0x5B, byte], [0x22, byte, 0x22], [0x22, 0x5C, byte], [0x31, byte],
            ]
        }
        for text in texts {
            guard let message = refusal(of: text)?.message else { continue }
            expect(message.utf8.count < 200)
            expect(message.unicodeScalars.allSatisfy { (" "..."~").contains($0) || $0 == "…" })
            expect(message.hasSuffix("."))
        }
    }

    @Test func `a decoder's own refusal names the place that it means`() throws {
        var reader = try makeReader("{\"path\": \"../x\"}")
        try reader.enterObject()
        _ = try reader.nextKey()
        let offset = reader.offset
        expect(reader.failure("A").offset, equals: offset)
        _ = try reader.readString()
        let error = reader.failure("The path leaves the tree", at: offset)
        expect(error.reason, equals: .wrongType)
        expect(error.offset, equals: 9)
        expect(error.message, equals: "The path leaves the tree at byte 9 (line 1, column 10).")
        expect("\(error)", equals: error.message)
        try expect(reader.nextKey() == nil)
    }
}
