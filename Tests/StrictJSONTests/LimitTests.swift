// What a stranger's text may cost (RFC 8259 §9).

import Expectations

@Suite struct LimitTests {
    @Test(arguments: [0, 1, 2, 64, JSONLimits.depthMax])
    func `nests exactly as deep as allowed`(depth: Int) {
        let limits = JSONLimits(depth: depth)
        for (opening, closing) in [("[", "]"), ("{\"a\":", "}"), ("[{\"a\":", "}]")] {
            let levels = opening.hasPrefix("[{") ? 2 : 1
            let count = depth / levels
            let allowed = nested(opening, closing, count)
            let tooDeep = nested(opening, closing, count + 1)
            for reading in Reading.allCases {
                expect(refusal(of: allowed, limits: limits, reading: reading) == nil)
                let error = refusal(of: tooDeep, limits: limits, reading: reading)
                expect(error?.reason, equals: .tooDeep)
            }
        }
    }

    @Test func `nests 64 deep unless told otherwise`() {
        expect(refusal(of: nested("[", "]", 64)) == nil)
        expect(refusal(of: nested("[", "]", 65))?.reason, equals: .tooDeep)
        expect(refusal(of: nested("[", "]", 65))?.offset, equals: 64)
    }

    @Test func `siblings do not count as depth`() {
        let text = "[" + [String](repeating: "[{}]", count: 1_000).joined(separator: ",") + "]"
        expect(refusal(of: text, limits: JSONLimits(depth: 3)) == nil)
        expect(refusal(of: text, limits: JSONLimits(depth: 2))?.offset, equals: 2)
    }

    @Test(arguments: Reading.allCases)
    func `refuses a hundred thousand open brackets`(reading: Reading) {
        for opening in ["[", "{\"a\":", "[{\"a\":"] {
            let text = String(repeating: opening, count: 100_000)
            let limits = JSONLimits(depth: JSONLimits.depthMax)
            let error = refusal(of: Array(text.utf8), limits: limits, reading: reading)
            expect(error?.reason, equals: .tooDeep)
        }
    }

    @Test func `reads exactly as many bytes as allowed`() {
        let text = Array("[1, 2, 3]".utf8)
        expect(refusal(of: text, limits: JSONLimits(byteCount: text.count)) == nil)
        let error = refusal(of: text, limits: JSONLimits(byteCount: text.count - 1))
        expect(error?.reason, equals: .tooLong)
        expect(error?.offset, equals: text.count - 1)
        expect(refusal(of: text, limits: JSONLimits(byteCount: 0))?.reason, equals: .tooLong)
    }

    @Test func `has the limits that its documentation names`() {
        expect(JSONLimits().depth, equals: 64)
        expect(JSONLimits().byteCount, equals: 256 * 1024 * 1024)
    }

    @Test func `a limit outside the allowed range is a programmer's mistake`() async {
        await #expect(processExitsWith: .failure) {
            _ = try JSONReader([], limits: JSONLimits(depth: JSONLimits.depthMax + 1))
        }
        await #expect(processExitsWith: .failure) {
            _ = try JSONReader([], limits: JSONLimits(byteCount: -1))
        }
    }

    private func nested(_ opening: String, _ closing: String, _ count: Int) -> [UInt8] {
        let before = String(repeating: opening, count: count)
        let after = String(repeating: closing, count: count)
        return Array((before + "1" + after).utf8)
    }
}
