import WebTestSupport

@testable import WebServer

@Suite("What a proxy passes on")
struct OwnSecretsTests {
    private func sent(_ target: String, _ fields: [(String, String)]) throws -> String {
        let head = try RequestHead(
            method: "GET", target: target, fields: [("Host", "localhost:20000")] + fields)
        let request = UpstreamRequest(
            head, .none, route: try ProxyRoute("/api=http://127.0.0.1:3000"), peer: nil,
            options: ProxyOptions())
        return String(decoding: request.bytes, as: UTF8.self)
    }

    @Test(arguments: [
        ("castree_token_20000=s; a=1", "Cookie: a=1\r\n"),
        ("a=1; castree_page_20000=b.2; c=castree_", "Cookie: a=1; c=castree_\r\n"),
        ("a=1;castree_token_20000=s;b=2", "Cookie: a=1; b=2\r\n"),
        ("xcastree_token=1", "Cookie: xcastree_token=1\r\n"),
    ])
    func `keeps the app's cookies and not the server's`(value: String, expected: String) throws {
        let text = try sent("/api/x", [("Cookie", value)])
        expect(text.contains(expected))
        expect(!text.contains("castree_token_20000"))
    }

    @Test func `leaves a Cookie field out that held nothing else`() throws {
        let text = try sent("/api/x", [("Cookie", "castree_token_20000=s; castree_page_20000=b.2")])
        expect(!text.contains("Cookie"))
    }

    @Test func `takes the token out of the query and the Referer`() throws {
        let text = try sent(
            "/api/x?a=1&castree_token_20000=s&b=2",
            [("Referer", "http://localhost:20000/?castree_token_20000=s")])
        expect(text.hasPrefix("GET /api/x?a=1&b=2 HTTP/1.1\r\n"))
        expect(text.contains("Referer: http://localhost:20000/\r\n"))
        try expect(sent("/api/x?castree_token_20000=s", []).hasPrefix("GET /api/x HTTP/1.1\r\n"))
        try expect(sent("/api/x?", []).hasPrefix("GET /api/x? HTTP/1.1\r\n"))
    }

    /// A script may send the address of its page in any field, as htmx and error reporters do.
    @Test(arguments: [
        ("http://localhost:20000/a?castree_token_20000=s", "http://localhost:20000/a"),
        ("http://localhost:20000/a?castree_token_20000=s&b=1#c", "http://localhost:20000/a?b=1#c"),
        ("/a?b=1&castree_token_20000=s&castree_page=2&c=3", "/a?b=1&c=3"),
        ("/?castree_token_20000=s&castree_page=2", "/"),
        (#"{"url":"/?castree_token_20000=s","ref":"x"}"#, #"{"url":"/","ref":"x"}"#),
        ("/?castree_token_20000=s, /b?c", "/, /b?c"), ("?&castree_x=s;q=1", "?;q=1"),
        ("castree_kiosk", "castree_kiosk"), ("a?b&c?castree", "a?b&c?castree"),
    ])
    func `takes the token out of the addresses in every field`(
        value: String, expected: String
    ) throws {
        try expect(!sent("/", [("X-State", "%22castree_token_20000%22%3A%22s%22")]).contains("X-S"))
        for name in ["Referer", "HX-Current-URL", "X-Page"] {
            try expect(sent("/api/x", [(name, value)]).contains("\(name): \(expected)\r\n"))
        }
    }
}
