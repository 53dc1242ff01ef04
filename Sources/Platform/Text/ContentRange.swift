/// The bytes of the whole that a response holds (RFC 9110, section 14.4).
package struct ContentRange: Sendable, Hashable {
    /// Nil in a 416.
    package var bytes: Range<Int64>?
    /// `nil` if the server does not know the size.
    package var total: Int64?

    /// Nil if the value is invalid, or counts anything other than bytes.
    package init?(_ value: String) {
        // Units are case-insensitive (section 14.1).
        let words = value.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased().utf8.elementsEqual("bytes".utf8) else {
            return nil
        }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        total = halves[1] == "*" ? nil : Self.number(halves[1])
        guard halves[0] != "*" else {
            if total == nil { return nil }
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]),
            last >= first, last < .max, total != nil || halves[1] == "*", total ?? .max > last
        else { return nil }
        bytes = first..<last + 1
    }

    private static func number(_ text: Substring) -> Int64? {
        text.utf8.allSatisfy { 48...57 ~= $0 } ? Int64(text) : nil
    }
}
