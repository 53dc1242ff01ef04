// Texts that were damaged: whatever is left of them is either valid or refused.

import StorageTestSupport

@Suite struct RobustnessTests {
    let text = Array(oneOfEverything.utf8)

    @Test func `a text cut anywhere ends unexpectedly`() throws {
        expect(refusal(of: text) == nil)
        for count in 0..<text.count {
            for reading in Reading.allCases {
                let error = refusal(of: Array(text[..<count]), reading: reading)
                expect(error?.reason, equals: .unexpectedEnd)
                expect(error?.offset, equals: count)
            }
        }
    }

    @Test func `a text with any bit flipped is refused or valid`() {
        for index in text.indices {
            for bit in 0..<8 {
                var flipped = text
                flipped[index] ^= 1 << bit
                check(flipped)
            }
        }
    }

    @Test func `a text with any byte replaced is refused or valid`() {
        let replacements =
            Array("\"\\{}[],:0-.eutn/ ".utf8) + [0, 0x1F, 0x7F, 0x80, 0xC3, 0xED, 0xFF]
        for index in text.indices {
            for byte in replacements {
                var replaced = text
                replaced[index] = byte
                check(replaced)
            }
        }
    }

    @Test func `a text with any byte removed or doubled is refused or valid`() {
        for index in text.indices {
            var shorter = text
            shorter.remove(at: index)
            check(shorter)
            check(Array(text[...index] + text[index...]))
        }
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func `pieces of texts in random order are refused or valid`(seed: UInt64) {
        var generator = SeededRandom(seed: seed)
        let pieces = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\u0061\"", "1", "-0.5e1", "true",
            "null", " ", "\"a\":", ",\"b\":", "\"", "\\", "é",
        ].map { Array($0.utf8) }
        for _ in 0..<5_000 {
            let count = Int.random(in: 1...12, using: &generator)
            check((0..<count).flatMap { _ in pieces.randomElement(using: &generator) ?? [] })
        }
    }

    /// Checks that all ways of reading agree, that an error lies within the text, and that a valid
    /// text survives being written and read again.
    private func check(_ bytes: [UInt8]) {
        let error = refusal(of: bytes)
        for reading in Reading.allCases where reading != .asTree {
            expect(refusal(of: bytes, reading: reading), equals: error)
        }
        if let error {
            expect((0...bytes.count).contains(error.offset))
            return
        }
        #expect(throws: Never.self) {
            let value = try JSONValue.parse(bytes)
            let written = JSONWriter.serialize(value, sortedKeys: false)
            try expect(JSONValue.parse(written), equals: value)
        }
    }
}
