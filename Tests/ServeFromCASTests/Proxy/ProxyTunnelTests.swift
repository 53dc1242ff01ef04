import Expectations

@testable import ServeFromCAS

@Suite("A tunnel through the proxy")
struct ProxyTunnelTests {
    private static let asking = "Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
    private static let switching =
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n"
        + "Sec-WebSocket-Accept: x\r\n\r\n"

    @Test func `carries bytes both ways, those right behind the heads first`() throws {
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send(Self.switching + "hello ")
            peer.send(peer.read(6))
            peer.send(peer.read(5))
        }
        let client = try upstream.proxy().client()
        client.send(get("/api", Self.asking + "Sec-WebSocket-Key: y\r\n") + "early ")
        client.send("later")
        let (head, rest) = split(client.readAll())
        expect(head.hasPrefix("HTTP/1.1 101 Switching Protocols\r\n"))
        expect(head.contains("Upgrade: websocket"))
        expect(head.contains("Connection: Upgrade"))
        expect(head.contains("Sec-WebSocket-Accept: x"))
        expect(rest, equals: Array("hello early later".utf8))
        let seen = try require(upstream.heads.all.first)
        expect(seen.contains("Connection: Upgrade\r\nUpgrade: websocket\r\n"))
        expect(seen.contains("Sec-WebSocket-Key: y\r\n"))
    }

    @Test(arguments: [true, false])
    func `is still open one way when the other has ended`(_ clientEndsFirst: Bool) throws {
        let done = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send(Self.switching)
            if clientEndsFirst {
                let question = peer.read(1 << 20)
                peer.send("got \(question.count)")
            } else {
                peer.send("bye")
                peer.finishSending()
                expect(peer.read(1 << 20), equals: Array("after".utf8))
            }
            done.open()
        }
        let client = try upstream.proxy().client()
        expect(client.status(get("/api", Self.asking)), equals: 101)
        if clientEndsFirst {
            client.send("question")
            client.finishSending()
            expect(client.readAll(), equals: Array("got 8".utf8))
        } else {
            expect(client.readAll(), equals: Array("bye".utf8))
            client.send("after")
            client.finishSending()
        }
        done.wait()
    }

    @Test func `holds back the side that sends faster than the other reads`() throws {
        let size = 16 << 20
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send(Self.switching)
            let block = [UInt8](repeating: 5, count: 1 << 16)
            for _ in 0..<size / block.count { peer.send(block) }
        }
        let client = try upstream.proxy().client()
        expect(client.status(get("/api", Self.asking)), equals: 101)
        expect(client.readAll().count, equals: size)
    }

    @Test func `is not dug when the upstream declines`() throws {
        let upstream = try ScriptedUpstream(
            answering: "HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\nno")
        let client = try upstream.proxy().client()
        for _ in 0..<2 {
            expect(client.status(get("/api", Self.asking)), equals: 403)
        }
    }

    @Test(
        "is not dug for HTTP/2, nor to a protocol that was not asked for",
        arguments: [
            ("Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: A\r\n", false),
            ("Upgrade: websocket\r\n", false), ("Connection: Upgrade\r\n", false),
            ("Connection: Upgrade\r\nUpgrade: websocket, h2c\r\n", false),
            ("Connection: Upgrade\r\nUpgrade: other\r\n", true),
        ])
    func refused(_ fields: String, _ isPassedOn: Bool) throws {
        let upstream = try ScriptedUpstream(answering: Self.switching)
        try expect(upstream.proxy().client().status(get("/api", fields)), equals: 502)
        let seen = try require(upstream.heads.all.first).lowercased()
        expect(seen.contains("upgrade"), equals: isPassedOn)
        expect(!seen.contains("http2-settings"))
    }

    @Test
    func `ends when one side breaks, when nothing moves, and when the server stops`() async throws {
        let closed = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send(Self.switching)
            if peer.isAtEnd() { closed.open() }
        }
        let server = try upstream.proxy()
        var client: TestClient? = try server.client()
        client?.send(get("/api", Self.asking))
        expect(client?.response()?.status, equals: 101)
        client = nil
        closed.wait()

        var options = ProxyOptions()
        options.tunnelIdle = 20
        let hurried = try upstream.proxy(options).client()
        expect(hurried.status(get("/api", Self.asking)), equals: 101)
        expect(hurried.isAtEnd())
        closed.wait()

        let other = try server.client()
        expect(other.status(get("/api", Self.asking)), equals: 101)
        server.server.stop(within: 600_000)
        expect(other.isAtEnd())
        closed.wait()
        await server.server.waitUntilStopped()
    }
}
