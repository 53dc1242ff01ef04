// The grammar of numbers, RFC 8259 §6: -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?

struct NumberToken {
    var start: Int
    var end: Int
    /// Whether it has neither fraction nor exponent, and is not `-0`.
    var isInteger: Bool

    struct Refusal: Error {
        var offset: Int
        /// Whether more text could make it a number.
        var isCut: Bool
        var expectation: StaticString
    }

    /// Reads the longest number at `start`; ignores what follows, but refuses a digit after a leading zero.
    init(in bytes: [UInt8], at start: Int) throws(Refusal) {
        var index = start
        let isNegative = index < bytes.count && bytes[index] == ASCII.minus
        if isNegative { index += 1 }

        let first = index
        try Self.skipDigits(in: bytes, at: &index, "a digit is due")
        if index - first > 1 && bytes[first] == ASCII.zero {
            throw Refusal(
                offset: first, isCut: false, expectation: "a number has no leading zeros")
        }
        isInteger = !(isNegative && bytes[first] == ASCII.zero)

        if index < bytes.count && bytes[index] == ASCII.period {
            index += 1
            isInteger = false
            try Self.skipDigits(in: bytes, at: &index, "a digit is due after the point")
        }
        if index < bytes.count && bytes[index] | 0x20 == UInt8(ascii: "e") {
            index += 1
            isInteger = false
            if index < bytes.count, bytes[index] == ASCII.plus || bytes[index] == ASCII.minus {
                index += 1
            }
            try Self.skipDigits(in: bytes, at: &index, "a digit is due in the exponent")
        }
        self.start = start
        self.end = index
    }

    private static func skipDigits(
        in bytes: [UInt8], at index: inout Int, _ expectation: StaticString
    ) throws(Refusal) {
        let first = index
        while index < bytes.count, bytes[index].isDigit { index += 1 }
        guard index == first else { return }
        throw Refusal(offset: index, isCut: index == bytes.count, expectation: expectation)
    }

    /// `nil` beyond 64 bits; for integers only.
    func value(in bytes: [UInt8]) -> Int64? {
        assert(isInteger)
        return Int64(String(decoding: bytes[start..<end], as: UTF8.self))
    }
}
