import Expectations
import HotPush

@testable import CurlTransport

@Suite("A redirect") struct RedirectTests {
    @Test(arguments: [301, 302, 303, 307, 308])
    func `is followed, and the head is that of the last response`(_ status: Int) throws {
        let origin = try FaultyOrigin(["/b": Content("there")])
        origin.always(.redirect(to: "b?x=1", status: status), on: "/a")
        let result = try fetch(origin.url + "/a")
        expect(result.bytes, equals: Array("there".utf8))
        expect(result.status, equals: 200)
        expect(result.head?["location"] == nil)
        expect(result.head?.url, equals: origin.url + "/b?x=1")
        expect(origin.requests.map(\.target), equals: ["/a", "/b?x=1"])
        expect(origin.connectionCount, equals: 1, "the connection is of use for the next request")
    }

    @Test func `that is refused shows no value of a query, of either address`() throws {
        let origin = try FaultyOrigin()
        origin.always(.redirect(to: "ftp://h/b?X-Amz-Signature=s3cret", status: 302), on: "/a")
        let message = try fetch(origin.url + "/a?token=s3cret").message
        expect(message.contains("/a?token=*"), "\(message)")
        expect(message.contains("ftp://h/b?X-Amz-Signature=*"), "\(message)")
        expect(!message.contains("s3cret"), "\(message)")
    }

    @Test func `keeps the range and the fields of the request`() throws {
        let content = Content("0123456789")
        let origin = try FaultyOrigin(["/b": content])
        origin.always(.redirect(to: "/b"), on: "/a")
        let result = try fetch(origin.url + "/a", .local) {
            $0.offset = 4
            $0.ifRange = content.tag
            $0.fields = [("Authorization", "Bearer x")]
        }
        expect(result.bytes, equals: Array("456789".utf8))
        expect(origin.requests.map { $0["range"] }, equals: ["bytes=4-", "bytes=4-"])
        expect(origin.requests.last?["authorization"], equals: "Bearer x")
    }

    @Test func `to another origin does not carry who asks`() throws {
        let other = try FaultyOrigin(["/b": Content("there")])
        let origin = try FaultyOrigin()
        origin.always(.redirect(to: other.url + "/b"), on: "/a")
        let result = try fetch(origin.url + "/a", .local) {
            $0.fields = [("Authorization", "Bearer x"), ("Cookie", "c=1"), ("X-Kept", "1")]
            $0.confinedFields = [("X-Source-Key", "of this origin alone")]
        }
        expect(result.bytes, equals: Array("there".utf8))
        let request = try require(other.requests.first)
        expect(request["authorization"] == nil)
        expect(request["cookie"] == nil)
        expect(request["x-kept"], equals: "1")
        expect(request["x-source-key"] == nil)
        expect(origin.requests.first?["x-source-key"], equals: "of this origin alone")
        expect(origin.requests.first?["authorization"], equals: "Bearer x")
    }

    @Test func `is followed as often as the options allow, and no further`() throws {
        let origin = try FaultyOrigin(["/3": Content("end")])
        for step in 0..<3 { origin.always(.redirect(to: "/\(step + 1)"), on: "/\(step)") }
        let allowed = try fetch(origin.url + "/0", .local.with { $0.redirectCountMax = 3 })
        expect(allowed.bytes, equals: Array("end".utf8))
        origin.forgetRequests()
        let refused = try fetch(origin.url + "/0", .local.with { $0.redirectCountMax = 2 })
        expect(refused.failure, equals: .redirect)
        expect(refused.message.contains("more than 2 times"))
        expect(origin.requests.map(\.path), equals: ["/0", "/1", "/2"])
    }

    @Test func `in a circle ends when the circle is closed`() throws {
        let origin = try FaultyOrigin()
        origin.always(.redirect(to: "/b"), on: "/a")
        origin.always(.redirect(to: "/a"), on: "/b")
        let result = try fetch(origin.url + "/a")
        expect(result.failure, equals: .redirect)
        expect(result.message.contains("circle"))
        expect(origin.requests.map(\.path), equals: ["/a", "/b"])
        expect(result.head == nil)
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://127.0.0.1/x", "gopher://127.0.0.1/x", "data:text/plain,x",
        "javascript:alert(1)", "http://", "http://[::1",
    ])
    func `to another scheme is not followed`(_ target: String) throws {
        let origin = try FaultyOrigin()
        origin.always(.redirect(to: target), on: "/a")
        let result = try fetch(origin.url + "/a")
        expect(result.failure, equals: .redirect)
        expect(result.head == nil)
    }

    @Test func `never leads from https to http; the way back is open`() throws {
        let policy = RedirectPolicy(countMax: 8)
        #expect(throws: TransferFailure.self) {
            try policy.next("http://h/b", after: ["https://h/a"])
        }
        try expect(policy.next("https://h/b", after: ["http://h/a"]).text, equals: "https://h/b")
        try expect(policy.next("//h/b", after: ["https://h/a"]).text, equals: "https://h/b")
        try expect(policy.next("HTTPS://H/b", after: ["https://h/a"]).scheme, equals: "https")
    }

    @Test func `without a Location is an answer like others`() throws {
        let origin = try FaultyOrigin()
        origin.always(.status(302), on: "/a")
        try expect(fetch(origin.url + "/a").status, equals: 302)
    }

    @Test func `whose body is long costs no more than its connection`() throws {
        let origin = try FaultyOrigin(["/b": Content("there")])
        let filler = String(repeating: "x", count: 1_000_000)
        origin.play(
            [
                .raw(
                    "HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 1000000\r\n\r\n"
                        + filler)
            ], on: "/a")
        let result = try fetch(origin.url + "/a")
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Array("there".utf8))
    }
}
