import StrictJSON

// Any JSON.

extension FuzzTarget {
    typealias ValueWriting = @Sendable (JSONValue) -> [UInt8]

    static let json = json { JSONWriter.serialize($0, sortedKeys: true) }

    static func json(_ writing: @escaping ValueWriting) -> FuzzTarget {
        FuzzTarget(name: "json", words: jsonWords) { try checkJSON($0, writing) }
    }

    private static let jsonWords = [
        "{", "}", "[", "]", ":", ",", "\"\"", "null", "true", "false", "\\u0000", "\\ud800",
        "\\udc00",
        "\\n", "1e999", "-0", "\u{FEFF}", "\u{2028}",
    ]

    private static func checkJSON(_ input: [UInt8], _ writing: ValueWriting) throws {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONValue.parse(input)
        } catch {
            try hold(
                error.offset >= 0 && error.offset <= input.count,
                "an error at \(error.offset) of \(input.count) bytes")
            return
        }
        try hold(String(validating: input, as: UTF8.self) != nil, "a text that is not UTF-8")
        let written = writing(value)
        let again = try JSONValue.parse(written)
        let isSame = writing(again) == written && sorted(again) == sorted(value)
        try hold(isSame, "a value is another one when it is written and read")
    }
}

/// The same value with the members of all objects in order of their keys.
private func sorted(_ value: JSONValue) -> JSONValue {
    switch value {
    case .array(let elements): return .array(elements.map(sorted))
    case .object(let members):
        let inOrder = members.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        return .object(inOrder.map { JSONValue.Member(key: $0.key, value: sorted($0.value)) })
    default: return value
    }
}
