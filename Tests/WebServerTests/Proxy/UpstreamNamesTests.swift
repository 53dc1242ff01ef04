import Expectations

@testable import WebServer

/// docs/serving.md, "Addresses and cookies of the other server".
@Suite("What an upstream says of itself") struct UpstreamNamesTests {
    /// The field as the client gets it.
    private func passed(_ field: String, _ route: String, isPlain: Bool = false) throws -> String {
        let bytes = Array("HTTP/1.1 200 OK\r\n\(field)\r\nContent-Length: 0\r\n\r\n".utf8)
        var parser = UpstreamHeadParser()
        guard case .head = parser.parse(bytes.span) else {
            Issue.record("no head: \(field)")
            return ""
        }
        let head = UpstreamAnswer.head(
            parser.head, bytes.span, by: try ProxyRoute(route), isPlain: isPlain)
        let lines = String(decoding: head.written, as: UTF8.self).split(separator: "\r\n")
        return lines.count > 1 ? String(lines[1]) : ""
    }

    private static let plain = "/api=http://127.0.0.1:3000"
    private static let based = "/api=https://api.example/v1"
    private static let byStars = "/users/*/*=http://127.0.0.1:4000/img/$2/$1.png"
    private static let root = "/api=http://127.0.0.1/"

    @Test(
        "is a cookie for http where the browser is there, unless its name says that it is not",
        arguments: [
            (
                "sid=1; Path=/v1; Secure; HttpOnly; SameSite=None",
                "sid=1; Path=/api; HttpOnly; SameSite=Lax"
            ),
            ("sid=1; secure", "sid=1"), ("sid=1;SECURE;HttpOnly", "sid=1;HttpOnly"),
            ("sid=1; Secure=1; Max-Age=5", "sid=1; Max-Age=5"),
            ("sid=1; samesite = none ;\tSecure", "sid=1; SameSite=Lax"),
            ("sid=1; SameSite=Strict; Secure; Partitioned", "sid=1; SameSite=Strict"),
            ("sid=Secure; HttpOnly", "sid=Secure; HttpOnly"), ("secure", "secure"),
            ("__Host-sid=1; Secure; SameSite=None", "__Host-sid=1; Secure; SameSite=None"),
            ("__secure-sid=1; Secure", "__secure-sid=1; Secure"),
        ])
    func plainCookies(cookie: String, expected: String) throws {
        try expect(
            passed("Set-Cookie: \(cookie)", Self.based, isPlain: true),
            equals: "Set-Cookie: \(expected)")
        let kept = try passed("Set-Cookie: \(cookie)", Self.based)
        expect(kept, equals: "Set-Cookie: \(cookie.replacing("/v1", with: "/api"))")
    }

    @Test(
        "leads back into the app where the route does",
        arguments: [
            (plain, "http://127.0.0.1:3000/api/users/7?a=1#b", "/api/users/7?a=1#b"),
            (plain, "HTTP://127.0.0.1:3000/api", "/api"),
            (plain, "//127.0.0.1:3000/api/x", "/api/x"),
            (based, "https://api.example/v1/users", "/api/users"),
            (based, "https://api.example:443/v1", "/api"),
            (based, "https://API.example/v1?x", "/api?x"),
            (based, "/v1/users", "/api/users"), (based, "/v1", "/api"),
            (root, "http://127.0.0.1", "/api/"), (root, "http://127.0.0.1:80/users", "/api/users"),
            (root, "/users", "/api/users"),
            ("/=http://127.0.0.1:3000", "http://127.0.0.1:3000/x", "/x"),
            (
                "/users/*/avatar=http://127.0.0.1:4000/img",
                "http://127.0.0.1:4000/img/7/avatar?s=2", "/users/7/avatar?s=2"
            ),
            (byStars, "http://127.0.0.1:4000/img/big/7.png?s=2#f", "/users/7/big?s=2#f"),
            ("/shop/**=http://u/s/$1/in", "/s/a/b/in", "/shop/a/b"),
            ("/shop/**=http://u/s/$1/in", "/s/in", "/shop"),
            ("/**/a/*=http://u/$2/$1", "/7/x/y", "/x/y/a/7"),
        ])
    func leadsBack(route: String, value: String, expected: String) throws {
        for name in ["Location", "content-location"] {
            try expect(passed("\(name): \(value)", route), equals: "\(name): \(expected)")
        }
    }

    @Test(
        "stays where it is another server's, or the route does not lead there",
        arguments: [
            (plain, "http://127.0.0.1:3000/login"), (plain, "http://127.0.0.1:3000/apis"),
            (plain, "http://127.0.0.1:3000"), (plain, "http://127.0.0.1:30001/api"),
            (plain, "http://127.0.0.1/api"), (plain, "https://127.0.0.1:3000/api"),
            (plain, "http://127.0.0.1:3000.example/api"), (plain, "/api/x"), (plain, "users/7"),
            (plain, "http://user@127.0.0.1:3000/api"),
            (based, "https://login.example/v1/x"), (based, "/v2/users"), (based, "/v1beta"),
            (based, "//login.example/v1"), (root, "http://127.0.0.1:3000/users"),
            ("/=http://127.0.0.1:3000", "http://127.0.0.1:3000//evil.example/"),
            ("/users/*/avatar=http://127.0.0.1:4000", "http://127.0.0.1:4000/users/7"),
            (byStars, "http://127.0.0.1:4000/img/7.png"), (byStars, "/img/big/7.gif"),
            // These do not tell what the stars stood for.
            ("/a/*/*=http://u/x/$1", "/x/7"), ("/a/*=http://u/$1/$1", "/7/7"),
            ("/a/*/*=http://u/$1$2", "/78"), ("/a/**=http://u/x$1", "/x7"),
            ("/a/**=http://u/$1.html", "/7.html"), ("/a/*=http://u/*/$1", "/*/7"),
            ("/**=http://u/x/$1", "/x//evil.example"),
        ])
    func stays(route: String, value: String) throws {
        try expect(passed("Location: \(value)", route), equals: "Location: \(value)")
    }

    @Test(arguments: [
        (plain, "s=1; Domain=127.0.0.1; Path=/", "s=1; Path=/"),
        (based, "s=1; Domain=api.example; Path=/v1; Secure", "s=1; Path=/api; Secure"),
        (based, "s=1;domain = .Example ;HttpOnly", "s=1;HttpOnly"),
        (based, "s=1; Path=/v1/deep", "s=1; Path=/api/deep"),
        (based, "domain=1; Domain=api.example", "domain=1"),
        (based, "s=\"a b\"; DOMAIN=api.example; SameSite=Lax", "s=\"a b\"; SameSite=Lax"),
        // Those stay.
        (based, "s=1; Domain=kiosk.example; Path=/", "s=1; Domain=kiosk.example; Path=/"),
        (based, "s=1; Domain=pi.example", "s=1; Domain=pi.example"),
        (based, "s=1; Domain=; Path=/v2", "s=1; Domain=; Path=/v2"),
        (plain, "s=1; Path=/api; Max-Age=5", "s=1; Path=/api; Max-Age=5"),
    ])
    func `gives its cookies to the app`(route: String, value: String, expected: String) throws {
        try expect(passed("Set-Cookie: \(value)", route), equals: "Set-Cookie: \(expected)")
    }

    @Test func `sets no cookie of this server, however a browser would come to it`() throws {
        for name in [
            "castree_token_26209", "castree_page_26209", "castree_dashboard_1", "Castree_x",
        ] {
            for value in [
                "\(name)=1", "\(name)=1; Path=/", " \t\(name)=1", "=\(name)=1", " = \(name)=1",
                name,
            ] {
                let left = try passed("Set-Cookie:\(value)", Self.plain)
                expect(!left.lowercased().contains("set-cookie"), "\(value)")
            }
        }
        for value in ["castree=1", "s=castree_page_1", "a_castree_page_1=1", "s=1; x=castree_"] {
            try expect(passed("set-cookie: \(value)", Self.plain), equals: "set-cookie: \(value)")
        }
    }

    /// What a logout may say, and what of it is left: all but the cookies, by which this server knows who may ask.
    private static let cleared: [(value: String, left: String)] = [
        ("\"cookies\"", ""), ("\"Cookies\" ,\t", ""), ("cookies", ""),
        ("\"cache\", \"cookies\", \"storage\"", "\"cache\", \"storage\""),
        ("\"cookies\",\"cookies\",\"cache\"", "\"cache\""),
        ("\"*\"", others), ("*", others), ("\"cache\", \"*\"", "\"cache\", " + others),
        ("\"cache\",\"storage\"", "\"cache\",\"storage\""),
        ("\"executionContexts\"", "\"executionContexts\""),
        ("\"storage:cookies\", \"x\"", "\"storage:cookies\", \"x\""),
    ]
    private static let others = [
        "cache", "clientHints", "executionContexts", "prefetchCache", "prerenderCache", "storage",
    ]
    .map { "\"\($0)\"" }.joined(separator: ", ")

    @Test("takes none of this server's cookies away, and else what it wants", arguments: cleared)
    func clearedData(_ row: (value: String, left: String)) throws {
        for name in ["Clear-Site-Data", "clear-site-data"] {
            let left = try passed("\(name): \(row.value)", Self.plain)
            guard !row.left.isEmpty else {
                expect(!left.lowercased().contains("clear-site-data"), "\(left)")
                continue
            }
            expect(left, equals: "\(name): \(row.left)")
        }
    }
}
