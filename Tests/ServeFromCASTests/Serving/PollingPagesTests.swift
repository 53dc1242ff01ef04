import StorageTestSupport

@testable import ServeFromCAS

// Without WebSockets a page waits with a request, and a browser has six connections for all of its pages and frames.
@Suite("Pages of one browser that poll")
struct PollingPagesTests {
    private static let own = [("Sec-Fetch-Site", "same-origin")]

    private func count(_ app: TestApp) -> Int {
        app.server.handler.pins.withLock { $0.polls.count }
    }

    @Test func `hold two connections at most, are told when to ask again, and take turns`() throws {
        let app = try TestApp(.app())
        let browser = try app.visitor()
        let sessions = try (1...8).map { _ in try browser.beginSession() }
        var waiting: [TestBrowser] = []
        for session in sessions.prefix(2) {
            let tab = try app.tab(of: browser)
            tab.send("GET", "/_castree/bridge?session=\(session)&ack=0", Self.own)
            waiting.append(tab)
            try app.wait(for: "a request that waits") { count(app) == waiting.count }
        }
        for session in sessions.dropFirst(2) {
            let poll = "/_castree/bridge?session=\(session)&ack=0"
            let answer = try browser.ask("GET", poll, Self.own)
            expect(answer.status, equals: 200)
            expect(answer.text, equals: "")
            expect(answer.value("Retry-After"), equals: "2")
        }
        // What is there already comes at once to all, and nobody asks for more time then.
        try app.server.bridge.send("news")
        for tab in waiting {
            let answer = try require(tab.client.response(toHead: false))
            expect(answer.text.contains("news"))
            expect(answer.value("Retry-After") == nil)
        }
        expect(count(app), equals: 0)
        for session in sessions.dropFirst(2) {
            let poll = "/_castree/bridge?session=\(session)&ack=0"
            let answer = try browser.ask("GET", poll, Self.own)
            expect(answer.text.contains("news"))
            expect(answer.value("Retry-After") == nil)
        }
        // Who leaves frees space, and another browser has its own.
        do {
            let tab = try app.tab(of: browser)
            tab.send("GET", "/_castree/bridge?session=\(sessions[0])&ack=1", Self.own)
            try app.wait(for: "a request that waits") { count(app) == 1 }
            let other = try app.visitor()
            let session = try other.beginSession()
            other.send("GET", "/_castree/bridge?session=\(session)&ack=0", Self.own)
            try app.wait(for: "another browser's") { count(app) == 2 }
        }
        try app.wait(for: "the end of both") { count(app) == 0 }
    }
}
