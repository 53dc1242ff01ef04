package import CASStore
import S3
import Storage

/// The URL of an origin, always ending in a slash.
///
/// `https://host/app` and `https://host/app/` are the same origin, so a relative source never replaces the last
/// component.
package struct OriginURL: Sendable, Hashable, CustomStringConvertible {
    /// In lower case: `https`, `http`, `file` or `s3`.
    package let scheme: String
    /// Host and port, and anything before an `@`.
    package let authority: String
    /// Begins and ends with a slash; percent-encoded.
    package let path: String

    /// Reads an absolute URL and encodes path characters that a URL cannot hold; escapes stay as they are.
    /// - Throws: `.badOrigin` for another scheme, no host, a query or fragment.
    package init(_ text: String) throws(StoreError) {
        func refuse(_ problem: String) -> StoreError {
            StoreError(
                .badOrigin, "\"\(printable(text))\" cannot be the URL of an origin: \(problem)")
        }
        let bytes = Array(text.utf8)
        guard let scheme = Self.scheme(bytes) else {
            throw refuse("it must begin with https://, http:// or file://")
        }
        let rest = bytes[(scheme.utf8.count + 3)...]
        let end = rest.firstIndex { $0 == 47 || $0 == 63 || $0 == 35 } ?? rest.endIndex
        let authority = rest[..<end]
        for byte in rest where byte < 0x20 || byte == 0x7F || byte == 0x5C {
            throw refuse("it contains a control character or a backslash")
        }
        let host = authority.split(separator: 64, omittingEmptySubsequences: false).last ?? []
        guard authority.allSatisfy({ $0 > 0x20 && $0 < 0x7F }), !host.contains(37) else {
            throw refuse("its host must be ASCII (use the xn-- form of other names)")
        }
        if rest[end...].contains(where: { $0 == 63 || $0 == 35 }) {
            throw refuse("it has a query or a fragment; leave it out")
        }
        self.scheme = scheme
        self.authority = String(decoding: authority, as: UTF8.self)
        var path = PercentEncoding.path(String(decoding: rest[end...], as: UTF8.self))
        if path.utf8.last != 47 { path += "/" }
        self.path = path
        if scheme != "file", self.host.isEmpty { throw refuse("it has no host") }
        guard Self.isPort(authority) else { throw refuse("its port is not one of 1 to 65535") }
    }

    /// The base of a bucket's files, `s3://BUCKET/PREFIX/`, as ``SignedTransport`` expects it.
    init(of bucket: BucketLocation) {
        (scheme, authority) = ("s3", bucket.bucket)
        // A prefix has no character that needs escaping.
        path = bucket.prefix.isEmpty ? "/" : "/\(bucket.prefix)/"
    }

    package var description: String { "\(scheme)://\(authority)\(path)" }

    /// In lower case, without user and port; an IPv6 address in brackets.
    package var host: String {
        let name = authority.utf8.split(separator: 64, omittingEmptySubsequences: false).last
        var host = Array(name ?? authority.utf8[...])
        if host.first == 91 {
            host = Array(host.prefix { $0 != 93 }) + [93]
        } else {
            host = Array(host.prefix { $0 != 58 })
        }
        return String(decoding: host, as: UTF8.self).lowercased()
    }

    /// The absolute URL of a source that is relative to the origin, or absolute.
    ///
    /// Appends a relative source unchanged: `x:y.png` is a name and not a scheme, and a leading slash also means the
    /// origin. Formats refuse `.` and `..` components.
    package func url(of source: String) -> String {
        if Self.isAbsolute(source) { return source }
        if source.utf8.first == 47 { return description + String(source.dropFirst()) }
        return description + source
    }

    /// Whether a source names its own origin, which can only be a web server.
    static func isAbsolute(_ source: String) -> Bool {
        switch scheme(Array(source.utf8.prefix(8))) {
        case "https", "http": true
        default: false
        }
    }

    private static func scheme(_ bytes: [UInt8]) -> String? {
        for scheme in ["https", "http", "file"] {
            let beginning = bytes.prefix(scheme.utf8.count + 3).map { byte in
                (65...90).contains(byte) ? byte | 32 : byte
            }
            if beginning.elementsEqual((scheme + "://").utf8) { return scheme }
        }
        return nil
    }

    private static func isPort(_ authority: ArraySlice<UInt8>) -> Bool {
        let host = authority.split(separator: 64, omittingEmptySubsequences: false).last ?? []
        // The colons of an IPv6 address come before its bracket.
        let begin = host.lastIndex(of: 93) ?? host.startIndex
        guard let colon = host[begin...].firstIndex(of: 58) else { return true }
        let digits = host[(colon + 1)...]
        // "host:" means the scheme's own port (RFC 3986, section 3.2.3).
        if digits.isEmpty { return true }
        guard digits.allSatisfy({ (48...57).contains($0) }),
            let port = Int(String(decoding: digits, as: UTF8.self))
        else { return false }
        return (1...65_535).contains(port)
    }
}
