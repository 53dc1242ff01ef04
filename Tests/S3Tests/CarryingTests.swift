import BucketTestSupport
import CurlTransport

/// The carrier over libcurl: what is sent, and what each end of a connection means.
@Suite struct CarryingTests {
    private static let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nETag: \"t\"\r\n\r\nok"
    private static let none = "HTTP/1.1 204 No Content\r\n\r\n"

    private struct Result {
        var end: CarryEnd
        var head: AnswerHead?
        var body: String
        var sent: [String] = []
    }

    /// Carries one request to a server that gives one answer.
    private func carry(
        _ answer: String?, _ method: String = "GET", _ path: String = "/b/k",
        takesHead: Bool = true, takesBody: Bool = true,
        _ change: (inout CarriedRequest) -> Void = { _ in }
    ) throws -> Result {
        let server = try OneAnswerServer([answer])
        defer { server.stop() }
        var request = request(server, method, path)
        change(&request)
        var result = try carry(request, takesHead: takesHead, takesBody: takesBody)
        result.sent = server.requests
        return result
    }

    private func carry(
        _ request: CarriedRequest, by carrier: CurlBucketCarrier? = nil,
        takesHead: Bool = true, takesBody: Bool = true
    ) throws -> Result {
        let carrier = try carrier ?? CurlBucketCarrier()
        var result = Result(end: .refused, head: nil, body: "")
        result.end = carrier.carry(request) {
            result.head = $0
            return takesHead
        } onBytes: {
            result.body += String(decoding: $0, as: UTF8.self)
            return takesBody
        }
        return result
    }

    private func request(
        _ server: OneAnswerServer, _ method: String = "GET", _ path: String = "/b/k"
    ) -> CarriedRequest {
        var request = CarriedRequest(
            method: method, url: "http://127.0.0.1:\(server.port)\(path)",
            fields: [(name: "x-amz-date", value: "d"), (name: "authorization", value: "a")])
        request.usesProxy = false
        return request
    }

    @Test func `an answer comes with its fields in lower case, and its body`() throws {
        let result = try carry(Self.ok)
        expect(result.end, equals: .finished)
        expect(result.head?.status == 200 && result.head?["etag"] == "\"t\"")
        expect(result.body, equals: "ok")
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "PUT", "POST"])
    func `the request is the one that was signed`(_ method: String) throws {
        let path = "/b/a%2Bb/../%C3%BC//x?delete=&a=%2F"
        let text = try require(carry(Self.none, method, path).sent.first)
        expect(text.hasPrefix("\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:"))
        expect(text.contains("\r\nx-amz-date: d\r\n") && text.contains("\r\nauthorization: a\r\n"))
        expect(text.contains("\r\nAccept-Encoding: identity\r\n"))
        for name in ["expect:", "transfer-encoding:", "content-type:", "range:"] {
            expect(!text.lowercased().contains("\r\n\(name)"))
        }
        expect(
            text.contains("\r\nContent-Length: 0\r\n"), equals: ["PUT", "POST"].contains(method))
    }

    @Test(arguments: ["PUT", "POST"])
    func `a body is sent whole, or the part of it that was asked for`(_ method: String) throws {
        let server = try OneAnswerServer([Self.none])
        defer { server.stop() }
        let directory = TemporaryDirectory()
        let content = Array(String(repeating: "0123456789", count: 300_000).utf8)
        let file = try directory.file(content)
        let whole = StorageBody(file: file.raw, byteCount: 3_000_000, address: .zero)
        let carrier = try CurlBucketCarrier()
        for range: Range<Int64> in [0..<3_000_000, 1_000_003..<2_000_007, 5..<5] {
            var request = request(server, method)
            request.body = CarriedBody(whole, range)
            try expect(carry(request, by: carrier).end, equals: .finished)
            let text = try require(server.requests.last)
            expect(text.contains("\r\nContent-Length: \(range.count)\r\n"))
            let sent = text.split(separator: "\r\n\r\n", maxSplits: 1).dropFirst().first ?? ""
            expect(sent.utf8.elementsEqual(content[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
    }

    @Test func `one handle carries requests of every kind, one after the other`() throws {
        let server = try OneAnswerServer(Array(repeating: Self.none, count: 8))
        defer { server.stop() }
        let carrier = try CurlBucketCarrier()
        let methods = ["PUT", "HEAD", "GET", "POST", "DELETE", "GET", "PUT", "HEAD"]
        for method in methods {
            var request = request(server, method)
            if ["PUT", "POST"].contains(method) { request.body = CarriedBody(try body(method)) }
            try expect(carry(request, by: carrier).end, equals: .finished)
        }
        expect(server.requests.map { String($0.prefix { $0 != " " }) }, equals: methods)
        expect(server.requests[0].hasSuffix("\r\n\r\nPUT"))
        expect(server.requests[2].hasSuffix("\r\n\r\n"))
    }

    @Test func `nobody there: nothing was sent`() throws {
        let server = try OneAnswerServer([])
        server.stop()
        try expect(carry(request(server, "PUT")).end.failure, equals: .notSent)
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\nContent-Le", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
    ])
    func `a connection that ends too early is no answer`(_ text: String) throws {
        try expect(carry(text).end.failure, equals: .noAnswer)
    }

    @Test(arguments: ["hello\r\n\r\n", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 2x0 OK\r\n\r\n"])
    func `what is not HTTP is malformed`(_ text: String) throws {
        try expect(carry(text).end.failure, equals: .malformed)
    }

    @Test func `a server that keeps silent is given up`() throws {
        try expect(carry(nil, "PUT") { $0.totalMilliseconds = 200 }.end.failure, equals: .noAnswer)
    }

    @Test func `twenty days are not too long`() throws {
        try expect(
            carry(Self.ok) { $0.totalMilliseconds = 1_728_000_000 }.end, equals: .finished)
    }

    @Test func `the caller ends a request at its head or at its body`() throws {
        let atHead = try carry(Self.ok, takesHead: false)
        expect(atHead.end == .refused && atHead.body.isEmpty)
        try expect(carry(Self.ok, takesBody: false).end, equals: .refused)
    }

    @Test func `a request that is stopped ends`() throws {
        try expect(carry(nil) { $0.isStopped = { true } }.end.failure, equals: .stopped)
    }

    @Test func `a file that has become shorter ends its request`() throws {
        let directory = TemporaryDirectory()
        let file = try directory.file(Array("short".utf8))
        let body = StorageBody(file: file.raw, byteCount: 500, address: .zero)
        try expect(
            carry(Self.none, "PUT") { $0.body = CarriedBody(body) }.end.failure, equals: .body)
    }

    @Test(arguments: ["a\r\nb: c", "a\0"])
    func `a field that holds a line end is not sent`(_ value: String) throws {
        let result = try carry(Self.none) { $0.fields.append((name: "x", value: value)) }
        expect(result.end.failure == .useless && result.sent.isEmpty)
    }

    @Test func `a redirect is an answer, and is not followed`() throws {
        let result = try carry(
            "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\n"
                + "Content-Length: 0\r\n\r\n", "PUT")
        expect(result.end == .finished && result.head?.status == 307)
    }
}
