/// The ranges that a Range field asks for (RFC 9110, section 14).
package enum ByteRanges: Equatable {
    /// Another unit, malformed, or more than is reasonable: the whole representation is sent.
    case ignored
    /// The field is well-formed, but names no byte of the representation: 416.
    case unsatisfiable
    /// What to send, in the order requested; never empty.
    case ranges([Range<Int64>])

    static let countMax = 16

    /// Reads the field's value for a representation of `size` bytes.
    ///
    /// A request gets the whole representation if it asks for more than ``countMax`` ranges, or for ranges longer in
    /// total than the representation, which only overlapping ones are (section 14.2 allows it). So no request makes
    /// the answer larger than the representation and 16 part heads. A last position before the first makes the field
    /// malformed; `-0` is well-formed and unsatisfiable; positions beyond 64 bits count as the largest number. An
    /// empty representation satisfies no range.
    package init(_ value: FieldText, size: Int64) {
        guard let equals = value.firstIndex(of: 61), value[..<equals].isWord("bytes") else {
            self = .ignored
            return
        }
        var found: [Range<Int64>] = []
        var total: Int64 = 0
        var count = 0
        for element in value[(equals + 1)...].listElements() {
            count += 1
            guard count <= Self.countMax, let range = Self.range(element, size) else {
                self = .ignored
                return
            }
            if range.isEmpty { continue }
            found.append(range)
            let (sum, isTooLarge) = total.addingReportingOverflow(
                range.upperBound - range.lowerBound)
            total = isTooLarge ? .max : sum
        }
        if count == 0 {
            self = .ignored
        } else if found.isEmpty {
            self = .unsatisfiable
        } else if found.count > 1, total > size {
            self = .ignored
        } else {
            self = .ranges(found)
        }
    }

    /// One range; empty if it is unsatisfiable, `nil` if it is malformed.
    private static func range(_ text: FieldText, _ size: Int64) -> Range<Int64>? {
        guard let dash = text.firstIndex(of: 45) else { return nil }
        let (left, right) = (text[..<dash], text[(dash + 1)...])
        if left.isEmpty {
            guard let length = number(right) else { return nil }
            return max(0, size - length)..<size
        }
        guard let first = number(left) else { return nil }
        var last = Int64.max
        if !right.isEmpty {
            guard let number = number(right), number >= first else { return nil }
            last = number
        }
        return first < size ? first..<min(last, size - 1) + 1 : size..<size
    }

    private static func number(_ digits: FieldText) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy({ $0 >= 48 && $0 <= 57 }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self)) ?? .max
    }
}
