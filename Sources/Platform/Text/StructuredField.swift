/// A dictionary of structured values (RFC 8941), of which Expo SFV 0 is a subset.
///
/// Parses the whole grammar, because a field that breaks it counts as missing, but keeps only the kinds of values
/// that are asked for.
package struct StructuredField {
    package enum Item: Hashable {
        case string(String)
        case boolean(Bool)
        case other
    }

    private var members: [String: Item] = [:]
    private var rest: Substring.UTF8View

    /// Returns `nil` if the text breaks the grammar, so that the field counts as missing (section 4.2).
    package init?(dictionary text: String) {
        rest = text[...].utf8
        skip(Self.isBlank)
        while !rest.isEmpty {
            guard let key = key() else { return nil }
            var item = Item.boolean(true)
            if take("=") {
                guard let value = take("(") ? innerList() : bareItem() else { return nil }
                item = value
            }
            guard skipParameters() else { return nil }
            members[key] = item
            skip { $0 == 0x20 || $0 == 0x09 }
            if rest.isEmpty { break }
            guard take(",") else { return nil }
            skip { $0 == 0x20 || $0 == 0x09 }
            // Nothing may follow the last comma.
            if rest.isEmpty { return nil }
        }
    }

    package subscript(key: String) -> Item? { members[key] }

    /// Spells a text as a string (section 3.3.3); `nil` if it is not printable ASCII.
    package static func string(_ text: String) -> String? {
        guard text.utf8.allSatisfy({ (0x20...0x7e).contains($0) }) else { return nil }
        let escaped = text.flatMap { $0 == "\"" || $0 == "\\" ? ["\\", $0] : [$0] }
        return "\"" + String(escaped) + "\""
    }

    // MARK: The grammar of section 4.2

    private static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7a).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool {
        isLower(byte) || (0x41...0x5a).contains(byte)
    }

    private mutating func take(_ byte: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: byte) else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skip(_ isSkipped: (UInt8) -> Bool) {
        rest = rest.drop(while: isSkipped)
    }

    private mutating func run(_ isTaken: (UInt8) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest.dropFirst(taken.count)
        return String(decoding: taken, as: UTF8.self)
    }

    private mutating func key() -> String? {
        guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else {
            return nil
        }
        return run { Self.isLower($0) || Self.isDigit($0) || Array("_-.*".utf8).contains($0) }
    }

    private mutating func skipParameters() -> Bool {
        while take(";") {
            skip(Self.isBlank)
            guard key() != nil else { return false }
            if take("="), bareItem() == nil { return false }
        }
        return true
    }

    private mutating func innerList() -> Item? {
        while true {
            skip(Self.isBlank)
            if take(")") { return .other }
            guard bareItem() != nil, skipParameters(),
                let next = rest.first, next == 0x20 || next == UInt8(ascii: ")")
            else { return nil }
        }
    }

    private mutating func bareItem() -> Item? {
        guard let first = rest.first else { return nil }
        switch first {
        case UInt8(ascii: "\""): return string()
        case UInt8(ascii: "?"):
            rest.removeFirst()
            if take("1") { return .boolean(true) }
            return take("0") ? .boolean(false) : nil
        case UInt8(ascii: ":"): return byteSequence()
        case _ where first == UInt8(ascii: "-") || Self.isDigit(first): return number()
        case _ where first == UInt8(ascii: "*") || Self.isLetter(first):
            let others = Array("!#$%&'*+-.^_`|~:/".utf8)
            _ = run { Self.isLetter($0) || Self.isDigit($0) || others.contains($0) }
            return .other
        default: return nil
        }
    }

    private mutating func string() -> Item? {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return .string(String(decoding: bytes, as: UTF8.self))
            case UInt8(ascii: "\\"):
                guard let escaped = rest.popFirst(),
                    escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\")
                else { return nil }
                bytes.append(escaped)
            case 0x20...0x7e: bytes.append(byte)
            default: return nil
            }
        }
        return nil
    }

    private mutating func byteSequence() -> Item? {
        rest.removeFirst()
        let text = run { $0 != UInt8(ascii: ":") }
        return take(":") && Base64.bytes(text) != nil ? .other : nil
    }

    /// At most 15 digits, or 12 before a point and 1 to 3 after it.
    private mutating func number() -> Item? {
        _ = take("-")
        let whole = run(Self.isDigit).utf8.count
        guard take(".") else { return (1...15).contains(whole) ? .other : nil }
        let fraction = run(Self.isDigit).utf8.count
        return (1...12).contains(whole) && (1...3).contains(fraction) ? .other : nil
    }
}
