import StrictJSON

/// The fields of a document that the neutral model has no place for, unless they are large: a tree can take twenty
/// times the memory of its text, and the received document has all fields.
struct ForeignFields {
    private(set) var members: [JSONValue.Member] = []
    private var left = 256 * 1024

    mutating func keep(_ key: String, _ value: JSONValue, byteCount: Int) {
        guard spend(byteCount) else { return }
        members.append(.init(key: key, value: value))
    }

    mutating func keep(_ key: String, text: ArraySlice<UInt8>) throws(JSONError) {
        guard spend(key.utf8.count + text.count) else { return }
        members.append(.init(key: key, value: try JSONValue.parse(Array(text))))
    }

    private mutating func spend(_ byteCount: Int) -> Bool {
        if byteCount > left { return false }
        left -= byteCount
        return true
    }
}
