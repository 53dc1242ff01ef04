// A JSON text as a tree, for small texts and unknown shapes.

/// Any JSON value (RFC 8259 §3).
///
/// Two values are equal if their texts are: strings by their UTF-8 bytes, not by Unicode's
/// canonical equivalence (RFC 8259 §8.3), numbers by their spelling, objects with their order.
public enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// A number as it is spelled in the text.
    case number(String)
    case string(String)
    case array([JSONValue])
    /// The members in the order of the text.
    case object([Member])

    /// A key and its value.
    public struct Member: Sendable {
        /// The key, decoded.
        public var key: String
        /// The value.
        public var value: JSONValue

        /// Creates a member.
        public init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// Reads a whole text as a tree.
    ///
    /// - Throws: what is wrong with the text; see ``JSONReader``.
    public static func parse(
        _ bytes: [UInt8], limits: JSONLimits = JSONLimits()
    ) throws(JSONError) -> JSONValue {
        var reader = try JSONReader(bytes, limits: limits)
        let value = try reader.readValue()
        try reader.finish()
        return value
    }

    /// Creates a number from an integer.
    public static func integer(_ value: Int64) -> JSONValue {
        .number(String(value))
    }

    /// The value of the first member with exactly this key; nil if there is none, or this is not an object.
    public subscript(key: String) -> JSONValue? {
        asObject?.first { $0.key.utf8.elementsEqual(key.utf8) }?.value
    }

    /// Whether this is `null`.
    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The truth value, if this is one.
    public var asBool: Bool? {
        if case .bool(let value) = self { value } else { nil }
    }

    /// The text, if this is a string.
    public var asString: String? {
        if case .string(let value) = self { value } else { nil }
    }

    /// The number, if ``JSONReader/readInteger()`` would read it: no fraction, no exponent, not `-0`, within 64 bits.
    public var asInt64: Int64? {
        guard case .number(let text) = self else { return nil }
        let bytes = Array(text.utf8)
        guard
            let token = try? NumberToken(in: bytes, at: 0),  // A bad spelling is no integer.
            token.isInteger, token.end == bytes.count
        else { return nil }
        return token.value(in: bytes)
    }

    /// Seconds since 1970, if this is an integer, clamped to the years 1970 to 9999.
    package var asTime: Int64? { asInt64.map { min(max($0, 0), 253_402_300_799) } }

    /// The elements, if this is an array.
    public var asArray: [JSONValue]? {
        if case .array(let elements) = self { elements } else { nil }
    }

    /// The members, if this is an object.
    public var asObject: [Member]? {
        if case .object(let members) = self { members } else { nil }
    }
}
