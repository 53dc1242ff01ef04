// Trees, as they are or with their keys sorted.

extension JSONWriter {
    /// Returns the UTF-8 text of a value, without white space.
    ///
    /// - Parameters:
    ///   - value: What to write.
    ///   - sortedKeys: Whether to sort the members of every object by the UTF-16 code units of their keys (RFC 8785
    ///     §3.2.3), so that equal values have equal texts. Numbers keep their spelling.
    public static func serialize(_ value: JSONValue, sortedKeys: Bool) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(sortedKeys ? value.withSortedKeys : value)
        return writer.drain()
    }

    /// Writes a tree, members in their order; recurses as deep as the tree is nested.
    ///
    /// A number whose spelling is not JSON stops the program.
    public mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .number(let text): number(text)
        case .string(let text): string(text)
        case .array(let elements): array(elements) { writer, element in writer.value(element) }
        case .object(let members):
            object { writer in
                for member in members {
                    writer.key(member.key)
                    writer.value(member.value)
                }
            }
        }
    }

    private mutating func number(_ text: String) {
        let spelling = Array(text.utf8)
        let token = try? NumberToken(in: spelling, at: 0)  // Refused in the next line.
        precondition(token?.end == spelling.count, "JSONWriter: the number is not valid JSON")
        literal(text)
    }

    /// Whether one key precedes the other by their UTF-16 code units (RFC 8785 §3.2.3).
    public static func keyPrecedes(_ left: String, _ right: String) -> Bool {
        var leftBytes = left.utf8.makeIterator()
        var rightBytes = right.utf8.makeIterator()
        while let rightByte = rightBytes.next() {
            guard let leftByte = leftBytes.next() else { return true }
            guard leftByte == rightByte else { return utf16Rank(leftByte) < utf16Rank(rightByte) }
        }
        return false
    }

    /// UTF-8 sorts like UTF-16 with one exception: U+E000…U+FFFF, which begin with 0xEE or 0xEF, come after the
    /// surrogates for characters that begin with 0xF0…0xF4.
    private static func utf16Rank(_ byte: UInt8) -> UInt8 {
        byte == 0xEE || byte == 0xEF ? byte + 0x10 : byte
    }
}

extension JSONValue {
    /// Sorts the members of every object by their keys.
    package var withSortedKeys: JSONValue {
        switch self {
        case .array(let elements): .array(elements.map(\.withSortedKeys))
        case .object(let members): .object(members.withSortedKeys)
        default: self
        }
    }
}

extension [JSONValue.Member] {
    package var withSortedKeys: Self {
        map { JSONValue.Member(key: $0.key, value: $0.value.withSortedKeys) }
            .sorted { JSONWriter.keyPrecedes($0.key, $1.key) }
    }
}
