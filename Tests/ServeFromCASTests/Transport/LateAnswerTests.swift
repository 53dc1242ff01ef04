import StorageTestSupport

@testable import ServeFromCAS

@Suite("An answer that comes later")
struct LateAnswerTests {
    /// A server whose `/later` waits for the test; what it hears goes to the sinks.
    private func server(
        within: Int64 = 600_000, _ exchanges: Sink<Exchange>, _ gone: Sink<String> = Sink()
    ) throws -> TestServer {
        try TestServer.answering { path, head, exchange in
            guard path == "/later" else { return nil }
            exchanges.add(exchange)
            return .later(
                within: within, otherwise: { TestHandler.text(204, []) },
                gone: { gone.add("gone") })
        }
    }

    private func wait(for condition: () -> Bool) {
        // Another thread is at work: let it, as long as it takes.
        while !condition() { sched_yield() }
    }

    @Test func `comes from another thread, in its place, once`() throws {
        let exchanges = Sink<Exchange>()
        let server = try server(exchanges)
        let client = try server.client(sending: get("/small") + get("/later") + get("/text"))
        expect(client.response()?.has(server.objects["/small"]), equals: true)
        wait { exchanges.all.count == 1 }
        let exchange = try require(exchanges.all.first)
        exchange.answer(TestHandler.text(200, Array("late".utf8)))
        exchange.answer(TestHandler.text(200, Array("later still".utf8)))
        expect(client.response()?.body, equals: Array("late".utf8))
        expect(client.response()?.body, equals: Array("text".utf8))
        client.send(get("/text"))
        expect(client.response()?.body, equals: Array("text".utf8))
    }

    @Test func `is the other one when nobody answers in time`() throws {
        let exchanges = Sink<Exchange>()
        let server = try server(within: 50, exchanges)
        let client = try server.client()
        expect(client.status(get("/later") + get("/text")), equals: 204)
        expect(client.response()?.body, equals: Array("text".utf8))
    }

    // DESIGN.md, "Stopping": listeners close, and what is in flight has its time.
    @Test(
        "keeps no port from the next server while it is waited for at the end", arguments: [1, 3])
    func portWhileStopping(_ loops: Int) throws {
        let exchanges = Sink<Exchange>()
        let server = try TestServer(
            loops: loops,
            extra: { path, _, exchange in
                guard path == "/later" else { return nil }
                exchanges.add(exchange)
                return .later(within: 600_000, otherwise: { TestHandler.text(204, []) }, gone: nil)
            })
        let client = try server.client(sending: get("/later"))
        wait { exchanges.all.count == 1 }
        server.server.stop(within: 600_000)
        expect(isRefused(server.port))
        try require(exchanges.all.first).answer(TestHandler.text(200, Array("late".utf8)))
        expect(client.response()?.body, equals: Array("late".utf8))
    }

    @Test
    func `that belongs to a closed connection never reaches the one that took its place`() throws {
        let exchanges = Sink<Exchange>()
        let gone = Sink<String>()
        let server = try server(exchanges, gone)
        var first: TestClient? = try server.client()
        first?.send(get("/later"))
        wait { exchanges.all.count == 1 }
        first = nil
        wait { gone.all.count == 1 }
        let second = try server.client(sending: get("/later"))
        wait { exchanges.all.count == 2 }
        exchanges.all[0].answer(TestHandler.text(200, Array("wrong".utf8)))
        exchanges.all[1].answer(TestHandler.text(200, Array("right".utf8)))
        expect(second.response()?.body, equals: Array("right".utf8))
        expect(gone.all, equals: ["gone"])
    }

    @Test("keeps nothing of a server that has stopped, whoever still holds the request")
    func released() async throws {
        let exchanges = Sink<Exchange>()
        weak var handlersOwn: Sink<String>?
        do {
            let own = Sink<String>()
            handlersOwn = own
            let server = try server(exchanges, own)
            let client = try server.client()
            client.send(get("/later"))
            wait { exchanges.all.count == 1 }
            server.server.stop(within: 0)
            await server.server.waitUntilStopped()
        }
        // The loop's thread may have a moment left.
        let end = ContinuousClock.now + .seconds(60)
        while handlersOwn != nil, ContinuousClock.now < end { sched_yield() }
        expect(handlersOwn == nil)
        exchanges.all.first?.answer(TestHandler.text(200, []))
    }
}

@Suite("A server that stops")
struct StoppingTests {
    @Test func `answers what is in flight, closes what is idle, and ends`() async throws {
        let exchanges = Sink<Exchange>()
        let server = try TestServer.answering { path, _, exchange in
            guard path == "/later" else { return nil }
            exchanges.add(exchange)
            return .later(within: 600_000, otherwise: { TestHandler.text(204, []) }, gone: nil)
        }
        let idle = try server.client()
        expect(idle.status(get("/text")), equals: 200)
        let large = try server.client(sending: get("/huge"))
        let waiting = try server.client(sending: get("/later"))
        while exchanges.all.isEmpty { sched_yield() }
        server.server.stop(within: 600_000)
        expect(idle.isAtEnd())
        exchanges.all.first?.answer(TestHandler.text(200, Array("late".utf8)))
        let late = waiting.response()
        expect(late?.body, equals: Array("late".utf8))
        expect(waiting.isAtEnd())
        expect(large.response()?.has(server.objects["/huge"]), equals: true)
        expect(large.isAtEnd())
        await server.server.waitUntilStopped()
        expect(isRefused(server.port))
    }

    @Test func `cuts what is left when its time is over`() async throws {
        let server = try TestServer()
        let stuck = try server.client()
        stuck.send(get("/huge") + get("/huge"))
        let half = try server.client(sending: "GET / HT")
        server.server.stop(within: 50)
        await server.server.waitUntilStopped()
        expect(half.readAll().count < 400)
    }
}
