import Expectations

@testable import ServeFromCAS

// docs/serving.md, "Options": a line of the access log has the bytes with the head, and the time until the
// answer's last byte.
@Suite("The log of requests that another server answers")
struct ProxyLogTests {
    /// Waits until there are so many lines.
    private func records(_ count: Int, _ server: TestServer) throws -> [AccessRecord] {
        let other = try server.client()
        let end = ContinuousClock.now + .seconds(120)
        while server.logSink.all.filter({ $0.target != "/text" }).count < count {
            try require(ContinuousClock.now < end, "never came: \(count) lines")
            expect(other.status(get("/text")), equals: 200)
        }
        return server.logSink.all.filter { $0.target != "/text" }
    }

    @Test(arguments: ["Content-Length: 5000000\r\n", "Transfer-Encoding: chunked\r\n", ""])
    func `has all bytes of a large answer, and its last byte's time`(_ framing: String) throws {
        let size = 5_000_000
        let go = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\(framing)\r\n")
            let isChunked = framing.hasPrefix("Transfer")
            if isChunked { peer.send(String(size, radix: 16) + "\r\n") }
            peer.send([UInt8](repeating: 7, count: size - 1))
            go.wait()
            peer.send([7])
            if isChunked { peer.send("\r\n0\r\n\r\n") }
        }
        let server = try upstream.proxy()
        let client = try server.client(sending: get("/api", "Connection: close\r\n"))
        let begun = client.receive()
        expect(!begun.isEmpty)
        expect(server.logSink.all.isEmpty, "the answer is not over")
        go.open()
        let count = begun.count + client.readAll().count
        let record = try require(try records(1, server).first)
        expect(record.method == "GET" && record.target == "/api" && record.status == 200)
        expect(record.byteCount == count)
    }

    @Test("has a line for a client that leaves before the answer (499), and none of it twice")
    func left() throws {
        let asked = try Gate()
        let over = try Gate()
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            asked.open()
            // Until the server closes.
            _ = peer.read(1)
            over.open()
        }
        let server = try upstream.proxy()
        do {
            let client = try server.client()
            client.send(get("/api/slow"))
            asked.wait()
        }
        let record = try require(try records(1, server).first)
        expect(record.target == "/api/slow" && record.status == 499 && record.byteCount == 0)
        over.wait()
        try expect(records(1, server).count, equals: 1)
    }

    @Test("has the status that was sent, and the bytes until then, of an answer that is broken off")
    func cut() throws {
        let upstream = try ScriptedUpstream(afterHead: true) { peer in
            peer.send("HTTP/1.1 206 Partial Content\r\nContent-Length: 100\r\n\r\nabc")
        }
        let server = try upstream.proxy()
        let client = try server.client(sending: get("/api"))
        let count = client.readAll().count
        let record = try require(try records(1, server).first)
        expect(record.status, equals: 206)
        expect(record.byteCount == count)
    }

    @Test func `has one line for each of several answers on one connection`() throws {
        let upstream = try ScriptedUpstream.ofPaths()
        let server = try upstream.proxy()
        let client = try server.client()
        for number in 0..<3 {
            expect(client.status(get("/api/\(number)")), equals: 200)
        }
        try expect(records(3, server).map(\.target), equals: ["/api/0", "/api/1", "/api/2"])
    }
}
