import SocketTestSupport
import StorageTestSupport

@testable import ServeFromCAS

@Suite("A connection")
struct ConversationTests {
    @Test
    func `says to each request what the parser says, once, and closes after an error`() throws {
        let server = try TestServer()
        for request in RequestCase.all {
            var rest = try server.talk(request.bytes)
            let first = TestResponse(&rest)
            // The paths of the battery are not there: 404 means that the request was understood.
            let understood = [404, 405]
            if request.status == 200 {
                let isBodyMissing = String(decoding: request.bytes, as: UTF8.self).lowercased()
                    .contains("chunked")
                expect(
                    first.map { understood.contains($0.status) } ?? isBodyMissing,
                    "\(request.name): \(first?.status ?? 0)")
            } else {
                expect(first?.status, equals: request.status, "\(request.name)")
                expect(first?.value("Connection"), equals: "close", "\(request.name)")
                expect(rest.isEmpty, "\(request.name): more than one answer")
            }
        }
    }

    @Test func `serves small objects, large ones and bytes, and stays open`() throws {
        let server = try TestServer()
        let client = try server.client()
        for path in ["/small", "/large", "/text", "/missing", "/small"] {
            client.send(get(path))
            let response = try require(client.response())
            expect(response.status, equals: (path == "/missing" ? 404 : 200))
            if let expected = server.objects[path] { expect(response.has(expected)) }
            expect(response.value("Connection") == nil)
            try expect(HTTPDate(require(response.value("Date")), now: HTTPDate(seconds: 0)) != nil)
        }
    }

    @Test func `answers pipelined requests in order`() throws {
        let server = try TestServer()
        let client = try server.client()
        let paths = ["/large", "/small", "/text", "/large", "/missing", "/small"]
        client.send(paths.map { get($0) }.joined())
        for path in paths {
            let response = try require(client.response())
            if let expected = server.objects[path] { expect(response.has(expected)) }
        }
        client.send(String(repeating: get("/small"), count: 1000))
        for _ in 0..<1000 { expect(client.response()?.has(server.objects["/small"]), equals: true) }
    }

    @Test func `answers alike wherever the bytes are split`() throws {
        let server = try TestServer()
        let request = Array((get("/small") + get("/text")).utf8)
        for cut in 1..<request.count {
            let client = try server.client()
            client.send(Array(request[..<cut]))
            client.send(Array(request[cut...]))
            expect(client.response()?.has(server.objects["/small"]), equals: true)
            expect(client.response()?.body, equals: Array("text".utf8))
        }
        let client = try server.client()
        for byte in request { client.send([byte]) }
        expect(client.response()?.has(server.objects["/small"]), equals: true)
        expect(client.response()?.status, equals: 200)
    }

    @Test(
        "keeps or closes as RFC 9112, section 9.3, says",
        arguments: [
            ("GET /text HTTP/1.1\r\nHost: x\r\n\r\n", nil, false),
            ("GET /text HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "close", true),
            ("GET /text HTTP/1.0\r\n\r\n", "close", true),
            ("GET /text HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "keep-alive", false),
        ] as [(String, String?, Bool)])
    func closing(_ request: String, _ connection: String?, _ closes: Bool) throws {
        let server = try TestServer()
        let client = try server.client(sending: request)
        expect(client.response()?.value("Connection"), equals: connection)
        if closes {
            expect(client.isAtEnd())
        } else {
            expect(client.status(request), equals: 200)
        }
    }

    @Test func `answers HEAD with the fields of GET and no body`() throws {
        let server = try TestServer()
        let client = try server.client(
            sending: "HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n" + get("/text"))
        expect(client.response(toHead: true)?.value("Content-Length"), equals: "1048576")
        expect(client.response()?.body, equals: Array("text".utf8))
    }

    @Test func `answers a client that has closed its sending side`() throws {
        let server = try TestServer()
        var rest = try server.talk(Array((get("/huge") + get("/small")).utf8))
        expect(TestResponse(&rest)?.has(server.objects["/huge"]), equals: true)
        expect(TestResponse(&rest)?.has(server.objects["/small"]), equals: true)
        expect(rest.isEmpty)
        try expect(server.talk(Array("GET / HTTP/1.1\r\nHo".utf8)).isEmpty)
    }

    @Test func `is held over IPv6, too, on the same port`() throws {
        let server = try TestServer {
            $0.addresses = [.loopback4(0), .loopback6(0)]
        }
        guard let client = try TestClient(port6: server.port) else { return }
        client.send(get("/small"))
        expect(client.response()?.has(server.objects["/small"]), equals: true)
        let other = try server.client(sending: get("/small"))
        expect(other.response()?.has(server.objects["/small"]), equals: true)
    }

    @Test func `writes one record for each request`() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/small?q") + get("/large") + "rubbish\r\n")
        _ = client.readAll()
        let records = server.logSink.all
        expect(records.map(\.status), equals: [200, 200, 400])
        expect(records.map(\.target), equals: ["/small?q", "/large", "-"])
        expect(records.first?.method, equals: "GET")
        expect(records.allSatisfy { $0.byteCount > 0 })
        expect(records[1].byteCount > 1 << 20)
    }

    @Test func `writes what was sent of an answer that its client broke off`() throws {
        let server = try TestServer()
        let client = try server.client(sending: get("/huge"))
        let got = client.receive().count
        client.close()
        let end = ContinuousClock.now + .seconds(120)
        while server.logSink.all.isEmpty { try require(ContinuousClock.now < end, "never came") }
        let record = try require(server.logSink.all.first)
        expect(record.status, equals: 200)
        expect(Int64(got)..<8 << 20 ~= record.byteCount, "\(record.byteCount), read \(got)")
    }
}
