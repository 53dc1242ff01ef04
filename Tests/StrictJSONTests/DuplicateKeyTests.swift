// A key stands in an object once: RFC 8259 §4 recommends it, this reader insists.

import Expectations

@Suite struct DuplicateKeyTests {
    static let refusals: [(String, Int)] = [
        (#"{"a":1,"a":1}"#, 7), (#"{"":1,"":2}"#, 6), (#"{"a":1,"b":2,"a":3}"#, 13),
        (#"[{"a":1,"a":1}]"#, 8), (#"{"x":{"a":{},"a":[]}}"#, 13),
        (#"{"a":{"b":1},"a":1}"#, 13), (#"{"a":[{"a":1}],"a":1}"#, 15),
        (#"{"é":1,"é":2}"#, 8), (#"{"/":1,"\/":2}"#, 7), (#"{"\n":1,"\u000a":2}"#, 8),
        (#"{"😀":1,"\ud83d\ude00":2}"#, 10), (#"{"a":1,"\u0061":2}"#, 7),
        (#"{"\u0061":1,"a":2}"#, 12), (#"{"\u0061":1,"\u0061":2}"#, 12),
        (#"{"\u006A":1,"\u006a":2}"#, 12), (#"{"a":1,"\u0061":2}"#, 7),
        (#"{"\u0061":1,"a":2}"#, 12), (#"{"\u0061":1,"\u0061":2}"#, 12),
        (#"{"\u006A":1,"\u006a":2}"#, 12),
    ]

    @Test(arguments: refusals)
    func `refuses a key that comes twice, at its second quote`(text: String, offset: Int) {
        for reading in Reading.allCases {
            let error = refusal(of: Array(text.utf8), reading: reading)
            expect(error?.reason, equals: .duplicateKey)
            expect(error?.offset, equals: offset)
        }
    }

    @Test(arguments: [
        #"{"a":{"a":{"a":1}}}"#, #"[{"a":1},{"a":2}]"#, #"{"x":{"a":1},"y":{"a":2},"a":3}"#,
        #"{"a":1,"A":2,"a ":3," a":4,"":5}"#, #"{"a":1,"ab":2,"b":3,"ba":4}"#,
        #"{"a":"a","b":"a"}"#, #"{"\\u0061":1,"a":2}"#,
        // RFC 8259 §8.3: keys are compared by code units, not by canonical equivalence.
        "{\"\u{E9}\":1,\"e\u{301}\":2}",
    ])
    func `takes keys that differ or stand in different objects`(_ text: String) {
        for reading in Reading.allCases {
            expect(refusal(of: Array(text.utf8), reading: reading) == nil)
        }
    }

    /// Small objects are searched one way and large ones another; 40 keys pass through both.
    @Test(arguments: 1...40)
    func `finds a duplicate of any key in an object of any size`(count: Int) {
        let keys = (0..<count).map { "k\($0)" }
        for inner in ["1", #"{"k0":[{"k1":1}]}"#] {
            expect(refusal(of: "{\(members(keys, inner))}") == nil)
            for key in keys {
                let escaped = "\\u006b" + key.dropFirst()
                for repeated in [key, escaped] {
                    let text = "{\(members(keys + [repeated], inner))}"
                    expect(refusal(of: text)?.reason, equals: .duplicateKey)
                }
            }
            let escapedKeys = keys.map { "\\u006b" + $0.dropFirst() }
            expect(refusal(of: "{\(members(escapedKeys, inner))}") == nil)
            for key in keys {
                let text = "{\(members(escapedKeys + [key], inner))}"
                expect(refusal(of: text)?.reason, equals: .duplicateKey)
            }
        }
    }

    @Test func `finds a duplicate after a large object inside a large object`() {
        let inner = "{\(members((0..<2_000).map(String.init), "0"))}"
        let before = members((0..<50).map(String.init), "0")
        let after = members((50..<100).map(String.init), "0")
        let outer = "\(before),\"large\":\(inner),\(after)"
        expect(refusal(of: "{\(outer)}") == nil)
        expect(refusal(of: "{\(outer),\"100\":0}") == nil)
        for key in ["0", "7", "8", "49", "50", "99", "large"] {
            expect(refusal(of: "{\(outer),\"\(key)\":0}")?.reason, equals: .duplicateKey)
        }
    }

    private func members(_ keys: [String], _ value: String) -> String {
        keys.map { "\"\($0)\":\(value)" }.joined(separator: ",")
    }
}
