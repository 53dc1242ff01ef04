import CurlTransport
import HotPush
import StorageTestSupport

@Suite("A request") struct RequestTests {
    static let bytes = sampleBytes(30_000)

    @Test func `brings the whole file, says who asks, and wants no encoding`() throws {
        let origin = try FaultyOrigin(["/f": Content(Self.bytes, type: "text/x-sample")])
        let result = try fetch(origin.url + "/f?v=1", .local.with { $0.userAgent = "probe/1" })
        expect(result.outcome, equals: .finished)
        expect(result.bytes, equals: Self.bytes)
        expect(result.status, equals: 200)
        expect(result.head?["content-type"], equals: "text/x-sample")
        expect(result.head?["content-length"], equals: "30000")
        expect(result.head?.url, equals: origin.url + "/f?v=1")
        let request = try require(origin.requests.first)
        expect(request.method, equals: "GET")
        expect(request.target, equals: "/f?v=1")
        expect(request["user-agent"], equals: "probe/1")
        expect(request["accept-encoding"], equals: "identity")
        expect(request["range"] == nil)
        expect(request["if-none-match"] == nil)
    }

    @Test func `with an offset brings the rest`() throws {
        let content = Content(Self.bytes)
        let origin = try FaultyOrigin(["/f": content])
        let result = try fetch(origin.url + "/f", .local) {
            $0.offset = 12_345
            $0.ifRange = content.tag
        }
        expect(result.status, equals: 206)
        expect(result.head?["content-range"], equals: "bytes 12345-29999/30000")
        expect(result.bytes, equals: Array(Self.bytes.dropFirst(12_345)))
        expect(origin.requests.first?["range"], equals: "bytes=12345-")
        expect(origin.requests.first?["if-range"], equals: content.tag)
    }

    @Test(
        "with an offset brings what the server does with ranges",
        arguments: [
            (Fault.ignoreRange, 200, nil), (.shiftRange(by: 1), 206, "bytes 10001-29999/30000"),
            (.total("99"), 206, "bytes 10000-29999/99"), (.anonymousRange, 206, nil),
            (.multipart, 206, nil), (.unsatisfiable(total: 30_000), 416, "bytes */30000"),
            (.unsatisfiable(total: nil), 416, nil),
        ] as [(Fault, Int, String?)])
    func oddRanges(_ fault: Fault, _ status: Int, _ range: String?) throws {
        let origin = try FaultyOrigin(["/f": Content(Self.bytes)])
        origin.play([fault])
        let result = try fetch(origin.url + "/f", .local) { $0.offset = 10_000 }
        expect(result.outcome, equals: .finished)
        expect(result.status, equals: status)
        expect(result.head?["content-range"], equals: range)
    }

    @Test func `with a known tag brings no bytes`() throws {
        let content = Content(Self.bytes)
        let origin = try FaultyOrigin(["/f": content])
        let tag = try require(content.tag)
        let result = try fetch(origin.url + "/f", .local) { $0.fields = [("If-None-Match", tag)] }
        expect(result.status, equals: 304)
        expect(result.outcome, equals: .finished)
        expect(result.bytes.isEmpty)
    }

    @Test func `carries fields of its own, empty ones too`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        _ = try fetch(origin.url + "/f", .local) {
            $0.fields = [("X-One", "1"), ("X-Empty", ""), ("Accept", "text/plain")]
        }
        let request = try require(origin.requests.first)
        expect(request["x-one"], equals: "1")
        expect(request["x-empty"], equals: "")
        expect(request["accept"], equals: "text/plain")
    }

    @Test(arguments: [
        ("http://127.0.0.1:1/a b", "", ""), ("not a url at all", "", ""), ("", "", ""),
        ("file:///etc/passwd", "", ""), ("ftp://127.0.0.1/x", "", ""),
        ("gopher://127.0.0.1/x", "", ""), ("ORIGIN/f\r\nX-Evil: 1", "", ""),
        ("ORIGIN/f", "X-Value", "a\r\nX-Evil: 1"), ("ORIGIN/f", "X Name", "a"),
        ("ORIGIN/f", "", "a"),
    ])
    func `that is not one is never sent`(_ url: String, _ name: String, _ value: String) throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        let url = url.replacing("ORIGIN", with: origin.url)
        let result = try fetch(url, .local) { if !value.isEmpty { $0.fields = [(name, value)] } }
        expect(result.failure, equals: .request)
        expect(!result.message.isEmpty)
        expect(!result.message.contains("\r") && !result.message.contains("\n"))
        expect(origin.requests.isEmpty)
    }

    @Test func `shows no password in its failure`() throws {
        let origin = try FaultyOrigin()
        origin.always(.hangUp())
        let url = origin.url.replacing("http://", with: "http://user:secret@") + "/f"
        let result = try fetch(url)
        expect(result.failure, equals: .broken)
        expect(!result.message.contains("secret"))
        expect(result.message.contains("/f"))
    }

    @Test func `goes through a proxy that the options name`() throws {
        let proxy = try FaultyOrigin(["http://nobody.invalid/f": Content("by proxy")])
        let result = try fetch("http://nobody.invalid/f", .local.with { $0.proxy = proxy.url })
        expect(result.bytes, equals: Array("by proxy".utf8))
        expect(proxy.requests.first?.target, equals: "http://nobody.invalid/f")
    }

    @Test func `forgets interim responses`() throws {
        let origin = try FaultyOrigin(["/f": Content("x")])
        origin.play([.interim])
        let result = try fetch(origin.url + "/f")
        expect(result.status, equals: 200)
        expect(result.head?["x-interim"] == nil)
        expect(result.bytes, equals: Array("x".utf8))
    }

    @Test func `options that are none are an error before anything is sent`() {
        for change in [{ $0.parallelCount = 0 }, { $0.userAgent = "a\r\nX-Evil: 1" }]
            as [(inout TransportOptions) -> Void]
        {
            #expect(throws: StoreError.self) { try CurlTransport(.local.with(change)) }
        }
    }
}
