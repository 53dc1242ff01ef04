import WebTestSupport

@testable import ServeFromCAS
@testable import WebServer

@Suite("A proxy route")
struct ProxyRouteTests {
    @Test(
        "rewrites the path as proxy_pass does, in whole segments",
        arguments: [
            ("/api=http://u:3000", "/api/users?page=2", "/api/users?page=2"),
            ("/api=http://u:3000", "/api", "/api"),
            ("/api=http://u:3000/", "/api/users", "/users"),
            ("/api=http://u:3000/", "/api", "/"),
            ("/api=http://u:3000/", "/api?x", "/?x"),
            ("/api=http://u:3000/v1", "/api/users", "/v1/users"),
            ("/api=http://u:3000/v1/", "/api/users", "/v1/users"),
            ("/api=http://u:3000/v1", "/api", "/v1"),
            ("/api=http://u:3000/v1/", "/api", "/v1/"),
            ("/api/=http://u:3000/v1", "/api/", "/v1/"),
            ("/=http://u:3000/v1", "/users", "/v1/users"),
            ("/=http://u:3000", "/", "/"),
            // Nothing is decoded, nothing encoded.
            ("/api=http://u:3000/v1", "/api/a%2Fb%20c//d;e?q=%26&r", "/v1/a%2Fb%20c//d;e?q=%26&r"),
            ("/api=http://u:3000/v1", "http://other/api/x", "/v1/x"),
        ])
    func rewriting(_ text: String, _ target: String, _ expected: String) throws {
        try expect(ProxyRoute(text).rewritten(target), equals: expected)
    }

    @Test(arguments: ["/apis", "/ap", "/", "/API/x", "/x/api", "/%61pi/x", "*"])
    func `takes no path that only begins with the same letters`(_ target: String) throws {
        let route = try ProxyRoute("/api=http://u")
        try expect(!route.takes(RequestHead(method: "OPTIONS", target: target)))
    }

    @Test(
        "names the host as a Host field does",
        arguments: [
            ("/=http://Example.ORG", "example.org", 80, "example.org"),
            ("/=http://example.org:80/", "example.org", 80, "example.org"),
            ("/=http://127.0.0.1:3000", "127.0.0.1", 3000, "127.0.0.1:3000"),
            ("/=http://[::1]:3000", "::1", 3000, "[::1]:3000"),
            ("/=HTTP://my_service:65535", "my_service", 65535, "my_service:65535"),
        ])
    func origin(_ text: String, _ host: String, _ port: UInt16, _ authority: String) throws {
        let origin = try ProxyRoute(text).origin
        expect(origin.host, equals: host)
        expect(origin.port, equals: port)
        expect(origin.authority, equals: authority)
    }

    @Test(arguments: [
        ("/api", "PREFIX=URL"), ("api=http://u", "slash"), ("=http://u", "slash"),
        ("/a?b=http://u", "prefix"), ("/a/../b=http://u", "prefix"),
        ("/a b=http://u", "prefix"),
        ("/api=127.0.0.1:3000", "http://"), ("/api=u", "http://"), ("/api=//u", "http://"),
        ("/api=ftp://u", "ftp"), ("/api=http://", "host"), ("/api=http://:3000", "host"),
        ("/api=http://me:secret@u", "password"), ("/api=http://u#top", "fragment"),
        ("/api=http://u/#top", "fragment"), ("/api=http://u/?x=1", "query"),
        ("/api=http://u?x=1", "query"), ("/api=http://u:0", "65535"),
        ("/api=http://u:65536", "65535"), ("/api=http://u:", "65535"),
        ("/api=http://u:30x", "65535"), ("/api=http://[::1", "bracket"),
        ("/api=http://[u]", "host"), ("/api=http://u/a/../b", "dot"),
        ("/api=http://ü/", "host"),
        ("/api=http://u v/", "host"), ("/_castree=http://u", "/_castree"),
        ("/_castree/=http://u", "/_castree"), ("/_castree/x=http://u", "/_castree"),
        ("/_castree/*=http://u", "/_castree"), ("/**/a/**=http://u", "once"),
        ("/a**=http://u", "whole segment"), ("/a/**b=http://u", "whole segment"),
        ("/***=http://u", "whole segment"), ("/a/../*=http://u", "dot"),
    ])
    func `is refused with a sentence when it means nothing`(_ text: String, _ word: String) {
        expectRefusal(.malformedRoute, saying: word) { try ProxyRoute(text) }
    }

    @Test func `to https has the port 443 unless another is written`() throws {
        let usual = try ProxyRoute("/api=https://u.example/v1").origin
        expect(usual.isSecure && usual.port == 443 && usual.authority == "u.example")
        let other = try ProxyRoute("/api=HTTPS://[::1]:80").origin
        expect(other.isSecure && other.port == 80 && other.authority == "[::1]:80")
        expect(other.description, equals: "https://[::1]:80")
        let plain = try ProxyRoute("/api=http://u.example:443").origin
        expect(!plain.isSecure && plain.authority == "u.example:443")
    }

    // RFC 3986, sections 3.3 (parameters), 5.2.4 (dot segments), 2.1 (escapes), 7.3 (transcoding).
    @Test(
        "passes no path on that could climb out of its prefix at some server",
        arguments: [
            "/api/../x", "/api/..", "/api/./x", "/api/.", "/api/%2e%2e/x", "/api/.%2E",
            "/api/%2e/x", "/api/..%2fx", "/api/x%2f..%2f..%2fy", "/api/..%5cx", "/api/x%5C..",
            // Parameters of a segment, which servers cut off.
            "/api/..;/x", "/api/..;a=b/x", "/api/.;/x", "/api/..;", "/api/%2e%2e;/x",
            "/api/..%3b/x", "/api/..%3Ba%2fx", "/api/x/..;..;/y",
            // Encoded twice, and more often.
            "/api/%252e%252e/x", "/api/%25252e./x", "/api/..%252fx", "/api/..%255cx",
            "/api/..%253bx/y", "/api/%2525252e%2525252e/x", "/api/%25252525252e",
            // Dots and slashes in two bytes.
            "/api/%c0%ae%c0%ae/x", "/api/..%c0%afx", "/api/.%C0%AE", "/api/..%c1%9cx",
            // A NUL, which ends paths in some languages.
            "/api/x%2500.png",
        ])
    func dots(_ target: String) throws {
        let upstream = try ScriptedUpstream(answering: "HTTP/1.1 204 No Content\r\n\r\n")
        let client = try upstream.proxy().client()
        expect(client.status(get(target)), equals: 400)
        expect(client.status(get("/api/...%2f.a/..b/c..?../.")), equals: 204)
        expect(upstream.heads.all.count, equals: 1)
    }

    @Test(arguments: ["/api/x%00.png", "/api/%", "/api/%2", "/api/%zz", "/api/%u002e/x"])
    func `passes on nothing that is no URL`(_ target: String) throws {
        let upstream = try ScriptedUpstream(answering: "HTTP/1.1 204 No Content\r\n\r\n")
        let client = try upstream.proxy().client()
        expect(client.status(get(target)), equals: 400)
        expect(client.isAtEnd())
        expect(upstream.heads.all.isEmpty)
    }

    @Test(arguments: [
        "/api/a;b=c/d", "/api/;x/y", "/api/group%2Fproject", "/api/100%25", "/api/%C3%A4/%20x",
        "/api/a.b/.c/...", "/api/..x;y", "/api//x", "/api/x?../..;/%2e%2e/%252e", "/api/%252B",
    ])
    func `passes on what every server reads alike, as it was sent`(_ target: String) throws {
        let upstream = try ScriptedUpstream(answering: "HTTP/1.1 204 No Content\r\n\r\n")
        try expect(upstream.proxy().client().status(get(target)), equals: 204)
        expect(upstream.heads.all.first?.hasPrefix("GET \(target) HTTP/1.1\r\n"), equals: true)
    }
}

extension ProxyRoute {
    /// What the other server is asked for in place of a target; `nil` if the route does not take it.
    func rewritten(_ target: String) throws -> String? {
        let head = try RequestHead(method: "GET", target: target)
        guard takes(head) else { return nil }
        var bytes: [UInt8] = []
        appendTarget(of: head, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }
}
