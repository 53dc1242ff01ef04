import Platform

/// The value of a field as received, or a part of it.
package typealias FieldText = ArraySlice<UInt8>

extension ArraySlice<UInt8> {
    /// - Parameter word: lower-case ASCII; the text's case is ignored.
    @inline(__always)
    package func isWord(_ word: StaticString) -> Bool {
        guard count == word.utf8CodeUnitCount else { return false }
        let expected = word.utf8Start
        var position = startIndex
        for offset in 0..<word.utf8CodeUnitCount {
            if Self.lowercased(self[position]) != expected[offset] { return false }
            position += 1
        }
        return true
    }

    @inline(__always)
    package func isEqual(to other: [UInt8]) -> Bool {
        withUnsafeBufferPointer { left in
            other.withUnsafeBufferPointer { areEqual(left, $0) }
        }
    }

    /// The text without the white space around it (RFC 9110, section 5.6.3).
    func trimmed() -> FieldText {
        var text = self
        while let first = text.first, first == 32 || first == 9 { text.removeFirst() }
        while let last = text.last, last == 32 || last == 9 { text.removeLast() }
        return text
    }

    /// The non-empty elements (section 5.6.1) of a list whose elements have no quoted commas.
    func listElements() -> some Sequence<FieldText> {
        split(separator: 44).lazy.map { $0.trimmed() }.filter { !$0.isEmpty }
    }

    /// The name in an element of a list, and its weight in thousandths (section 12.4.2).
    func weighted() -> (name: FieldText, weight: Int?) {
        let semicolon = firstIndex(of: 59) ?? endIndex
        return (self[..<semicolon].trimmed(), self[semicolon...].weight())
    }

    /// The weight in `;q=0.5`: 1000 if there is none, `nil` if it is malformed.
    private func weight() -> Int? {
        for parameter in split(separator: 59) {
            let parameter = parameter.trimmed()
            guard parameter.count >= 2, parameter.prefix(2).isWord("q=") else { continue }
            return acceptWeight(parameter.dropFirst(2))
        }
        return 1000
    }

    /// Changes ASCII letters only.
    @inline(__always)
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte >= 65 && byte <= 90 ? byte | 0x20 : byte
    }
}

/// Has no early exit, so that the processor can compare many bytes at once.
@inline(__always)
package func areEqual(_ left: UnsafeBufferPointer<UInt8>, _ right: UnsafeBufferPointer<UInt8>)
    -> Bool
{
    guard left.count == right.count else { return false }
    var difference: UInt8 = 0
    for position in 0..<left.count { difference |= left[position] ^ right[position] }
    return difference == 0
}

/// A path of a request, its percent-escapes decoded once (RFC 3986, section 2.1).
package enum DecodedPath: Equatable {
    /// The bytes to look up. If they are not UTF-8 they match nothing, because paths of trees are UTF-8.
    case bytes([UInt8])
    /// The path has an escaped slash, which is part of a name, not a separator; no name in a tree has one.
    case nothing
    /// A `%` without two hexadecimal digits, or NUL: 400.
    case malformed

    /// Decodes once and does not look at the result again: `%252e` is the text `%2e`.
    package init(_ path: FieldText) {
        guard let bytes = PercentEncoding.decoded(path), !bytes.contains(0) else {
            self = .malformed
            return
        }
        let isSlash = { (byte: UInt8) in byte == 47 }
        self = bytes.count(where: isSlash) > path.count(where: isSlash) ? .nothing : .bytes(bytes)
    }
}
