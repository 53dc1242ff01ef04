import StrictJSON

// Any JSON.

extension FuzzTarget {
    static let json = FuzzTarget(
        name: "json",
        words: [
            "{", "}", "[", "]", ":", ",", "\"\"", "null", "true", "false", "\\u0000", "\\ud800",
            "\\udc00",
            "\\n", "1e999", "-0", "\u{FEFF}", "\u{2028}",
        ]
    ) { input in
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
        let written = JSONWriter.serialize(value, sortedKeys: true)
        let again = JSONWriter.serialize(try JSONValue.parse(written), sortedKeys: true)
        try hold(written == again, "a value is another one when it is written and read")
    }
}
