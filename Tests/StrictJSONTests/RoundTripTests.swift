// What is written is read again, and the order of keys is that of RFC 8785.

import StorageTestSupport

@Suite struct RoundTripTests {
    @Test func `a written text is read as the value it was`() throws {
        let value = try parse(oneOfEverything)
        let text = JSONWriter.serialize(value, sortedKeys: false)
        try expect(JSONValue.parse(text), equals: value)
        try expect(JSONWriter.serialize(JSONValue.parse(text), sortedKeys: false), equals: text)
    }

    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func `random values survive being written and read`(seed: UInt64) throws {
        var generator = SeededRandom(seed: seed)
        for _ in 0..<500 {
            let value = makeValue(depth: 4, &generator)
            let text = JSONWriter.serialize(value, sortedKeys: false)
            try expect(JSONValue.parse(text), equals: value)
            let sorted = JSONWriter.serialize(value, sortedKeys: true)
            expect(sorted.count, equals: text.count)
            let again = try JSONValue.parse(sorted)
            expect(JSONWriter.serialize(again, sortedKeys: true), equals: sorted)
        }
    }

    /// The example of RFC 8785 §3.2.3.
    @Test func `sorts keys by their UTF-16 code units`() throws {
        let text = #"""
            {"\u20ac": "Euro Sign", "\r": "Carriage Return",
             "\ufb33": "Hebrew Letter Dalet With Dagesh", "1": "One",
             "\ud83d\ude00": "Emoji: Grinning Face", "\u0080": "Control",
             "\u00f6": "Latin Small Letter O With Diaeresis"}
            """#
        let sorted = JSONWriter.serialize(try parse(text), sortedKeys: true)
        let order = try JSONValue.parse(sorted).asObject?.map(\.value.asString)
        expect(
            order,
            equals: [
                "Carriage Return", "One", "Control", "Latin Small Letter O With Diaeresis",
                "Euro Sign", "Emoji: Grinning Face", "Hebrew Letter Dalet With Dagesh",
            ])
    }

    @Test func `sorts the keys of every object, and no elements`() throws {
        let value = try parse(#"{"b":[{"d":1,"c":2},0,-1],"a":{"f":1,"e":2},"":0}"#)
        let sorted = String(decoding: JSONWriter.serialize(value, sortedKeys: true), as: UTF8.self)
        expect(sorted, equals: #"{"":0,"a":{"e":2,"f":1},"b":[{"c":2,"d":1},0,-1]}"#)
    }

    @Test func `the order of keys agrees with UTF-16 on every kind of character`() {
        let characters: [Unicode.Scalar] = [
            "\u{1}", "a", "b", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}",
            "\u{EFFF}", "\u{F000}", "\u{FFFF}", "\u{10000}", "\u{3FFFF}", "\u{40000}", "\u{10FFFF}",
        ]
        let short = [""] + characters.map { String($0) }
        let keys = short + short.flatMap { first in short.map { "\(first)x\($0)" } }
        for left in keys {
            for right in keys {
                let expected = left.utf16.lexicographicallyPrecedes(right.utf16)
                if JSONWriter.keyPrecedes(left, right) != expected {
                    Issue.record("\(left.debugDescription) and \(right.debugDescription)")
                }
            }
        }
    }

    private func makeValue(depth: Int, _ generator: inout SeededRandom) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 6 : 4), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &generator))
        case 3: return .string(makeText(&generator))
        case 4:
            let count = Int.random(in: 0...4, using: &generator)
            return .array((0..<count).map { _ in makeValue(depth: depth - 1, &generator) })
        default:
            let count = Int.random(in: 0...20, using: &generator)
            return .object(
                (0..<count).map { number in
                    JSONValue.Member(
                        // The number and the colon keep the keys of an object apart.
                        key: "\(number):" + makeText(&generator),
                        value: makeValue(depth: depth - 1, &generator))
                })
        }
    }

    private func makeText(_ generator: inout SeededRandom) -> String {
        var text = ""
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let limits: [UInt32] = [0x80, 0x800, 0x1_0000, 0x11_0000]
            let limit = limits.randomElement(using: &generator) ?? 0x80
            let value = UInt32.random(in: 1..<limit, using: &generator)
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
