import Platform

/// Which paths are passed on: those that every server reads as the route does.
///
/// A route reads the path as it is written, and the upstream gets it unchanged. Servers then differ: they decode,
/// take escaped slashes and backslashes for slashes, cut parameters off segments (`..;x`, RFC 3986, section 3.3),
/// decode twice, or end at a NUL. A path that could leave the prefix in any of them has no honest use. It is refused
/// rather than normalized: they share no normal form.
enum ProxyPath {
    /// How many times a path may be encoded; no honest one is encoded more than twice.
    private static let roundMax = 4

    /// Why a path is not passed on; `nil` if it may be.
    static func objection(to path: ArraySlice<UInt8>) -> String? {
        // Nearly all paths need no further check.
        guard path.contains(where: { $0 == 37 || $0 == 46 || $0 == 92 }) else { return nil }
        var text = Array(path)
        for round in 0..<roundMax {
            if hasDotSegment(text) { return "The path has a segment of dots; it is not passed on." }
            guard let next = decoded(text, isStrict: round == 0) else {
                return "The path has a % without two hexadecimal digits; it is not passed on."
            }
            if next.contains(0) { return "The path has a NUL; it is not passed on." }
            if next.count == text.count { return nil }
            text = next
        }
        return "The path is percent-encoded too often; it is not passed on."
    }

    /// Whether a segment, without its parameters, is `.` or `..` (RFC 3986, section 5.2.4).
    private static func hasDotSegment(_ text: [UInt8]) -> Bool {
        for segment in text.split(whereSeparator: { $0 == 47 || $0 == 92 }) {
            let name = segment.prefix { $0 != 59 }
            if name.count == 1 || name.count == 2, name.allSatisfy({ $0 == 46 }) { return true }
        }
        return false
    }

    /// The text decoded once; `nil` for a malformed escape if `isStrict`.
    private static func decoded(_ text: [UInt8], isStrict: Bool) -> [UInt8]? {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var position = 0
        while position < text.count {
            var byte = text[position]
            position += 1
            if byte == 37 {
                if position + 1 < text.count, let high = Hex.value(ofEitherCase: text[position]),
                    let low = Hex.value(ofEitherCase: text[position + 1])
                {
                    byte = high << 4 | low
                    position += 2
                } else if isStrict {
                    return nil
                }
            }
            // Dots and slashes in two bytes: not UTF-8, but read as such by decoders without checks.
            switch (result.last, byte) {
            case (0xC0, 0xAE): result[result.count - 1] = 46
            case (0xC0, 0xAF): result[result.count - 1] = 47
            case (0xC1, 0x9C): result[result.count - 1] = 92
            default: result.append(byte)
            }
        }
        return result
    }
}
