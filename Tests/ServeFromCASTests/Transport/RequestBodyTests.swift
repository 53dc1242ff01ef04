import Expectations

@testable import ServeFromCAS

@Suite("A request with a body")
struct RequestBodyTests {
    @Test(arguments: [
        "Content-Length: 5\r\n\r\nhello",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x\r\nllo\r\n0\r\nT: v\r\n\r\n",
    ])
    func `reaches the handler whole, and the next request follows`(_ rest: String) throws {
        let server = try TestServer()
        let request = Array(("POST /echo HTTP/1.1\r\nHost: x\r\n" + rest + get("/text")).utf8)
        for cut in stride(from: 1, to: request.count, by: 3) {
            let client = try server.client()
            client.send(Array(request[..<cut]))
            client.send(Array(request[cut...]))
            expect(client.response()?.body, equals: Array("hello".utf8), "cut at \(cut)")
            expect(client.response()?.body, equals: Array("text".utf8), "cut at \(cut)")
        }
    }

    @Test func `is told to continue when it waits for a 100`() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
        expect(client.response()?.status, equals: 100)
        client.send("hello")
        expect(client.response()?.body, equals: Array("hello".utf8))
    }

    @Test func `is refused over the limit, before it is sent if its length is known`() throws {
        let server = try TestServer()
        let client = try server.client()
        expect(
            client.status("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 100001\r\n\r\n"),
            equals: 413)
        let chunks = try server.client(
            sending: "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<30 { chunks.send("1000\r\n" + String(repeating: "a", count: 4096) + "\r\n") }
        expect(chunks.response()?.status, equals: 413)
        expect(chunks.isAtEnd())
    }

    @Test
    func `is dropped when nobody wants it: the request hidden in it is never answered`() throws {
        let server = try TestServer()
        let hidden = get("/hidden")
        var rest = try server.talk(
            Array(
                (get("/text", "Content-Length: \(hidden.utf8.count)\r\n") + hidden + get("/small"))
                    .utf8))
        expect(TestResponse(&rest)?.body, equals: Array("text".utf8))
        expect(TestResponse(&rest)?.has(server.objects["/small"]), equals: true)
        expect(rest.isEmpty)
    }

    /// To who wants the body, and to who has answered without it.
    @Test(arguments: [("/echo", 400), ("/text", 405)])
    func `that is malformed is answered once`(_ path: String, _ status: Int) throws {
        let server = try TestServer()
        for chunk in ["zz\r\nhello\r\n0\r\n\r\n", "5\r\nhelloo\r\n0\r\n\r\n", "\n"] {
            var rest = try server.talk(
                Array(
                    ("POST \(path) HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + chunk
                        + get("/text")).utf8))
            expect(TestResponse(&rest)?.status, equals: status)
            expect(rest.isEmpty)
        }
    }

    @Test
    func `that nobody wants and that is too large ends the connection, not the answer`() throws {
        let server = try TestServer()
        let client = try server.client()
        client.send(
            "POST /text HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
                + String(repeating: "a", count: 300_000))
        let response = try require(client.response())
        expect(response.status, equals: 405)
        expect(response.value("Connection"), equals: "close")
    }
}
