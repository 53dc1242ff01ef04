extension RequestHead.Field {
    /// Reads a field's line, which is not empty (RFC 9112, section 5).
    init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(MessageFailure) {
        var colon = line.lowerBound
        guard bytes[colon] != 32, bytes[colon] != 9 else {
            throw MessageFailure(400, "a field is folded over two lines")
        }
        while colon < line.upperBound, ByteClass.isToken(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == 58 else {
            throw MessageFailure(400, "a field's name is not a token followed by a colon")
        }
        name = line.lowerBound..<colon
        value = bytes.trimmed(colon + 1..<line.upperBound)
    }
}

/// Iterates over a list without quoted commas, including empty elements (RFC 9110, section 5.6.1).
struct ListElements {
    private var rest: Range<Int>?

    init(_ value: Range<Int>) { rest = value }

    mutating func next(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let list = rest else { return nil }
        var end = list.lowerBound
        while end < list.upperBound, bytes[end] != 44 { end += 1 }
        rest = end < list.upperBound ? end + 1..<list.upperBound : nil
        return bytes.trimmed(list.lowerBound..<end)
    }
}

extension Span<UInt8> {
    /// The part without the white space around it (RFC 9110, section 5.6.3).
    @inline(__always)
    func trimmed(_ part: Range<Int>) -> Range<Int> {
        var (first, last) = (part.lowerBound, part.upperBound)
        while first < last, self[first] == 32 || self[first] == 9 { first += 1 }
        while last > first, self[last - 1] == 32 || self[last - 1] == 9 { last -= 1 }
        return first..<last
    }

    func areSame(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        guard one.count == other.count else { return false }
        for (left, right) in zip(one, other)
        where FieldText.lowercased(self[left]) != FieldText.lowercased(self[right]) {
            return false
        }
        return true
    }
}
