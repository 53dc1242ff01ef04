// Objects and arrays: entering, continuing, leaving (RFC 8259 §4, §5).

extension JSONReader {
    /// Enters the object that is due; ``nextKey()`` then leads through it.
    ///
    /// - Throws: `wrongType` if another value is due, `tooDeep` at the limit.
    public mutating func enterObject() throws(JSONError) {
        try enter(.object, at: ASCII.openBrace)
        keys.open()
    }

    /// Enters the array that is due; ``nextElement()`` then leads through it.
    ///
    /// - Throws: `wrongType` if another value is due, `tooDeep` at the limit.
    public mutating func enterArray() throws(JSONError) {
        try enter(.array, at: ASCII.openBracket)
    }

    /// Returns the next key, whose value is then due, or leaves the object and returns nil.
    ///
    /// - Throws: `duplicateKey`; `unexpectedByte` at a trailing comma; what a string throws.
    public mutating func nextKey() throws(JSONError) -> String? {
        guard let token = try nextKeyToken() else { return nil }
        return token.text(in: bytes)
    }

    /// Returns true if an element is due, or leaves the array and returns false.
    ///
    /// - Throws: `unexpectedByte` if there is neither a comma nor the end, and at a trailing comma.
    public mutating func nextElement() throws(JSONError) -> Bool {
        guard containers.last == .array, state == .first || state == .next else {
            throw misuse("nextElement() is for use in an array, after its last element was read")
        }
        return try advance(to: ASCII.closeBracket, expectation: "',' or ']'")
    }

    mutating func nextKeyToken() throws(JSONError) -> StringToken? {
        guard containers.last == .object, state == .first || state == .next else {
            throw misuse("nextKey() is for use in an object, after its last value was read")
        }
        guard try advance(to: ASCII.closeBrace, expectation: "',' or '}'") else {
            keys.close()
            return nil
        }
        let keyOffset = position
        try expect(ASCII.quote, "a key in double quotes")
        let token = try scanString()
        guard keys.insert(token, in: bytes) else {
            throw fail(.duplicateKey, at: keyOffset, "The key \(quote(token)) stands here again")
        }
        position = token.end + 1
        skipSpace()
        try expect(ASCII.colon, "':'")
        position += 1
        skipSpace()
        return token
    }

    private mutating func enter(_ container: JSONContainer, at opening: UInt8) throws(JSONError) {
        try requireValue()
        guard has(position), bytes[position] == opening else {
            throw mismatch(container == .object ? "an object" : "an array")
        }
        guard containers.count < depthMax else {
            throw fail(.tooDeep, at: position, "More than \(depthMax) levels are nested")
        }
        containers.append(container)
        state = .first
        position += 1
    }

    private mutating func advance(
        to closing: UInt8, expectation: StaticString
    ) throws(JSONError) -> Bool {
        skipSpace()
        if has(position), bytes[position] == closing {
            containers.removeLast()
            completeValue(at: position + 1)
            return false
        }
        if state == .next {
            try expect(ASCII.comma, expectation)
            position += 1
            skipSpace()
            if has(position), bytes[position] == closing {
                throw fail(.unexpectedByte, at: position, "Nothing follows the last comma")
            }
        }
        state = .value
        return true
    }

    /// Requires `byte` at the position, without passing it.
    private mutating func expect(
        _ byte: UInt8, _ expectation: StaticString
    ) throws(JSONError) {
        guard has(position) else {
            throw fail(.unexpectedEnd, at: position, "The text ends where \(expectation) is due")
        }
        guard bytes[position] == byte else {
            throw fail(
                .unexpectedByte, at: position,
                "\(describeByte(at: position)) stands where \(expectation) is due")
        }
    }
}
