/// What a field's name means to a proxy.
///
/// An underscore counts as a hyphen: servers that make variables of names (CGI, WSGI) cannot tell them apart, and
/// `X_Forwarded_For` must not pass where `X-Forwarded-For` would not.
enum FieldName {
    /// Whether the field belongs to one connection (RFC 9110, section 7.6.1), marks the end of a message, or would
    /// mislead an upstream: it is never passed on as it is.
    static func isHopByHop(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Bool {
        switch name.count {
        case 2: matches(bytes, name, "te")
        // A CGI script would take its value for the proxy to use (httpoxy).
        case 5: matches(bytes, name, "proxy")
        case 7: matches(bytes, name, "trailer") || matches(bytes, name, "upgrade")
        case 10: matches(bytes, name, "connection") || matches(bytes, name, "keep-alive")
        case 14: matches(bytes, name, "content-length") || matches(bytes, name, "http2-settings")
        case 16: matches(bytes, name, "proxy-connection")
        case 17: matches(bytes, name, "transfer-encoding")
        case 18: matches(bytes, name, "proxy-authenticate")
        case 19: matches(bytes, name, "proxy-authorization")
        case 25: matches(bytes, name, "proxy-authentication-info")
        default: false
        }
    }

    /// Whether the field describes the client and the proxies before this one.
    static func isForwarded(_ bytes: Span<UInt8>, _ name: Range<Int>) -> Bool {
        switch name.count {
        case 9: matches(bytes, name, "forwarded") || matches(bytes, name, "x-real-ip")
        case 12...: matches(bytes, name.lowerBound..<name.lowerBound + 12, "x-forwarded-")
        default: false
        }
    }

    /// - Parameter text: lower-case ASCII with hyphens.
    @inline(__always)
    static func matches(_ bytes: Span<UInt8>, _ name: Range<Int>, _ text: StaticString) -> Bool {
        guard name.count == text.utf8CodeUnitCount else { return false }
        for offset in 0..<name.count {
            let byte = bytes[name.lowerBound + offset]
            let plain = byte == 95 ? 45 : FieldText.lowercased(byte)
            if plain != text.utf8Start[offset] { return false }
        }
        return true
    }

    static func isNamed(_ bytes: Span<UInt8>, _ name: Range<Int>, in names: [Range<Int>]) -> Bool {
        names.contains { bytes.areSame($0, name) }
    }
}
