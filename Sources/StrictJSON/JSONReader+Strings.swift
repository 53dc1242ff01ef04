// Finds the end of a string and validates everything before it (RFC 8259 §7, §8.1; RFC 3629).

extension JSONReader {
    /// Reads the string whose quote is at the position, without passing it.
    mutating func scanString() throws(JSONError) -> StringToken {
        let start = position + 1
        var index = start
        var hasEscapes = false
        while true {
            index = bytes.withUnsafeBufferPointer { endOfPlainRun(in: $0, from: index) }
            if index == bytes.count {
                guard extend() else { throw failCutString() }
                continue
            }
            switch bytes[index] {
            case ASCII.quote:
                return StringToken(start: start, end: index, hasEscapes: hasEscapes)
            case ASCII.backslash:
                index = try endOfEscape(at: index)
                hasEscapes = true
            case ..<0x20:
                throw fail(
                    .invalidString, at: index,
                    "The control character \(describeByte(at: index)) must be escaped")
            default:
                index = try endOfCharacter(at: index)
            }
        }
    }

    private mutating func endOfCharacter(at index: Int) throws(JSONError) -> Int {
        while true {
            switch bytes.withUnsafeBufferPointer({ UTF8Sequence(in: $0, at: index) }) {
            case .wellFormed(let byteCount):
                return index + byteCount
            case .cut:
                guard extend() else { throw failCutString() }
            case .malformed(let place):
                throw fail(
                    .invalidUTF8, at: place, "\(describeByte(at: place)) is not UTF-8 here")
            }
        }
    }

    private mutating func endOfEscape(at index: Int) throws(JSONError) -> Int {
        guard has(index + 1) else { throw failCutString() }
        let letter = bytes[index + 1]
        guard letter == UInt8(ascii: "u") else {
            guard StringToken.byte(forEscape: letter) != nil else {
                throw fail(.invalidString, at: index, "A backslash begins no valid escape")
            }
            return index + 2
        }
        switch try codeUnit(at: index + 2) {
        case 0:
            throw fail(.invalidString, at: index, "The character U+0000 is not allowed")
        case 0xDC00...0xDFFF:
            throw fail(.invalidString, at: index, "A low surrogate stands alone")
        case 0xD800...0xDBFF:
            try requireLowSurrogate(at: index + 6, after: index)
            return index + 12
        default:
            return index + 6
        }
    }

    private mutating func requireLowSurrogate(
        at index: Int, after high: Int
    ) throws(JSONError) {
        for (place, byte) in [(index, ASCII.backslash), (index + 1, UInt8(ascii: "u"))] {
            guard has(place) else { throw failCutString() }
            guard bytes[place] == byte else {
                throw fail(.invalidString, at: high, "A high surrogate stands alone")
            }
        }
        guard (0xDC00...0xDFFF).contains(try codeUnit(at: index + 2)) else {
            throw fail(.invalidString, at: high, "A high surrogate stands alone")
        }
    }

    private mutating func codeUnit(at start: Int) throws(JSONError) -> UInt32 {
        var unit: UInt32 = 0
        for index in start..<start + 4 {
            guard has(index) else { throw failCutString() }
            guard let value = bytes[index].hexValue else {
                throw fail(.invalidString, at: index, "\\u is followed by four hexadecimal digits")
            }
            unit = unit << 4 | value
        }
        return unit
    }

    private mutating func failCutString() -> JSONError {
        fail(.unexpectedEnd, at: bytes.count, "The text ends inside a string")
    }
}
