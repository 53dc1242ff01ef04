/// Percent-encoding of URL paths (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// A file's name or path as a URL path; a `%` in it is encoded like other characters.
    package static func name(_ raw: String) -> String { encoded(raw, inPaths) }

    /// A URL path, encoded by its author or not: escapes in it stay.
    ///
    /// Meteor's server decodes each path of its manifest once, so both spellings of a name lead to it.
    package static func path(_ written: String) -> String {
        encoded(written, inPaths, keepingEscapes: true)
    }

    /// A whole URL with query; encodes only what cannot be in one.
    package static func url(_ written: String) -> String {
        encoded(written, "~!$&'()*+,;=:@/?#[]", keepingEscapes: true)
    }

    /// A path of any bytes as a URL path, each byte standing for itself.
    package static func path(of bytes: [UInt8]) -> String {
        String(decoding: encoded(bytes, inPaths), as: UTF8.self)
    }

    /// Encodes all but unreserved characters (RFC 3986, section 2.3) and, optionally, slashes, for signed requests.
    package static func unreserved(_ text: String, keepingSlashes: Bool = false) -> String {
        encoded(text, keepingSlashes ? "~/" : "~")
    }

    /// Decodes a text; nil if a `%` begins no escape.
    package static func decoded(_ text: some Sequence<UInt8>) -> [UInt8]? {
        var result: [UInt8] = []
        var bytes = text.makeIterator()
        while let byte = bytes.next() {
            guard byte == percent else {
                result.append(byte)
                continue
            }
            guard let first = bytes.next(), let second = bytes.next(),
                let high = Hex.value(ofEitherCase: first), let low = Hex.value(ofEitherCase: second)
            else { return nil }
            result.append(high << 4 | low)
        }
        return result
    }

    private static let percent = UInt8(ascii: "%")

    /// RFC 3986, section 3.3: the characters allowed in a path, and the slash, besides letters, digits and `-._`.
    private static let inPaths: StaticString = "~!$&'()*+,;=:@/"

    private static func encoded(
        _ text: String, _ allowed: StaticString, keepingEscapes: Bool = false
    ) -> String {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ isAllowed($0, allowed) }) { return text }
        return String(decoding: encoded(bytes, allowed, keepingEscapes), as: UTF8.self)
    }

    private static func encoded(
        _ bytes: [UInt8], _ allowed: StaticString, _ keepsEscapes: Bool = false
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for (position, byte) in bytes.enumerated() {
            let isKept = byte == percent && keepsEscapes && isEscape(bytes, position)
            if isKept || isAllowed(byte, allowed) {
                result.append(byte)
            } else {
                result += [percent, digit(byte >> 4), digit(byte & 15)]
            }
        }
        return result
    }

    private static func isAllowed(_ byte: UInt8, _ allowed: StaticString) -> Bool {
        byte.isPlain || allowed.withUTF8Buffer { $0.contains(byte) }
    }

    private static func isEscape(_ bytes: [UInt8], _ position: Int) -> Bool {
        position + 2 < bytes.count && Hex.value(ofEitherCase: bytes[position + 1]) != nil
            && Hex.value(ofEitherCase: bytes[position + 2]) != nil
    }

    /// Section 2.1: producers should use upper-case digits.
    private static func digit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? nibble + 48 : nibble + 55
    }
}
