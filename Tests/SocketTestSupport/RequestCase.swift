import Testing

/// A request and what a strict server says to it: 200 means that it is well-formed.
package struct RequestCase: Sendable, CustomTestStringConvertible {
    package var name: String
    package var bytes: [UInt8]
    package var status: Int
    package var testDescription: String { name }

    package init(_ name: String, _ status: Int, _ text: String) {
        self.init(name, status, bytes: Array(text.utf8))
    }

    package init(_ name: String, _ status: Int, bytes: [UInt8]) {
        self.name = name
        self.status = status
        self.bytes = bytes
    }

    /// A GET with a Host and these further fields.
    package static func fields(_ name: String, _ status: Int, _ fields: String) -> RequestCase {
        RequestCase(name, status, "GET / HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n")
    }

    package static func target(_ name: String, _ status: Int, _ target: String) -> RequestCase {
        RequestCase(name, status, "GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
    }

    /// RFC 9112 (syntax, framing), RFC 9110 (Host, Expect), and the limits of the server.
    package static let all: [RequestCase] = [
        .target("a plain request", 200, "/a?b=c"),
        .fields("differing Content-Length", 400, "Content-Length: 1\r\nContent-Length: 2"),
        .fields("a list of Content-Length", 400, "Content-Length: 0, 5"),
        .fields("the same Content-Length twice", 200, "Content-Length: 0\r\nContent-Length: 0"),
        .fields("a negative Content-Length", 400, "Content-Length: -1"),
        .fields("a plus in Content-Length", 400, "Content-Length: +5"),
        .fields("a hexadecimal Content-Length", 400, "Content-Length: 0x5"),
        .fields("a letter in Content-Length", 400, "Content-Length: 5x"),
        .fields("an empty Content-Length", 400, "Content-Length:"),
        .fields("a Content-Length over 64 bits", 400, "Content-Length: 99999999999999999999"),
        .fields(
            "Content-Length and chunked", 400, "Content-Length: 4\r\nTransfer-Encoding: chunked"),
        .fields("an unknown transfer coding", 501, "Transfer-Encoding: xchunked"),
        .fields("gzip below chunked", 501, "Transfer-Encoding: gzip, chunked"),
        .fields("chunked twice", 400, "Transfer-Encoding: chunked, chunked"),
        .fields(
            "chunked, then another", 400,
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity"),
        .fields("an empty transfer coding", 400, "Transfer-Encoding:"),
        .fields("a vertical tab in the coding", 400, "Transfer-Encoding: \u{b}chunked"),
        .fields("a comma without a coding", 400, "Transfer-Encoding: ,chunked"),
        .fields("chunked after a tab", 200, "Transfer-Encoding:\tchunked"),
        .fields("Chunked in another case", 200, "Transfer-Encoding: CHUNKED"),
        RequestCase(
            "chunked in HTTP/1.0", 400,
            "GET / HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"),
        .fields("a space before the colon", 400, "Transfer-Encoding : chunked"),
        RequestCase("line feeds only", 400, "GET / HTTP/1.1\nHost: x\n\n"),
        .fields("a bare line feed", 400, "A: 1\nB: 2"),
        .fields("a bare carriage return", 400, "A: 1\rB: 2"),
        .fields("a bare carriage return at the end", 400, "A: 1\r"),
        .fields("a folded field", 400, "A: 1\r\n 2"),
        .fields("a NUL in a field", 400, "A: 1\u{0}2"),
        .fields("a delete in a field", 400, "A: 1\u{7f}2"),
        .fields("a tab in a field", 200, "A: 1\t2"),
        .fields("bytes above 127 in a field", 200, "A: é"),
        .fields("a field without a colon", 400, "rubbish"),
        .fields("an empty field name", 400, ": 1"),
        .fields("a space in a field name", 400, "A B: 1"),
        .fields("a bracket in a field name", 400, "A(: 1"),
        .fields("an empty field", 200, "A:"),
        .target("a NUL in the target", 400, "/a\u{0}b"),
        .target("%00", 400, "/a%00b"),
        .target("a bad escape", 400, "/a%zz"),
        .target("a cut escape", 400, "/a%2"),
        .target("a control character in the target", 400, "/a\u{1}b"),
        .target("bytes above 127 in the target", 400, "/é"),
        .target("a fragment", 400, "/a#b"),
        .target("no slash", 400, "a"),
        .target("a traversal, which the responder judges", 200, "/../../etc/passwd"),
        .target("an encoded traversal, likewise", 200, "/%2e%2e/%2e%2e/etc/passwd"),
        .target("an absolute target", 200, "http://x/a"),
        .target("an absolute target without a path", 200, "HTTP://x:8080"),
        .target("an absolute target without a host", 400, "http:///a"),
        .target("an absolute target with a user", 400, "http://u@x/a"),
        .target("another scheme", 400, "ftp://x/a"),
        .target("an authority", 400, "x:80"),
        .target("a star for GET", 400, "*"),
        RequestCase("a star for OPTIONS", 200, "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("CONNECT", 501, "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("no Host", 400, "GET / HTTP/1.1\r\n\r\n"),
        RequestCase("two Hosts", 400, "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n"),
        RequestCase("an empty Host", 400, "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        RequestCase("a space in Host", 400, "GET / HTTP/1.1\r\nHost: a b\r\n\r\n"),
        RequestCase("a path in Host", 400, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n"),
        RequestCase("a user in Host", 400, "GET / HTTP/1.1\r\nHost: u@a\r\n\r\n"),
        RequestCase("a bad port in Host", 400, "GET / HTTP/1.1\r\nHost: a:b\r\n\r\n"),
        RequestCase("two ports in Host", 400, "GET / HTTP/1.1\r\nHost: a:1:2\r\n\r\n"),
        RequestCase("an address in Host", 200, "GET / HTTP/1.1\r\nHost: 127.0.0.1:80\r\n\r\n"),
        RequestCase("an IPv6 address in Host", 200, "GET / HTTP/1.1\r\nHost: [::1]:80\r\n\r\n"),
        RequestCase("an open bracket in Host", 400, "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"),
        RequestCase("HTTP/1.0 without Host", 200, "GET / HTTP/1.0\r\n\r\n"),
        RequestCase("HTTP/2.0", 505, "GET / HTTP/2.0\r\nHost: x\r\n\r\n"),
        RequestCase("HTTP/9.9", 505, "GET / HTTP/9.9\r\nHost: x\r\n\r\n"),
        RequestCase("HTTP/1.9 is HTTP/1.1", 200, "GET / HTTP/1.9\r\nHost: x\r\n\r\n"),
        RequestCase("HTTP/11", 400, "GET / HTTP/11\r\nHost: x\r\n\r\n"),
        RequestCase("http in lower case", 400, "GET / http/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("the preface of HTTP/2", 505, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        RequestCase("HTTP/0.9", 400, "GET /\r\n"),
        RequestCase("no target", 400, "GET HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("two spaces", 400, "GET  / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("a space at the end", 400, "GET / HTTP/1.1 \r\nHost: x\r\n\r\n"),
        RequestCase("tabs", 400, "GET\t/\tHTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("a leading space", 400, " GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("an unknown method", 200, "BREW / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("a control character in the method", 400, "G\u{1}T / HTTP/1.1\r\n\r\n"),
        RequestCase(
            "a very long method", 501,
            String(repeating: "G", count: 5000) + " / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("an endless method", 414, String(repeating: "G", count: 20_000)),
        RequestCase("a TLS hello", 400, bytes: [22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]),
        RequestCase("binary rubbish", 400, bytes: Array(128...255)),
        RequestCase("an empty line first", 200, "\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        RequestCase("empty lines only", 400, String(repeating: "\r\n", count: 100)),
        RequestCase("a line feed first", 400, "\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        .fields("a 64 KB field", 431, "A: " + String(repeating: "a", count: 65_536)),
        .fields(
            "5,000 fields", 431,
            Array(repeating: "A: 1", count: 5000).joined(separator: "\r\n")),
        .fields(
            "99 fields beside Host", 200,
            Array(repeating: "A: 1", count: 99).joined(separator: "\r\n")),
        .fields(
            "100 fields beside Host", 431,
            Array(repeating: "A: 1", count: 100).joined(separator: "\r\n")),
        .target("a 64 KB target", 414, "/" + String(repeating: "a", count: 65_536)),
        .target("a target of 8 KB", 200, "/" + String(repeating: "a", count: 8191)),
        .target("a target of 8 KB and a byte", 414, "/" + String(repeating: "a", count: 8192)),
        .fields("Expect: 100-continue", 200, "Expect: 100-Continue"),
        .fields("another expectation", 417, "Expect: 200-maybe"),
        RequestCase(
            "an expectation in HTTP/1.0", 200, "GET / HTTP/1.0\r\nExpect: 200-maybe\r\n\r\n"),
    ]
}
