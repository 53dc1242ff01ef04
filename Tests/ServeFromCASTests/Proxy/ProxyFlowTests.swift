import Expectations
import Platform

@testable import ServeFromCAS

@Suite("Bodies that flow through the proxy")
struct ProxyFlowTests {
    private static let megabyte: [UInt8] = {
        let pattern = (0..<65_537).map { UInt8(truncatingIfNeeded: $0 / 7 + $0 % 251) }
        var bytes: [UInt8] = []
        while bytes.count < 1 << 20 { bytes += pattern.prefix((1 << 20) - bytes.count) }
        return bytes
    }()

    /// Reads a request's body by its length, and sends it back in the framing of the path.
    private static func echo(_ peer: TestPeer) {
        while let head = peer.head() {
            let body: [UInt8]
            if head.contains("Transfer-Encoding: chunked") {
                body = unchunked(peer.through(Array("0\r\n\r\n".utf8)) ?? []).body
            } else {
                body = peer.read(megabyte.count)
            }
            if head.contains("/chunked") {
                peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                var position = 0
                for size in [1, 70_000, 16, body.count - 70_017] {
                    peer.send(String(size, radix: 16) + "\r\n")
                    peer.send(Array(body[position..<position + size]))
                    peer.send("\r\n")
                    position += size
                }
                peer.send("0\r\n\r\n")
            } else if head.contains("/close") {
                peer.send("HTTP/1.1 200 OK\r\n\r\n")
                peer.send(body)
                return
            } else {
                peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n")
                peer.send(body)
            }
        }
    }

    @Test(
        "are the same bytes on both sides, a megabyte each way, in every framing",
        arguments: ["/length", "/chunked", "/close"], [false, true])
    func bothWays(_ path: String, _ sendsChunks: Bool) throws {
        let upstream = try ScriptedUpstream(Self.echo)
        let client = try upstream.proxy().client()
        let framing =
            sendsChunks
            ? "Transfer-Encoding: chunked" : "Content-Length: \(Self.megabyte.count)"
        client.send(
            "POST /api\(path) HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\(framing)\r\n\r\n")
        if sendsChunks {
            // The bytes hold no end of a body by chance: they are the pattern above.
            client.send("100000\r\n")
            client.send(Self.megabyte)
            client.send("\r\n0\r\n\r\n")
        } else {
            client.send(Self.megabyte)
        }
        let (head, rest) = split(client.readAll())
        expect(head.hasPrefix("HTTP/1.1 200"))
        let body = path == "/length" ? rest : unchunked(rest).body
        expect(body == Self.megabyte)
    }

    @Test func `wait for a client that does not read, without being kept in memory`() throws {
        let total = 32 << 20
        let sent = Atomic<Int>(0)
        let stuck = try Gate()
        let chunk = [UInt8](repeating: 7, count: 1 << 16)
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: \(total)\r\n\r\n")
            for _ in 0..<total / chunk.count {
                peer.send(chunk)
                sent.add(chunk.count, ordering: .relaxed)
            }
            stuck.open()
        }
        let server = try upstream.proxy()
        let client = try server.client(sending: get("/api", "Connection: close\r\n"))
        // Other clients are served meanwhile, again and again, until the upstream stands still.
        let other = try server.client()
        var (last, same) = (-1, 0)
        while same < 200 {
            expect(other.status(get("/text")), equals: 200)
            let now = sent.load(ordering: .relaxed)
            same = now == last && now > 0 ? same + 1 : 0
            last = now
        }
        expect(sent.load(ordering: .relaxed) < total)
        let (_, rest) = split(client.readAll())
        expect(rest.count, equals: total)
        stuck.wait()
    }

    @Test func `wait for an upstream that does not read`() throws {
        let (go, asked) = (try Gate(), try Gate())
        let size = 16 << 20
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            asked.open()
            go.wait()
            let count = peer.read(size).count
            peer.send("HTTP/1.1 200 OK\r\nX-Count: \(count)\r\nContent-Length: 0\r\n\r\n")
        }
        let server = try upstream.proxy()
        let client = try server.client(
            sending: "PUT /api HTTP/1.1\r\nHost: x\r\nContent-Length: \(size)\r\n\r\n")
        asked.wait()
        let done = try Gate()
        let isStarted = Parallel.start { [client = Unchecked(client)] in
            client.value.send([UInt8](repeating: 1, count: size))
            done.open()
        }
        expect(isStarted)
        go.open()
        done.wait()
        expect(client.response()?.value("X-Count"), equals: "\(size)")
    }

    @Test func `of a hundred clients at a time do not mix`() throws {
        let upstream = try ScriptedUpstream.ofPaths()
        var options = ProxyOptions()
        options.poolSize = 100
        let server = try upstream.proxy(options)
        let clients = try (0..<100).map { _ in try server.client() }
        for round in 0..<3 {
            for (index, client) in clients.enumerated() {
                client.send(get("/api/\(index)/\(round)"))
            }
            for (index, client) in clients.enumerated() {
                expect(client.response()?.body == Array("/api/\(index)/\(round)".utf8))
            }
        }
        expect(upstream.connectionCount <= 100)
    }

    @Test func `need not be read by an upstream that has answered`() throws {
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 4\r\n\r\nmuch")
        }
        let server = try upstream.proxy()
        for _ in 0..<20 {
            let client = try server.client(
                sending: "POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n\r\n")
            client.send([UInt8](repeating: 1, count: 200_000))
            let response = client.response()
            expect(response?.status, equals: 413)
            expect(response?.body, equals: Array("much".utf8))
        }
    }

    @Test func `that a client breaks off are broken off for the upstream`() throws {
        let counts = Sink<Int>()
        let done = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            counts.add(peer.read(100).count)
            done.open()
        }
        let server = try upstream.proxy()
        var client: TestClient? = try server.client()
        client?.send("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
        client = nil
        done.wait()
        expect(counts.all, equals: [3])
    }

    @Test func `that a client promises and does not send end in a cut`() throws {
        var options = ProxyOptions()
        options.stall = 20
        let done = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            _ = peer.read(100)
            done.open()
        }
        let client = try upstream.proxy(options).client()
        client.send("POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
        expect(client.isAtEnd())
        done.wait()
    }

    @Test func `are cut when the client reads nothing`() throws {
        let upstream = try TestServer()
        let table = try ProxyTable(
            [ProxyRoute("/huge=http://127.0.0.1:\(upstream.port)")], options: .patient)
        let server = try TestServer({ $0.connection.progressWindow = 200 }) { path, head, _ in
            path == "/huge" ? table.answer(head) : nil
        }
        let client = try server.client(sending: String(repeating: get("/huge"), count: 4))
        // Others live through windows enough for the first to be cut.
        for _ in 0..<4 {
            let other = try server.client(
                sending: "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
            _ = other.readAll()
        }
        expect(client.readAll().count < 4 * (8 << 20))
    }

    @Test func `come as they are made: an event is there before the next`() throws {
        let go = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
            for number in 0..<3 {
                peer.send("data: \(number)\n\n")
                go.wait()
            }
        }
        let client = try upstream.proxy().client()
        client.send(get("/api", "Connection: close\r\n"))
        for number in 0..<3 {
            expect(client.through("data: \(number)\n\n"))
            go.open()
        }
        expect(client.through("0\r\n\r\n"))
    }
}

/// Something that a test hands to one other thread and leaves alone.
struct Unchecked<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
