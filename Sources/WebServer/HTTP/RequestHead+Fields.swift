// Lookups in a head that make no strings.
extension RequestHead {
    /// Clears everything but keeps the memory.
    mutating func clear() {
        // Except that of a head with many cookies: the next one is probably short.
        bytes.removeAll(keepingCapacity: bytes.capacity <= 64 << 10)
        fields.removeAll(keepingCapacity: true)
        nameLengths = 0
        held = nil
        host = nil
        query = nil
        authority = nil
    }

    /// The value of the first field of that name, whatever its case; `nil` if there is none.
    package func value(of name: StaticString) -> Slice? {
        guard mayHave(name) else { return nil }
        for field in fields where matches(field.name, name) { return field.value }
        return nil
    }

    /// Whether any field's name has that length.
    @inline(__always)
    func mayHave(_ name: StaticString) -> Bool {
        nameLengths & Self.bit(name.utf8CodeUnitCount) != 0
    }

    @inline(__always)
    static func bit(_ length: Int) -> UInt64 { 1 << UInt64(min(length, 63)) }

    package func values(of name: StaticString) -> [Slice] {
        var result: [Slice] = []
        for field in fields where matches(field.name, name) { result.append(field.value) }
        return result
    }

    package var hasManyCookies: Bool { held != nil }

    /// The bytes of a part as text, with U+FFFD for invalid UTF-8.
    package func text(_ slice: Slice) -> String { String(decoding: bytes[slice], as: UTF8.self) }

    package func text(of name: StaticString) -> String? {
        guard let slice = value(of: name) else { return nil }
        return text(slice)
    }

    /// Whether a part is `text`, ignoring the case of ASCII letters.
    package func matches(_ slice: Slice, _ text: StaticString) -> Bool {
        Self.matches(bytes.span, slice, text)
    }

    static func matches(
        _ bytes: Span<UInt8>, _ range: Range<Int>, _ text: StaticString
    ) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        let wanted = text.utf8Start
        precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count)
        let other = UnsafeRawPointer(wanted)
        // The last word overlaps the one before.
        if range.count >= 8 {
            for offset in stride(from: 0, to: range.count - 7, by: 8)
            where !isWord(bytes, range.lowerBound + offset, other + offset, UInt64.self) {
                return false
            }
            let last = range.count - 8
            return isWord(bytes, range.lowerBound + last, other + last, UInt64.self)
        }
        if range.count >= 4 {
            let last = range.count - 4
            return isWord(bytes, range.lowerBound, other, UInt32.self)
                && isWord(bytes, range.lowerBound + last, other + last, UInt32.self)
        }
        for offset in 0..<range.count {
            let byte = FieldText.lowercased(bytes[range.lowerBound + offset])
            guard byte == FieldText.lowercased(wanted[offset]) else { return false }
        }
        return true
    }

    /// Whether four or eight bytes are the same, ignoring the case of letters; the caller has checked that they are
    /// there.
    @inline(__always)
    private static func isWord<Word: FixedWidthInteger & BitwiseCopyable>(
        _ bytes: Span<UInt8>, _ position: Int, _ other: UnsafeRawPointer, _ type: Word.Type
    ) -> Bool {
        let word = bytes.bytes.unsafeLoadUnaligned(fromByteOffset: position, as: Word.self)
        let wanted = other.loadUnaligned(as: Word.self)
        return ByteClass.lowercase(UInt64(truncatingIfNeeded: word))
            == ByteClass.lowercase(UInt64(truncatingIfNeeded: wanted))
    }

    /// Whether any field of that name has `token` in its list (RFC 9110, section 5.6.1).
    package func lists(_ token: StaticString, in name: StaticString) -> Bool {
        guard mayHave(name) else { return false }
        for field in fields where matches(field.name, name) {
            var elements = ListElements(field.value)
            while let element = elements.next(bytes.span) {
                if matches(element, token) { return true }
            }
        }
        return false
    }

    /// Whether the client wants to send another request on this connection (RFC 9112, section 9.3).
    package var isKeepAlive: Bool {
        if lists("close", in: "connection") { return false }
        return minorVersion == 1 || lists("keep-alive", in: "connection")
    }

    /// Whether the client waits for a 100 before it sends the body (RFC 9110, section 10.1.1).
    package var expectsContinue: Bool {
        guard minorVersion == 1, let value = value(of: "expect") else { return false }
        return matches(value, "100-continue")
    }

    /// Whether the path begins with `prefix`, in whole segments.
    package func isBelow(_ prefix: some Collection<UInt8>) -> Bool {
        let path = bytes[path]
        guard path.starts(with: prefix) else { return false }
        return path.count == prefix.count || path[path.startIndex + prefix.count] == 47
    }

    package var target: Slice {
        let start = bytes.firstIndex(of: 32) ?? 0
        let end = bytes[min(start + 1, bytes.count)...].firstIndex(of: 32) ?? bytes.count
        return min(start + 1, end)..<end
    }
}
