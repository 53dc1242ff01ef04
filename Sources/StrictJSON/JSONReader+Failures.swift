// Errors and their places. Nothing here runs while the text is valid.

extension JSONReader {
    /// Makes a `wrongType` error for decoders to throw; the reader itself can continue.
    ///
    /// - Parameters:
    ///   - message: The error without a full stop, because the place is appended.
    ///   - offset: The place; by default the reader's ``offset``. To name the beginning of a value, save the offset
    ///     before reading it; discarded text has no line any more.
    public func failure(_ message: String, at offset: Int? = nil) -> JSONError {
        let place = offset.map { $0 - base } ?? position
        return JSONError(
            reason: .wrongType, offset: base + place, message: located(message, at: place))
    }

    /// Makes an error that every later call throws again.
    mutating func fail(_ reason: JSONError.Reason, at offset: Int, _ message: String) -> JSONError {
        let error = JSONError(
            reason: reason, offset: base + offset, message: located(message, at: offset))
        state = .failed
        firstError = error
        return error
    }

    /// Returns the earlier error, or stops the program if the caller made a mistake.
    func misuse(_ message: StaticString) -> JSONError {
        guard let firstError else { preconditionFailure("JSONReader: \(message)") }
        return firstError
    }

    mutating func mismatch(_ expectation: StaticString) -> JSONError {
        do {
            let kind = try peekKind()
            return failure("\(expectation) is expected, but \(kind) is here")
        } catch {
            return error
        }
    }

    mutating func failNoValue() -> JSONError {
        switch bytes[position] {
        case ASCII.plus, ASCII.period:
            fail(.invalidNumber, at: position, "A number begins with a digit or '-'")
        case UInt8(ascii: "'"):
            fail(.unexpectedByte, at: position, "Strings are written in double quotes")
        case UInt8(ascii: "/"), UInt8(ascii: "#"):
            fail(.unexpectedByte, at: position, "Comments are not JSON")
        case 0:
            fail(.unexpectedByte, at: position, "A byte 0x00 is here; is the text UTF-16?")
        default:
            fail(
                .unexpectedByte, at: position,
                "\(describeByte(at: position)) begins no value")
        }
    }

    func located(_ message: String, at offset: Int) -> String {
        var place = windowStart
        let end = min(max(offset, keptCount), bytes.count)
        bytes.withUnsafeBufferPointer { place.pass($0[keptCount..<end]) }
        return "\(message) at byte \(base + offset) (line \(place.line), column \(place.column))."
    }

    func describeByte(at index: Int) -> String {
        let byte = bytes[index]
        if byte > 0x20 && byte < 0x7F { return "'\(Unicode.Scalar(byte))'" }
        return "byte 0x" + hexadecimal(UInt32(byte), digitCount: 2)
    }

    /// Returns a key in quotes, in printable ASCII only and cut if it is long.
    func quote(_ token: StringToken) -> String {
        var result = "\""
        for scalar in token.text(in: bytes).unicodeScalars {
            guard result.utf8.count < 64 else { return result + "…\"" }
            switch scalar {
            case "\"", "\\": result += "\\\(scalar)"
            case " "..."~": result.unicodeScalars.append(scalar)
            default:
                for unit in String(scalar).utf16 {
                    result += "\\u" + hexadecimal(UInt32(unit), digitCount: 4)
                }
            }
        }
        return result + "\""
    }

    private func hexadecimal(_ value: UInt32, digitCount: Int) -> String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: digitCount - digits.count) + digits
    }
}
