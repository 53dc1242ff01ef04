import WebTestSupport

@testable import ServeFromCAS

/// What the server itself answers, for every route that it declares.
@Suite("A route of the server's own") struct ReservedRouteTests {
    private static let methods = [
        "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "BREW",
    ]
    /// Queries that end in each kind of answer: none, a session that lives, one that does not, and no session at all.
    private static let queries = [
        "", "?session=SESSION", "?session=\(String(repeating: "0", count: 32))", "?session=x",
    ]

    /// The paths of all kinds of answers, the server's own and those of the version.
    private static let paths =
        ReservedRoute.allCases.map(\.path)
        + [
            "/_castree/nothing", "/_castree/dashboard/", "/", "/app.js", "/nothing", "/help",
            "/app.js?q=100%", "/%",
        ]

    private func app() throws -> TestApp {
        try TestApp(.app()) { options in
            options.updates = ServedUpdates(ask: { _ in }, noteForeground: { _ in })
        }
    }

    /// A second request on the same connection is answered only if the end of the first answer was clear.
    @Test func `says how long every answer is, or closes, whoever asks how`() throws {
        let app = try app()
        let browser = try app.visitor()
        let session = try browser.beginSession()
        let isWhole = TestShare.isWhole
        var count = 0
        for path in Self.paths {
            for query in Self.queries where isWhole || path.hasPrefix("/_castree/") || query.isEmpty
            {
                for method in Self.methods {
                    for (version, connection) in [
                        ("1.1", nil), ("1.0", nil), ("1.0", "keep-alive"), ("1.1", "close"),
                    ] {
                        let target = path + query.replacing("SESSION", with: session)
                        // A poll is held for its time.
                        if path == ReservedRoute.bridge.path, method == "GET" { continue }
                        try check(app, method, target, version, connection)
                        count += 1
                    }
                }
            }
        }
        expect(count > 500)
    }

    private func check(
        _ app: TestApp, _ method: String, _ target: String, _ version: String, _ connection: String?
    ) throws {
        let client = try TestClient(port: app.port)
        var head = "\(method) \(target) HTTP/\(version)\r\nHost: localhost:\(app.port)\r\n"
        head += "Origin: http://localhost:\(app.port)\r\n"
        if let connection { head += "Connection: \(connection)\r\n" }
        let hasBody = ["POST", "PUT", "PATCH"].contains(method)
        if hasBody { head += "Content-Length: 7\r\n" }
        client.send(head + "\r\n" + (hasBody ? "5\nH 1 -" : ""))
        let what = Comment(rawValue: "\(method) \(target) HTTP/\(version) \(connection ?? "")")
        let answer = try require(client.response(toHead: method == "HEAD"), what)
        let isBodyless = method == "HEAD" || answer.status == 204 || answer.status == 304
        let closes = answer.value("Connection") == "close"
        expect(isBodyless || answer.value("Content-Length") != nil || closes, what)
        expect(answer.value("Transfer-Encoding") == nil, what)
        guard !closes else {
            expect(client.isAtEnd(), what)
            return
        }
        client.send(
            "GET /same.txt HTTP/1.1\r\nHost: localhost:\(app.port)\r\nConnection: close\r\n\r\n")
        let next = try require(client.response(), what)
        expect(next.status == 200 && next.text == "the same in all", what)
        expect(client.isAtEnd(), what)
    }

    @Test("shows none of its secrets in the log, whatever the answer, in whatever spelling")
    func secrets() throws {
        let app = try app()
        let browser = try app.visitor()
        let session = try browser.beginSession()
        let targets =
            (ReservedRoute.allCases.map(\.path) + [
                "/_castree/hiden", "/_castree/confirm/", "/_castree/",
            ])
            .flatMap { path in
                [
                    "?session=S", "?x&session=S&ack=0", "?Session=S", "?%73ession=S",
                    "?a=%&session=S",
                ].map { path + $0 }
            }
        for target in targets {
            for method in ["POST", "HEAD", "PUT"] {
                let named = target.replacing("=S", with: "=\(session)")
                _ = try browser.ask(method, named, [("Origin", browser.origin)])
                _ = try browser.ask(
                    method, "http://localhost:\(app.port)" + named, [("Origin", browser.origin)])
            }
        }
        let end = ContinuousClock.now + .seconds(120)
        while !app.records.all.contains(where: { $0.target == "/end" }) {
            try require(ContinuousClock.now < end, "never came")
            _ = try browser.ask("GET", "/end")
        }
        let lines = app.records.all.map(\.target)
        expect(lines.filter { $0.contains(session) }, equals: [])
        expect(lines.count { $0.contains("=***") } >= targets.count * 6)
        // What is no secret of ours stays as it was sent.
        _ = try browser.ask("GET", "/app.js?session=\(session)x%")
        _ = try browser.ask("GET", "/end2")
        expect(app.records.all.contains { $0.target == "/app.js?session=\(session)x%" })
    }

    @Test("holds no body for a session that does not live, nor more than a greeting for none")
    func bodies() throws {
        let app = try app()
        let unknown = String(repeating: "0", count: 32)
        for (query, length, status) in [
            ("?session=\(unknown)", 9 << 20, 410), ("?session=x", 9 << 20, 400),
            ("?ack=1", 9 << 20, 400),
            ("", 9 << 20, 413), ("", BridgeLimits.greetingByteCount + 1, 413),
        ] {
            let client = try TestClient(port: app.port)
            client.send(
                "POST /_castree/bridge\(query) HTTP/1.1\r\nHost: localhost:\(app.port)\r\n"
                    + "Origin: http://localhost:\(app.port)\r\nContent-Length: \(length)\r\n\r\n")
            // The answer comes although nothing of the body has.
            expect(client.response()?.status, equals: status)
        }
    }

    @Test
    func `shares one budget for all bodies that are held, and gets back what was held`() throws {
        let server = try TestServer { $0.connection.heldBodiesLimit = 100_000 }
        func post(_ count: Int, sending part: Int) throws -> TestClient {
            let client = try TestClient(port: server.port)
            client.send(
                "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(count)\r\n\r\n"
                    + String(repeating: "a", count: part))
            return client
        }
        func answers(_ client: TestClient, _ rest: Int) -> Int? {
            client.send(String(repeating: "a", count: rest))
            return client.response()?.status
        }
        let first = try post(60_000, sending: 59_999)
        // The server has read that when it answers what came after it on the same loop.
        let end = ContinuousClock.now + .seconds(120)
        while true {
            try require(ContinuousClock.now < end, "never came")
            let status = try answers(post(60_000, sending: 0), 60_000)
            if status == 503 { break }
            expect(status, equals: 200)
        }
        expect(answers(first, 1), equals: 200)
        try expect(answers(post(60_000, sending: 59_999), 1), equals: 200)
        try expect(answers(post(60_000, sending: 0), 60_000), equals: 200)
    }
}
