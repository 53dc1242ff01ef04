/// Percent-encoding of URL paths (RFC 3986, section 2.1).
package enum PercentEncoding {
    /// A file's name or path as a URL path: a `%` in it is a character like any other.
    package static func name(_ raw: String) -> String { encoded(raw, keepingEscapes: false) }

    /// A URL path, encoded by its author or not: escapes in it stay.
    ///
    /// Meteor's server decodes each path of its manifest once, so both spellings of a name lead to it.
    package static func path(_ written: String) -> String { encoded(written, keepingEscapes: true) }

    /// A whole URL with query; encodes only what cannot stand in one.
    package static func url(_ written: String) -> String {
        encoded(written, keepingEscapes: true, alsoAllowed: "?#[]")
    }

    /// A path of any bytes as a URL path: each stands for itself.
    package static func path(of bytes: [UInt8]) -> String {
        String(decoding: encoded(bytes, keepingEscapes: false, ""), as: UTF8.self)
    }

    /// Text with everything encoded but unreserved characters (RFC 3986, section 2.3) and, if wanted, slashes.
    ///
    /// The one form that signatures of requests are computed over.
    package static func unreserved(_ text: String, keepingSlashes: Bool = false) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            if byte.isPlain || byte == UInt8(ascii: "~")
                || keepingSlashes && byte == UInt8(ascii: "/")
            {
                result.append(byte)
            } else {
                result += [percent, digit(byte >> 4), digit(byte & 15)]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// The bytes that text stands for; nil if a `%` begins no escape.
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

    private static func encoded(
        _ text: String, keepingEscapes: Bool, alsoAllowed: StaticString = ""
    ) -> String {
        let bytes = Array(text.utf8)
        if bytes.allSatisfy({ isAllowed($0, alsoAllowed) }) { return text }
        let encoded = encoded(bytes, keepingEscapes: keepingEscapes, alsoAllowed)
        return String(decoding: encoded, as: UTF8.self)
    }

    private static func encoded(
        _ bytes: [UInt8], keepingEscapes: Bool, _ alsoAllowed: StaticString
    ) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(bytes.count + 16)
        for (position, byte) in bytes.enumerated() {
            let isKept = byte == percent && keepingEscapes && isEscape(bytes, position)
            if isKept || isAllowed(byte, alsoAllowed) {
                result.append(byte)
            } else {
                result += [percent, digit(byte >> 4), digit(byte & 15)]
            }
        }
        return result
    }

    /// RFC 3986, section 3.3: what a path may hold as itself, and the slash.
    private static func isAllowed(_ byte: UInt8, _ more: StaticString) -> Bool {
        byte.isPlain
            || ("~!$&'()*+,;=:@/" as StaticString).withUTF8Buffer { $0.contains(byte) }
            || more.withUTF8Buffer { $0.contains(byte) }
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
