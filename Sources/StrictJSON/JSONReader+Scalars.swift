// Strings, integers, true, false and null.

extension JSONReader {
    /// Reads the string that is due.
    ///
    /// - Throws: `wrongType`; `invalidString`, `invalidUTF8` or `unexpectedEnd` inside it.
    public mutating func readString() throws(JSONError) -> String {
        let token = try readStringToken()
        return token.text(in: bytes)
    }

    /// Reads the string that is due and appends its decoded UTF-8, without making a `String`.
    ///
    /// - Throws: what ``readString()`` throws; `target` is then unchanged.
    public mutating func readStringBytes(
        appendingTo target: inout [UInt8]
    ) throws(JSONError) {
        let token = try readStringToken()
        token.append(from: bytes, to: &target)
    }

    /// Reads the number that is due, spelled `-?(0|[1-9][0-9]*)` and not `-0`.
    ///
    /// - Throws: `wrongType` if it has a fraction or an exponent, is `-0` or is not a number; `integerOutOfRange` if it
    ///   exceeds 64 bits; `invalidNumber`.
    public mutating func readInteger() throws(JSONError) -> Int64 {
        let token = try scanNumber()
        guard token.isInteger else {
            throw failure("An integer without fraction or exponent is expected (zero is 0, not -0)")
        }
        guard let value = token.value(in: bytes) else {
            throw JSONError(
                reason: .integerOutOfRange, offset: offset,
                message: located("The integer does not fit 64 bits", at: position))
        }
        completeValue(at: token.end)
        return value
    }

    /// Reads the `true` or `false` that is due.
    ///
    /// - Throws: `wrongType`; `unexpectedByte` or `unexpectedEnd` inside the word.
    public mutating func readBool() throws(JSONError) -> Bool {
        guard try peekKind() == .bool else { throw mismatch("true or false") }
        let value = bytes[position] == UInt8(ascii: "t")
        try readWord(value ? "true" : "false")
        return value
    }

    /// Reads the `null` that is due.
    ///
    /// - Throws: `wrongType`; `unexpectedByte` or `unexpectedEnd` inside the word.
    public mutating func readNull() throws(JSONError) {
        guard try peekKind() == .null else { throw mismatch("null") }
        try readWord("null")
    }

    mutating func readStringToken() throws(JSONError) -> StringToken {
        try requireValue()
        guard has(position), bytes[position] == ASCII.quote else {
            throw mismatch("a string")
        }
        let token = try scanString()
        completeValue(at: token.end + 1)
        return token
    }

    /// Does not pass the number.
    mutating func scanNumber() throws(JSONError) -> NumberToken {
        guard try peekKind() == .number else { throw mismatch("a number") }
        while true {
            do {
                let token = try NumberToken(in: bytes, at: position)
                // A number at the end of the window may continue after it.
                if token.end < bytes.count || !extend() { return token }
            } catch {
                if error.isCut, extend() { continue }
                throw fail(
                    error.isCut ? .unexpectedEnd : .invalidNumber, at: error.offset,
                    "The number is not valid: \(error.expectation)")
            }
        }
    }

    private mutating func readWord(_ word: StaticString) throws(JSONError) {
        for index in 0..<word.utf8CodeUnitCount {
            let place = position + index
            guard has(place) else {
                throw fail(.unexpectedEnd, at: place, "The text ends inside \(word)")
            }
            guard bytes[place] == word.utf8Start[index] else {
                throw fail(
                    .unexpectedByte, at: place,
                    "\(describeByte(at: place)) stands inside what begins like \(word)")
            }
        }
        completeValue(at: position + word.utf8CodeUnitCount)
    }
}
