// Strings, numbers, true, false and null, as RFC 8785 §3.2.2 writes them.

extension JSONWriter {
    /// Writes a string.
    public mutating func string(_ text: String) {
        beginValue()
        appendString(text)
        endValue()
    }

    /// Writes a string from its UTF-8: an array, a slice, a buffer.
    ///
    /// Bytes that are not UTF-8 stop the program: first validate bytes of unknown origin, such as a file's name.
    public mutating func string(utf8: some Collection<UInt8>) {
        let isContiguous: Void? = utf8.withContiguousStorageIfAvailable { string(utf8: $0) }
        if isContiguous == nil { Array(utf8).withUnsafeBufferPointer { string(utf8: $0) } }
    }

    /// Writes a string from its UTF-8, like the other `string(utf8:)`.
    public mutating func string(utf8: UnsafeBufferPointer<UInt8>) {
        beginValue()
        appendString(utf8)
        endValue()
    }

    /// Writes an integer; beyond 2^53, some readers lose precision (RFC 8259 §6).
    public mutating func integer(_ value: some BinaryInteger) {
        beginValue()
        if var rest = UInt64(exactly: value.magnitude) {
            if value < 0 { bytes.append(ASCII.minus) }
            let first = bytes.count
            repeat {
                bytes.append(ASCII.zero + UInt8(rest % 10))
                rest /= 10
            } while rest > 0
            bytes[first...].reverse()
        } else {
            bytes.append(contentsOf: String(value).utf8)
        }
        endValue()
    }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) {
        literal(value ? "true" : "false")
    }

    /// Writes `null`.
    public mutating func null() {
        literal("null")
    }

    mutating func literal(_ text: String) {
        beginValue()
        bytes.append(contentsOf: text.utf8)
        endValue()
    }

    mutating func appendString(_ text: String) {
        var text = text
        text.withUTF8 { appendString($0) }
    }

    private mutating func appendString(_ utf8: UnsafeBufferPointer<UInt8>) {
        bytes.append(ASCII.quote)
        // Text without escapes is appended in one piece, multi-byte characters included.
        var plain = 0
        var index = 0
        while true {
            index = endOfPlainRun(in: utf8, from: index)
            guard index < utf8.count else { break }
            if utf8[index] >= 0x80 {
                guard case .wellFormed(let byteCount) = UTF8Sequence(in: utf8, at: index) else {
                    preconditionFailure("JSONWriter: the string is not UTF-8")
                }
                index += byteCount
            } else {
                bytes.append(contentsOf: utf8[plain..<index])
                appendEscape(of: utf8[index])
                index += 1
                plain = index
            }
        }
        bytes.append(contentsOf: utf8[plain...])
        bytes.append(ASCII.quote)
    }

    /// RFC 8785 §3.2.2.2: the short forms where there are any, else \u00xx in lower case.
    private mutating func appendEscape(of byte: UInt8) {
        bytes.append(ASCII.backslash)
        switch byte {
        case ASCII.quote, ASCII.backslash: bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            bytes.append(UInt8(hexDigit: UInt32(byte) >> 4))
            bytes.append(UInt8(hexDigit: UInt32(byte)))
        }
    }
}
