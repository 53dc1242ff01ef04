/// The head of a request: the bytes received, and the positions of its parts in them.
///
/// The parser has made sure that it is well-formed (RFC 9112, sections 2 to 5); nothing is decoded. It is a value, so
/// that the rules of HTTP can be tested without a socket. It keeps positions instead of strings, so that an ordinary
/// request allocates nothing.
package struct RequestHead: Sendable {
    package typealias Slice = Range<Int>

    /// One header field: its name as sent and its value without the white space around it.
    package struct Field: Sendable, Hashable {
        package var name: Slice
        package var value: Slice
    }

    package internal(set) var bytes: [UInt8] = []
    package var method = Method.get
    /// The path of the target, from its first slash, after any scheme and authority; `*` for `OPTIONS *`.
    package internal(set) var path = 0..<0
    package internal(set) var query: Slice?
    /// The authority of an absolute target, which takes precedence over the Host field.
    package internal(set) var authority: Slice?
    /// 0 or 1: HTTP/1.0 or HTTP/1.1.
    package internal(set) var minorVersion = 1
    /// In the order received.
    package internal(set) var fields: [Field] = []
    package internal(set) var host: Slice?
    /// Whether its query carried one of the server's secrets: whichever page sent the browser had it from the server.
    package var hasSecret = false
    /// Whether a frame of another server's page shows the answer, so that it is a page of its own here.
    package var isEmbeddedPage = false
    /// Whether that page is another site's, whoever sends this.
    package var isInAnotherSite = false
    /// Whether a person reloads a page that this server has shown to the browser.
    package var isShownAgain = false
    /// Whether a page goes on here by itself to which another site has led.
    package var isLedByAnother = false
    /// Whether a service worker that shows pages requests one by its address, in place of a navigation.
    package var isPageOfWorker = false
    /// Whether a browser loads a script that a service worker imports.
    package var isImportOfWorker = false
    /// Its share of the budget for bodies, if its cookies make it long.
    var held: BudgetShare?
    /// A bit for each length of a field's name, to find quickly that a field is absent, as most are.
    var nameLengths: UInt64 = 0

    // MARK: Lookups in a head that make no strings

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

/// A request's method (RFC 9110, section 9).
package enum Method: Sendable, Hashable {
    /// The methods of RFC 9110, and PATCH (RFC 5789).
    case get, head, post, put, delete, options, patch, connect, trace
    /// Any other token, as sent: methods are case-sensitive.
    case other(String)
}

extension RequestHead.Field {
    /// Reads a field's line, which is not empty (RFC 9112, section 5).
    init(_ bytes: Span<UInt8>, _ line: Range<Int>) throws(MessageFailure) {
        var colon = line.lowerBound
        guard bytes[colon] != 32, bytes[colon] != 9 else {
            throw MessageFailure(400, "a field is folded over two lines")
        }
        while colon < line.upperBound, ByteClass.isToken(bytes[colon]) { colon += 1 }
        guard colon > line.lowerBound, colon < line.upperBound, bytes[colon] == 58 else {
            throw MessageFailure(400, "a field's name is not a token followed by a colon")
        }
        name = line.lowerBound..<colon
        value = bytes.trimmed(colon + 1..<line.upperBound)
    }
}

/// Iterates over a list without quoted commas, including empty elements (RFC 9110, section 5.6.1).
struct ListElements {
    private var rest: Range<Int>?

    init(_ value: Range<Int>) { rest = value }

    mutating func next(_ bytes: Span<UInt8>) -> Range<Int>? {
        guard let list = rest else { return nil }
        var end = list.lowerBound
        while end < list.upperBound, bytes[end] != 44 { end += 1 }
        rest = end < list.upperBound ? end + 1..<list.upperBound : nil
        return bytes.trimmed(list.lowerBound..<end)
    }
}

extension Span<UInt8> {
    /// The part without the white space around it (RFC 9110, section 5.6.3).
    @inline(__always)
    func trimmed(_ part: Range<Int>) -> Range<Int> {
        var (first, last) = (part.lowerBound, part.upperBound)
        while first < last, self[first] == 32 || self[first] == 9 { first += 1 }
        while last > first, self[last - 1] == 32 || self[last - 1] == 9 { last -= 1 }
        return first..<last
    }

    func areSame(_ one: Range<Int>, _ other: Range<Int>) -> Bool {
        guard one.count == other.count else { return false }
        for (left, right) in zip(one, other)
        where FieldText.lowercased(self[left]) != FieldText.lowercased(self[right]) {
            return false
        }
        return true
    }
}
