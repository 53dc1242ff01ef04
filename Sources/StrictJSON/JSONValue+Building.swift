// JSON as files of an origin have it: without white space, keys sorted (RFC 8785), one line.

extension JSONValue {
    /// Omits members without a value.
    package static func members(_ members: KeyValuePairs<String, JSONValue?>) -> JSONValue {
        .object(.present(members))
    }

    package static func text(_ value: (some CustomStringConvertible)?) -> JSONValue? {
        value.map { .string($0.description) }
    }

    package static func texts(_ values: [String: some CustomStringConvertible]) -> JSONValue {
        .object(values.map { Member(key: $0.key, value: .string($0.value.description)) })
    }

    package static func named<Name: CustomStringConvertible, Value>(
        _ values: [Name: Value], _ document: (Value) -> JSONValue
    ) -> JSONValue? {
        values.isEmpty
            ? nil
            : .object(values.map { Member(key: $0.key.description, value: document($0.value)) })
    }

    /// `nil` for the first epoch, which is not written.
    package static func epoch(_ value: Int64?) -> JSONValue? {
        value.flatMap { $0 > 0 ? .integer($0) : nil }
    }

    package static func number(_ value: Int64?) -> JSONValue? { value.map { .integer($0) } }

    package var fileBytes: [UInt8] { JSONWriter.serialize(self, sortedKeys: true) + [10] }
}

extension [JSONValue.Member] {
    /// Omits members without a value.
    package static func present(_ members: KeyValuePairs<String, JSONValue?>) -> Self {
        members.compactMap { key, value in value.map { .init(key: key, value: $0) } }
    }
}
