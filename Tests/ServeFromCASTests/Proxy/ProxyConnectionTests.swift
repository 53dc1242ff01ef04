import Expectations

@testable import ServeFromCAS

@Suite("A connection to an upstream")
struct ProxyConnectionTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    @Test func `carries one request after the other, of several clients`() throws {
        let upstream = try ScriptedUpstream(answering: Self.ok)
        let server = try upstream.proxy()
        for _ in 0..<3 {
            let client = try server.client()
            for _ in 0..<3 {
                expect(client.status(get("/api")), equals: 200)
            }
            client.send("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nX-Last: 1\r\n\r\n")
            expect(client.response()?.status, equals: 200)
        }
        expect(upstream.connectionCount, equals: 1)
        expect(upstream.heads.all.count, equals: 12)
    }

    @Test(
        "is not used again when the answer says or shows that it cannot be",
        arguments: [
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 204 No Content\r\n\r\nx",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
        ])
    func notAgain(_ answer: String) throws {
        let upstream = try ScriptedUpstream(answering: answer)
        let client = try upstream.proxy().client()
        for count in 1...2 {
            client.send(get("/api", count == 2 ? "Connection: close\r\n" : ""))
            if answer.contains("chunked") {
                if count == 1 { continue }
                expect(String(decoding: client.readAll(), as: UTF8.self).contains("HTTP/1.1 200"))
            } else {
                expect((200...204).contains(client.response()?.status ?? 0))
            }
        }
        expect(upstream.connectionCount, equals: 2)
    }

    @Test func `that the upstream had closed costs a repeatable request nothing`() throws {
        let upstream = try ScriptedUpstream { peer in
            guard peer.head() != nil else { return }
            peer.send(Self.ok)
            // The next request is read, so that its loss is certain, and never answered.
            peer.head()
        }
        let client = try upstream.proxy().client()
        for method in ["GET", "PUT", "DELETE", "OPTIONS", "HEAD"] {
            client.send("\(method) /api HTTP/1.1\r\nHost: x\r\n\r\n")
            expect(client.response(toHead: method == "HEAD")?.status, equals: 200, "\(method)")
        }
        expect(upstream.connectionCount, equals: 5)
    }

    @Test(
        "that breaks under a request that cannot be repeated makes a 502",
        arguments: [
            "POST /api HTTP/1.1\r\nHost: x\r\n\r\n", "PATCH /api HTTP/1.1\r\nHost: x\r\n\r\n",
            "PUT /api HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx",
        ])
    func notRepeated(_ request: String) throws {
        let upstream = try ScriptedUpstream { peer in
            guard peer.head() != nil else { return }
            peer.send(Self.ok)
            peer.head()
        }
        let client = try upstream.proxy().client()
        expect(client.status(get("/api")), equals: 200)
        expect(client.status(request), equals: 502)
        expect(upstream.heads.all.count, equals: 2)
    }

    @Test func `that was answered in part is not tried again`() throws {
        let upstream = try ScriptedUpstream { peer in
            guard peer.head() != nil else { return }
            peer.send(Self.ok)
            guard peer.head() != nil else { return }
            peer.send("H")
        }
        let client = try upstream.proxy().client()
        for status in [200, 502] {
            client.send(get("/api"))
            expect(client.response()?.status, equals: status)
        }
        expect(upstream.heads.all.count, equals: 2)
    }

    @Test func `is tried again once only, and on a new connection`() throws {
        let count = Sink<Int>()
        let upstream = try ScriptedUpstream { peer in
            guard peer.head() != nil else { return }
            count.add(1)
            guard count.all.count == 1 else { return }
            peer.send(Self.ok)
            peer.head()
        }
        let client = try upstream.proxy().client()
        expect(client.status(get("/api")), equals: 200)
        expect(client.status(get("/api")), equals: 502)
        expect(upstream.connectionCount, equals: 2)
    }

    @Test func `that was idle for longer than it is kept is closed`() throws {
        let closed = try Gate()
        let upstream = try ScriptedUpstream { peer in
            guard peer.head() != nil else { return }
            peer.send(Self.ok)
            if peer.isAtEnd() { closed.open() }
        }
        var options = ProxyOptions()
        options.poolIdle = 1
        let server = try upstream.proxy(options)
        try expect(server.client().status(get("/api")), equals: 200)
        closed.wait()
    }

    @Test func `that cannot be made is a 502 with a sentence, and the client's continues`() throws {
        // Bound and not listened on, so that nobody else gets it meanwhile.
        let taken = try BoundPort()
        let port = taken.port
        let table = try ProxyTable([ProxyRoute("/api=http://127.0.0.1:\(port)")])
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        let client = try server.client(sending: get("/api") + get("/text"))
        let response = try require(client.response())
        expect(response.status, equals: 502)
        expect(String(decoding: response.body, as: UTF8.self).contains("127.0.0.1:\(port)"))
        expect(client.response()?.status, equals: 200)
        expect(
            client.status("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n"), equals: 502
        )
        withExtendedLifetime(taken) {}
    }

    @Test func `finds a name's address, of either family, and says when there is none`() throws {
        let upstream = try ScriptedUpstream(answering: Self.ok)
        for name in ["localhost", "a.localhost", "[::ffff:127.0.0.1]"] {
            let table = try ProxyTable([ProxyRoute("/api=http://\(name):\(upstream.port)")])
            let server = try TestServer.answering { _, head, _ in table.answer(head) }
            try expect(server.client().status(get("/api")), equals: 200, "\(name)")
        }
        let table = try ProxyTable([ProxyRoute("/api=http://nothing.invalid:1")])
        let server = try TestServer.answering { _, head, _ in table.answer(head) }
        try expect(server.client().status(get("/api")), equals: 502)
    }

    @Test func `to a silent upstream ends in a 504, and in a cut when the body stalls`() throws {
        // Each with the one time that is to be seen: the other upstream may be slow to begin.
        var (short, stalls) = (ProxyOptions.patient, ProxyOptions.patient)
        short.head = 20
        stalls.stall = 20
        let silent = try ScriptedUpstream(afterHead: true) { peer in
            _ = peer.isAtEnd()
        }
        let client = try silent.proxy(short).client()
        expect(client.status(get("/api")), equals: 504)
        let stalling = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc")
            _ = peer.isAtEnd()
        }
        let other = try stalling.proxy(stalls).client()
        other.send(get("/api"))
        let (head, rest) = split(other.readAll())
        expect(head.contains("Content-Length: 5"))
        expect(rest, equals: Array("abc".utf8))
    }

    @Test func `is closed when the client leaves`() throws {
        let (asked, closed) = (try Gate(), try Gate())
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            asked.open()
            if peer.isAtEnd() { closed.open() }
        }
        let server = try upstream.proxy()
        var client: TestClient? = try server.client()
        client?.send(get("/api"))
        asked.wait()
        client = nil
        closed.wait()
    }

    @Test func `serves requests that come all at once, in their order`() throws {
        let upstream = try ScriptedUpstream.ofPaths()
        let client = try upstream.proxy().client()
        let paths = ["/api/1", "/api/22", "/text", "/api/333", "/api/4"]
        client.send(paths.map { get($0) }.joined())
        for path in paths {
            let body = path == "/text" ? "text" : path
            expect(client.response()?.body, equals: Array(body.utf8))
        }
        expect(upstream.connectionCount, equals: 1)
    }

    @Test("finishes what is in flight when the server stops, and no idle one holds it up")
    func stopping() async throws {
        let (asked, go) = (try Gate(), try Gate())
        let upstream = try ScriptedUpstream { peer in
            while let head = peer.head() {
                if head.contains("/wait") {
                    asked.open()
                    go.wait()
                }
                peer.send(Self.ok)
            }
        }
        let server = try upstream.proxy()
        let idle = try server.client()
        let waiting = try server.client(sending: get("/api/wait"))
        asked.wait()
        expect(idle.status(get("/api")), equals: 200)
        server.server.stop(within: 600_000)
        expect(idle.isAtEnd())
        go.open()
        expect(waiting.response()?.status, equals: 200)
        expect(waiting.isAtEnd())
        await server.server.waitUntilStopped()
    }
}
