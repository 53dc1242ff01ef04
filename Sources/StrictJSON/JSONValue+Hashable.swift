// Equality by bytes, because `String` equates different texts.

extension JSONValue: Hashable {
    /// Returns whether both have the same text in canonical layout.
    public static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let left), .bool(let right)): left == right
        case (.number(let left), .number(let right)): left.utf8.elementsEqual(right.utf8)
        case (.string(let left), .string(let right)): left.utf8.elementsEqual(right.utf8)
        case (.array(let left), .array(let right)): left == right
        case (.object(let left), .object(let right)): left == right
        default: false
        }
    }

    /// Feeds the value to `hasher`.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null:
            hasher.combine(0)
        case .bool(let value):
            hasher.combine(1)
            hasher.combine(value)
        case .number(let text):
            hasher.combine(2)
            hasher.combine(utf8Of: text)
        case .string(let text):
            hasher.combine(3)
            hasher.combine(utf8Of: text)
        case .array(let elements):
            hasher.combine(4)
            hasher.combine(elements)
        case .object(let members):
            hasher.combine(5)
            hasher.combine(members)
        }
    }
}

extension JSONValue.Member: Hashable {
    /// Returns whether key and value are the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.key.utf8.elementsEqual(right.key.utf8) && left.value == right.value
    }

    /// Feeds key and value to `hasher`.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(utf8Of: key)
        hasher.combine(value)
    }
}

extension Hasher {
    /// Feeds the bytes of a text and their count, which separates it from the next.
    fileprivate mutating func combine(utf8Of text: String) {
        combine(text.utf8.count)
        for byte in text.utf8 { combine(byte) }
    }
}
