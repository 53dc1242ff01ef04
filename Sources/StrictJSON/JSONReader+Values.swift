// Whole values, as a tree, or checked and skipped. Neither recurses.

extension JSONReader {
    /// Reads the value that is due, of any type, as a tree; numbers keep their spelling.
    ///
    /// A tree can take some twenty times the memory of its text, so use a low ``JSONLimits/byteCount`` for foreign
    /// texts. Reading value by value takes almost no memory.
    ///
    /// - Throws: whatever is wrong inside it.
    public mutating func readValue() throws(JSONError) -> JSONValue {
        var left = Int.max
        return try readValue(valuesLeft: &left)
    }

    /// Reads the value that is due as a tree with a limited number of values, itself and its keys counted.
    ///
    /// - Parameter left: how many values may be read; reduced by those that were read, and to below 0 if there are
    ///   more.
    /// - Throws: whatever is wrong inside it, or that it has more values.
    public mutating func readValue(valuesLeft left: inout Int) throws(JSONError) -> JSONValue {
        var open: [PartialValue] = []
        while true {
            left -= open.last?.container == .object ? 2 : 1
            guard left >= 0 else { throw failure("more values stand here than may be kept") }
            var complete = try readScalarOrEnter(&open)
            repeat {
                if let value = complete {
                    guard !open.isEmpty else { return value }
                    open[open.count - 1].append(value)
                }
                complete = try advance(&open)
            } while complete != nil
        }
    }

    /// Skips the value that is due, and checks it as strictly as reading it would, duplicate keys included.
    public mutating func skipValue() throws(JSONError) {
        let depth = containers.count
        repeat {
            try skipScalarOrEnter()
            while containers.count > depth {
                let isValueDue =
                    containers.last == .object ? try nextKeyToken() != nil : try nextElement()
                if isValueDue { break }
            }
        } while containers.count > depth
    }

    private mutating func skipScalarOrEnter() throws(JSONError) {
        switch try peekKind() {
        case .object: try enterObject()
        case .array: try enterArray()
        case .string: _ = try readStringToken()
        case .number: completeValue(at: try scanNumber().end)
        case .bool: _ = try readBool()
        case .null: try readNull()
        }
    }

    /// Returns a scalar, or enters a container, adds it to `open` and returns nil.
    private mutating func readScalarOrEnter(
        _ open: inout [PartialValue]
    ) throws(JSONError) -> JSONValue? {
        switch try peekKind() {
        case .object:
            try enterObject()
            open.append(PartialValue(container: .object))
            return nil
        case .array:
            try enterArray()
            open.append(PartialValue(container: .array))
            return nil
        case .string:
            return .string(try readString())
        case .number:
            let token = try scanNumber()
            completeValue(at: token.end)
            return .number(String(decoding: bytes[token.start..<token.end], as: UTF8.self))
        case .bool:
            return .bool(try readBool())
        case .null:
            try readNull()
            return .null
        }
    }

    /// Continues in the innermost open container and returns nil, or returns it if it ends here.
    private mutating func advance(_ open: inout [PartialValue]) throws(JSONError) -> JSONValue? {
        let last = open.count - 1
        switch open[last].container {
        case .object:
            if let key = try nextKey() {
                open[last].key = key
                return nil
            }
        case .array:
            if try nextElement() { return nil }
        }
        return open.removeLast().value
    }
}

private struct PartialValue {
    var container: JSONContainer
    /// The key whose value comes next, in objects.
    var key = ""
    var members: [JSONValue.Member] = []
    var elements: [JSONValue] = []

    mutating func append(_ value: JSONValue) {
        switch container {
        case .object: members.append(JSONValue.Member(key: key, value: value))
        case .array: elements.append(value)
        }
    }

    var value: JSONValue {
        container == .object ? .object(members) : .array(elements)
    }
}
