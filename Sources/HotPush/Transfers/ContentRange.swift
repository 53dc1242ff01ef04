/// Which bytes of the whole a response holds (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Hashable {
    /// The bytes, from the first to just past the last; nil in a 416: none of the requested ones.
    package var bytes: Range<Int64>?
    /// The size of the whole; nil if the server does not know it.
    package var total: Int64?

    /// Reads the field's value; nil if it is invalid, or counts anything other than bytes.
    package init?(_ value: String) {
        var reader = Reader(rest: Array(value.utf8)[...])
        guard reader.unit() else { return nil }
        if reader.take(42) {
            guard reader.take(47), let total = reader.number(), reader.rest.isEmpty
            else { return nil }
            (bytes, self.total) = (nil, total)
            return
        }
        guard let first = reader.number(), reader.take(45), let last = reader.number(),
            reader.take(47), last >= first, last < .max
        else { return nil }
        bytes = first..<last + 1
        if reader.take(42) {
            total = nil
        } else {
            guard let number = reader.number(), number > last else { return nil }
            total = number
        }
        guard reader.rest.isEmpty else { return nil }
    }

    /// Reads from left to right.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func take(_ byte: UInt8) -> Bool {
            guard rest.first == byte else { return false }
            rest.removeFirst()
            return true
        }

        /// `bytes` and a space; units are case-insensitive (section 14.1).
        mutating func unit() -> Bool {
            for letter in "bytes".utf8 {
                guard let byte = rest.first, byte | 32 == letter else { return false }
                rest.removeFirst()
            }
            return take(32)
        }

        mutating func number() -> Int64? {
            var number: Int64?
            while let digit = rest.first, digit >= 48, digit <= 57 {
                let (tens, isLarge) = (number ?? 0).multipliedReportingOverflow(by: 10)
                let (sum, isLarger) = tens.addingReportingOverflow(Int64(digit - 48))
                guard !isLarge, !isLarger else { return nil }
                number = sum
                rest.removeFirst()
            }
            return number
        }
    }
}
