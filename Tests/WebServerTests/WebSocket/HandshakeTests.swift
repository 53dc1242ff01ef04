import WebTestSupport

@testable import WebServer

@Suite("A WebSocket's opening handshake")
struct HandshakeTests {
    /// The example of RFC 6455, section 1.3.
    static let good: [(String, String)] = [
        ("Host", "localhost:8000"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Sec-WebSocket-Version", "13"),
    ]

    static func with(_ name: String, _ value: String?) -> [(String, String)] {
        good.filter { $0.0 != name } + (value.map { [(name, $0)] } ?? [])
    }

    func head(
        _ fields: [(String, String)], _ method: String = "GET", version: Int = 1,
        isAllowed: Bool = true
    ) throws -> ResponseHead {
        var request = try RequestHead(method: method, target: "/_castree/bridge", fields: fields)
        request.minorVersion = version
        switch try WebSocketHandshake.answer(to: request, isAllowedOrigin: isAllowed)
        {
        case .accepted(let head): return head
        case .refused(let response): return response.head
        }
    }

    @Test func `answers the RFC's example with the RFC's proof`() throws {
        let head = try head(Self.good)
        expect(head.status, equals: 101)
        expect(head.values("Upgrade"), equals: ["websocket"])
        // The transport's to add.
        expect(head.values("Connection"), equals: [])
        expect(head.values("Sec-WebSocket-Accept"), equals: ["s3pPLMBiTxaQ9kYGzzhZRbK+xOo="])
        expect(head.values("Sec-WebSocket-Extensions").isEmpty)
        expect(head.values("Sec-WebSocket-Protocol").isEmpty)
    }

    static let accepted: [[(String, String)]] = [
        with("Upgrade", "WebSocket"), with("Upgrade", "h2c, websocket"),
        with("Connection", "keep-alive, Upgrade"), with("Connection", "UPGRADE"),
        good + [("Sec-WebSocket-Extensions", "permessage-deflate; client_max_window_bits")],
        good + [("Content-Length", "0")],
        // No subprotocol is chosen, whatever the client has.
        good + [("Sec-WebSocket-Protocol", "z, b")],
    ]

    @Test(arguments: accepted.indices)
    func `accepts what browsers and proxies write`(_ row: Int) throws {
        let head = try head(Self.accepted[row])
        expect(head.status, equals: 101)
        expect(head.values("Sec-WebSocket-Extensions").isEmpty)
        expect(head.values("Sec-WebSocket-Protocol").isEmpty)
    }

    static let refused: [(String, Int, [(String, String)])] = [
        ("no Upgrade", 426, with("Upgrade", nil)),
        ("another Upgrade", 426, with("Upgrade", "h2c")),
        ("no Connection", 400, with("Connection", nil)),
        ("Connection without Upgrade", 400, with("Connection", "keep-alive")),
        ("no version", 426, with("Sec-WebSocket-Version", nil)),
        ("version 8", 426, with("Sec-WebSocket-Version", "8")),
        ("two versions", 426, good + [("Sec-WebSocket-Version", "8")]),
        ("no key", 400, with("Sec-WebSocket-Key", nil)),
        ("two keys", 400, good + [("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==")]),
        ("a short key", 400, with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j")),
        ("a key of 17 bytes", 400, with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQA=")),
        ("a key that is not Base64", 400, with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25j!!==")),
        ("a key without padding", 400, with("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ")),
        ("a body", 400, good + [("Content-Length", "5")]),
        ("a chunked body", 400, good + [("Transfer-Encoding", "chunked")]),
    ]

    @Test(arguments: refused.indices)
    func `refuses what is not one, and says why`(_ row: Int) throws {
        let (name, status, fields) = Self.refused[row]
        let head = try head(fields)
        expect(head.status, equals: status, "\(name)")
        expect(head.values("Sec-WebSocket-Accept").isEmpty)
        if status == 426 {
            expect(head.values("Sec-WebSocket-Version"), equals: ["13"])
            expect(head.values("Upgrade"), equals: ["websocket"])
        }
    }

    @Test func `refuses other methods, HTTP/1.0 and other sites`() throws {
        for method in ["POST", "HEAD", "get"] {
            let head = try head(Self.good, method)
            expect(head.status == 405 && head.values("Allow") == ["GET"])
        }
        try expect(head(Self.good, version: 0).status, equals: 400)
        try expect(head(Self.good, isAllowed: false).status, equals: 403)
    }
}
