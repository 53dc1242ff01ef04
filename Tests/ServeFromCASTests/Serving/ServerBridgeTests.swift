import StorageTestSupport

@testable import ServeFromCAS

@Suite("The bridge of a server")
struct ServerBridgeTests {
    @Test func `carries messages both ways over a WebSocket, in order`() async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.visitor()
        let page = try SocketPage(browser)
        for number in 1...100 { try page.send("to the app \(number)") }
        for number in 1...100 {
            try expect(app.server.bridge.send("to the page \(number)"), equals: 1)
        }
        try page.run { $0.texts.count == 100 }
        expect(page.texts, equals: (1...100).map { "to the page \($0)" })
        var expected = 1
        for await message in app.server.bridge.messages {
            expect(message.text, equals: "to the app \(expected)")
            expect(message.session == page.bridge.session && !message.mayRepeat)
            expected += 1
            if expected > 100 { break }
        }
        expect(app.server.bridge.takeMessage() == nil)
    }

    @Test func `keeps the page's version as long as its WebSocket lives`() throws {
        let app = try TestApp(TemporaryStore.app())
        let other = try app.store.reopened()
        do {
            let browser = try app.visitor()
            _ = try SocketPage(browser)
            try other.activate("2")
            app.look(after: .seconds(86_400))
            try expect(other.pinnedVersions().contains("1"))
            try expect(app.browser().status().pinned, equals: ["1"])
        }
        try app.waitUntilUnpinned("1")
        try other.retire("1")
    }

    @Test(
        arguments: ["http://evil.example", "null", "http://localhost:1", "https://localhost"])
    func `lets no other site connect`(_ origin: String) throws {
        let app = try TestApp(TemporaryStore.app())
        let upgrade = [
            ("Origin", origin), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"), ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]
        try expect(app.browser().ask("GET", "/_castree/bridge", upgrade).status, equals: 403)
        let browser = try app.browser()
        try expect(browser.post("/_castree/bridge", "5\nH 1 -", origin: origin).status, equals: 403)
        expect(app.server.bridge.sessions.isEmpty)
    }

    /// Begins a session over requests; returns its name.
    private func greet(_ browser: TestBrowser) throws -> String {
        let welcome = try browser.post("/_castree/bridge", "5\nH 1 -")
        expect(welcome.status, equals: 200)
        let words = welcome.text.split { $0 == " " || $0 == "\n" }
        try require(words.count == 5 && words[1] == "W")
        return String(words[3])
    }

    private let own = [("Sec-Fetch-Site", "same-origin")]

    @Test func `holds a request until there is something to say, and then wakes it`() throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.visitor()
        let session = try greet(browser)
        let id = try require(BridgeSessionID(session))
        let bridge = app.server.bridge
        let waiting = try app.tab(of: browser)
        waiting.send("GET", "/_castree/bridge?session=\(session)&ack=0", own)
        try app.wait(for: "the held request") {
            bridge.locked { state, _ in state.sessions[id]?.wake != nil }
        }
        try bridge.send("news", to: id)
        expect(waiting.client.response()?.text, equals: "10\nM 1 0\nnews")

        // The other way, and an acknowledgement with it.
        let post = try browser.post("/_castree/bridge?session=\(session)", "8\nM 1 1\nhi")
        expect(post.status, equals: 200)
        expect(bridge.takeMessage()?.text, equals: "hi")
        waiting.send("GET", "/_castree/bridge?session=\(session)&ack=1", own)
        expect(waiting.client.response()?.text, equals: "3\nA 1")
    }

    // docs/bridge-protocol.md, "Who may connect", rule 3.
    @Test("takes the name of a living session for a secret, where a browser says nothing of itself")
    func secret() throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        // Without Origin, Sec-Fetch-Site and secret nobody begins a session.
        try expect(browser.ask("POST", "/_castree/bridge", body: "5\nH 1 -").status, equals: 403)
        let session = try greet(browser)
        let id = try require(BridgeSessionID(session))
        try app.server.bridge.send("news", to: id)
        let place = "/_castree/bridge?session=\(session)"
        try expect(browser.ask("GET", place + "&ack=0").text, equals: "10\nM 1 0\nnews")
        try expect(browser.ask("POST", place, body: "8\nM 1 1\nhi").status, equals: 200)
        expect(app.server.bridge.takeMessage()?.text, equals: "hi")
        // It opens nothing else, no other session does it, and no other site has it open anything.
        let upgrade = [
            ("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]
        try expect(app.browser().ask("GET", place, upgrade).status, equals: 403)
        try expect(browser.ask("POST", "/_castree/confirm?session=\(session)").status, equals: 403)
        let other = "/_castree/bridge?session=\(String(repeating: "0", count: 32))&ack=0"
        try expect(browser.ask("GET", other).status, equals: 403)
        for field in [
            ("Origin", "http://evil.example"), ("Origin", "null"),
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site"),
        ] {
            try expect(browser.ask("GET", place + "&ack=0", [field]).status, equals: 403)
        }
        let elsewhere = place + "&ack=0"
        try expect(browser.ask("GET", elsewhere, [("Host", "evil.example")]).status, equals: 421)
        // An ended session opens nothing any more.
        try expect(browser.ask("POST", place, body: "1\nC").status, equals: 200)
        try expect(browser.ask("GET", place + "&ack=1").status, equals: 403)
    }

    // docs/bridge-protocol.md, "What is promised": the app is told how many messages were dropped.
    @Test("tells the app of pages that come and go, and how many messages a page did not take")
    func changes() throws {
        let changes = Sink<BridgeSessionChange>()
        let app = try TestApp(TemporaryStore.app()) { $0.onSessionChange = { changes.add($0) } }
        let browser = try app.browser()
        let session = try greet(browser)
        let id = try require(BridgeSessionID(session))
        expect(changes.all, equals: [.opened(id)])
        for number in 1...3 { try app.server.bridge.send("\(number)", to: id) }
        let place = "/_castree/bridge?session=\(session)"
        try expect(browser.ask("GET", place + "&ack=0", own).text.contains("M 3 0\n3"))
        // It has taken the first, and goes.
        try expect(browser.post(place, "3\nA 11\nC").status, equals: 200)
        expect(changes.all, equals: [.opened(id), .closed(id, undelivered: 2)])
    }

    @Test("answers what it holds when the server stops, so that stopping takes no time")
    func stopping() async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        let session = try greet(browser)
        let id = try require(BridgeSessionID(session))
        let bridge = app.server.bridge
        let waiting = try app.browser()
        waiting.send("GET", "/_castree/bridge?session=\(session)&ack=0", own)
        try app.wait(for: "the held request") {
            bridge.locked { state, _ in state.sessions[id]?.wake != nil }
        }
        // Far longer than the test may take: what is not answered would be waited for.
        app.server.stop(within: .seconds(3600))
        let answer = try require(waiting.client.response())
        expect(answer.status == 200 && answer.body.isEmpty)
        expect(waiting.client.isAtEnd())
        await app.server.waitUntilStopped()
    }

    @Test func `is served with its script, and nothing else is below /_castree/`() throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        let script = try browser.ask("GET", "/_castree/bridge.js")
        expect(script.status, equals: 200)
        expect(script.value("Content-Type"), equals: "text/javascript; charset=utf-8")
        expect(script.text.contains("window.castree"))
        // A page that a worker keeps may be loaded while the server does not run.
        expect(script.value("Cache-Control"), equals: "max-age=0, stale-while-revalidate=31536000")
        try expect(browser.ask("HEAD", "/_castree/bridge.js").body.isEmpty)
        try expect(browser.ask("POST", "/_castree/bridge.js").status, equals: 405)
        try expect(browser.navigate("/_castree/other").status, equals: 404)
        try expect(browser.navigate("/_castree").status, equals: 404)
    }
}

@Suite("An app's server that stops")
struct ServerStoppingTests {
    @Test func `ends the messages of its bridge and says so to its pages`() async throws {
        let app = try TestApp(TemporaryStore.app())
        let browser = try app.browser()
        let page = try SocketPage(browser)
        app.server.stop(within: .seconds(3600))
        try page.run { $0.closed != nil }
        expect(page.closed?.code, equals: CloseCode(1001))
        for await _ in app.server.bridge.messages { Issue.record("a message from nowhere") }
        await app.server.waitUntilStopped()
    }
}
