import WebTestSupport

@testable import ServeFromCAS
@testable import WebServer

@Suite("A proxy route with stars")
struct ProxyPatternTests {
    private func route(_ text: String) throws -> ProxyRoute { try ProxyRoute(text) }

    @Test(arguments: [
        ("/users/*/avatar", ["/users/7/avatar", "/users/a.b%2F/avatar", "/users/7/avatar?x"]),
        ("/*.json", ["/a.json", "/.json", "/a.json.json"]),
        ("/api/v*/x", ["/api/v1/x", "/api/v/x"]),
        ("/a*b*c", ["/abc", "/a1b2c", "/abbc", "/abcbc"]),
        ("/api/**", ["/api", "/api/", "/api/x", "/api/x/y"]),
        ("/**/*.json", ["/a.json", "/a/b.json", "/a/b/c.json"]),
        ("/a/**/z", ["/a/z", "/a/b/z", "/a/b/c/z"]), ("/**", ["/", "/x", "/x/y"]),
        ("/a/*/", ["/a/b"]), ("/a/%2A*", ["/a/%2Ax"]),
    ])
    func `takes the paths that fit as a whole`(_ pattern: String, _ targets: [String]) throws {
        let route = try route("\(pattern)=http://u")
        for target in targets {
            expect(route.takes(try RequestHead(method: "GET", target: target)), "\(target)")
        }
    }

    @Test(arguments: [
        ("/users/*/avatar", ["/users/7/avatar/x", "/users/7/8/avatar", "/users//avatar"]),
        ("/users/*/avatar", ["/users/avatar", "/x/users/7/avatar", "/users/7/avatars"]),
        ("/*.json", ["/a/b.json", "/a.jsonx", "/", "/a.JSON"]),
        ("/a*b*c", ["/ac", "/abd", "/ab", "/bac", "/acb"]), ("/aa*aa", ["/aaa"]),
        ("/api/**", ["/apis", "/x/api"]), ("/a/**/z", ["/a", "/z", "/a/zz", "/az"]),
        ("/**/*.json", ["/a.json/", "/a.json/b"]), ("/*", ["/", "/a/b", "*"]),
    ])
    func `takes no others`(_ pattern: String, _ targets: [String]) throws {
        let route = try route("\(pattern)=http://u")
        for target in targets {
            expect(!route.takes(try RequestHead(method: "OPTIONS", target: target)), "\(target)")
        }
    }

    @Test(
        "replaces what stands before the first segment with a star, if the URL has a path",
        arguments: [
            ("/users/*/avatar=http://u", "/users/7/avatar", "/users/7/avatar"),
            ("/users/*/avatar=http://u/img", "/users/7/avatar?s=2", "/img/7/avatar?s=2"),
            ("/users/*/avatar=http://u/", "/users/7/avatar", "/7/avatar"),
            ("/a/b/v*=http://u/c", "/a/b/v1", "/c/v1"),
            ("/**/*.json=http://u/data", "/x/y.json", "/data/x/y.json"),
            ("/a/**/z=http://u/b/", "/a/x/z", "/b/x/z"), ("/a/**=http://u/b", "/a", "/b"),
        ])
    func rewriting(_ text: String, _ target: String, _ expected: String) throws {
        try expect(route(text).rewritten(target), equals: expected)
    }

    @Test(
        "puts what its stars stand for where the URL's path names them, as nginx's rewrite does",
        arguments: [
            ("/users/*/avatar=http://u/img/$1.png", "/users/7/avatar?s=2", "/img/7.png?s=2"),
            ("/*/*/*=http://u/$3/$1/$2/$1", "/a/b/c", "/c/a/b/a"),
            ("/a*b*c=http://u/x$2y$1", "/a1b2c", "/x2y1"), ("/v*/x=http://u/$1", "/v/x", "/"),
            ("/shop/**=http://u/s/$1/index.html", "/shop/a/b", "/s/a/b/index.html"),
            // Where ** stands for no segment, there is none in the URL either.
            ("/shop/**=http://u/s/$1/index.html", "/shop", "/s/index.html"),
            ("/shop/**=http://u/$1", "/shop", "/"), ("/shop/**=http://u/s/$1", "/shop/", "/s"),
            ("/**/*.json=http://u/d/$1/$2", "/a/b/c.json", "/d/a/b/c"),
            ("/**/*.json=http://u/d/$1/$2", "/c.json", "/d/c"),
            // Nothing is decoded, and a dollar sign alone is one.
            ("/a/*=http://u/$/$x/$0/$1", "/a/b%2Fc$1", "/$/$x/$0/b%2Fc$1"),
            ("/a/*=http://u/%241/$1", "/a/b", "/%241/b"),
        ])
    func captures(_ text: String, _ target: String, _ expected: String) throws {
        try expect(route(text).rewritten(target), equals: expected)
    }

    @Test(
        arguments: ["/a=http://u/$1", "/a/*=http://u/$2", "/a/**/*=http://u/$1/$2/$3"])
    func `names only stars that it has`(_ text: String) throws {
        expectRefusal(.malformedRoute, saying: "a star that the prefix does not have") {
            try route(text)
        }
    }

    @Test func `makes no path that climbs, of whatever harmless pieces`() throws {
        let upstream = try ScriptedUpstream(
            answering: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        let table = try ProxyTable([
            ProxyRoute("/f/*-*=http://127.0.0.1:\(upstream.port)/$1$2/x"),
            ProxyRoute("/g/*/*=http://127.0.0.1:\(upstream.port)/%2$1.$2"),
        ])
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        let client = try server.client()
        for (path, status) in [
            ("/f/.-.", 400), ("/f/.-a", 200), ("/g/e/x", 200), ("/g/e/;a", 400),
            ("/g/x/y", 400),
        ] {
            client.send(get(path))
            expect(client.response()?.status, equals: status, "\(path)")
        }
    }

    @Test func `that says more goes before one that says less, whatever their order`() throws {
        func upstream(_ name: String) throws -> ScriptedUpstream {
            try ScriptedUpstream(
                answering: "HTTP/1.1 200 OK\r\nContent-Length: \(name.utf8.count)\r\n\r\n\(name)")
        }
        let (api, avatars, all) = try (upstream("api"), upstream("avatars"), upstream("all"))
        let below = try upstream("below")
        let table = try ProxyTable([
            ProxyRoute("/**=http://127.0.0.1:\(all.port)"),
            ProxyRoute("/api=http://127.0.0.1:\(api.port)"),
            ProxyRoute("/api/*/avatar=http://127.0.0.1:\(avatars.port)"),
            ProxyRoute("/api/b=http://127.0.0.1:\(below.port)"),
        ])
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        let client = try server.client()
        for (path, body) in [
            ("/api/7/avatar", "avatars"), ("/api/7", "api"), ("/api", "api"), ("/apis", "all"),
            ("/api/b", "below"), ("/api/b/c", "below"), ("/api/bc", "api"),
        ] {
            client.send(get(path))
            expect(client.response()?.body, equals: Array(body.utf8), "\(path)")
        }
        // No star stands for what climbs.
        for path in ["/api/../avatar", "/api/..;/avatar", "/x/%2e%2e"] {
            expect(client.status(get(path)), equals: 400, "\(path)")
        }
    }

    @Test func `twice the same is refused, beside the prefix it begins with it is not`() throws {
        for prefix in ["/a", "/a/*"] {
            #expect(throws: StoreError.self) {
                try ProxyTable([
                    ProxyRoute(prefix + "=http://u"), ProxyRoute(prefix + "/=http://v"),
                ])
            }
        }
        _ = try ProxyTable([ProxyRoute("/a/*=http://127.0.0.1"), ProxyRoute("/a=http://127.0.0.1")])
    }
}
