import CurlTransport
import HotPush
import StorageTestSupport

// docs/serving.md, "Origins that require authentication".
@Suite("What an origin is told of who asks") struct CredentialSendingTests {
    let directory = TemporaryDirectory()

    private static let basic = "Basic a2lvc2s6czNjcmV0"  // kiosk:s3cret

    private func netrc(_ text: String) throws -> OriginCredentials.Kind {
        let file = directory.appending("netrc")
        try Data(text.utf8).write(to: URL(filePath: file))
        return .netrc(file)
    }

    private func kinds() throws -> [(kind: OriginCredentials.Kind, value: String)] {
        [
            (.token("t0ken"), "Bearer t0ken"),
            (.login(user: "kiosk", password: "s3cret"), Self.basic),
            (try netrc("machine 127.0.0.1 login kiosk password s3cret\n"), Self.basic),
        ]
    }

    private func options(_ kind: OriginCredentials.Kind, _ origin: String) -> TransportOptions {
        .local.with { $0.credentials = OriginCredentials(kind, for: origin) }
    }

    @Test("is sent with each request to it, beside the request's own fields, and to nobody else")
    func sent() throws {
        for (kind, value) in try kinds() {
            let other = try FaultyOrigin(["/f": Content("there")])
            let origin = try FaultyOrigin(["/app/f": Content("here"), "/f": Content("above")])
            let transport = try CurlTransport(options(kind, origin.url + "/app"))
            for (url, isOwn) in [
                (origin.url + "/app/f", true), (other.url + "/f", false), (origin.url + "/f", true),
                (other.url + "/f", false),
            ] {
                let client = CollectingClient([TransferRequest(7, url) { $0.offset = 1 }])
                try transport.run(client)
                let server = isOwn ? origin : other
                let request = try require(server.requests.last)
                expect(request["authorization"], equals: isOwn ? value : nil, "\(url)")
                expect(request["range"], equals: "bytes=1-")
            }
        }
    }

    @Test func `goes along to the same origin, and never to another, wherever that leads`() throws {
        for (kind, value) in try kinds() {
            let other = try FaultyOrigin(["/b": Content("there")])
            let origin = try FaultyOrigin(["/b": Content("here")])
            origin.always(.redirect(to: "/b"), on: "/a")
            origin.always(.redirect(to: other.url + "/b"), on: "/away")
            origin.always(.redirect(to: other.url + "/back"), on: "/round")
            other.always(.redirect(to: origin.url + "/b"), on: "/back")
            let transport = try CurlTransport(options(kind, origin.url))
            for path in ["/a", "/away", "/round", "/a", "/away"] {
                let client = CollectingClient([TransferRequest(7, origin.url + path) { _ in }])
                try transport.run(client)
                expect(client.results[7]?.status, equals: 200, "\(path)")
            }
            expect(origin.requests.allSatisfy { $0["authorization"] == value })
            expect(other.requests.count == 3)
            expect(other.requests.allSatisfy { $0["authorization"] == nil })
            // Whoever is asked first and leads here is no reason to tell this one anything.
            other.always(.redirect(to: origin.url + "/b"), on: "/lead")
            _ = try fetch(other.url + "/lead", options(kind, origin.url))
            expect(origin.requests.last?["authorization"] == nil)
        }
    }

    @Test func `is what the URL says, if that names a user`() throws {
        for (kind, _) in try kinds() {
            let origin = try FaultyOrigin(["/f": Content("here")])
            let url = "http://me:pw@127.0.0.1:\(origin.port)/f"
            _ = try fetch(url, options(kind, url))
            expect(origin.requests.last?["authorization"], equals: "Basic bWU6cHc=")
        }
    }

    @Test func `is nothing, if a file names other hosts only, or is not there`() throws {
        let origin = try FaultyOrigin(["/f": Content("here")])
        for kind in [
            try netrc("machine example.org login kiosk password s3cret\n"),
            .netrc(directory.appending("none")),
        ] {
            try expect(fetch(origin.url + "/f", options(kind, origin.url)).status, equals: 200)
            expect(origin.requests.last?["authorization"] == nil)
        }
    }

    @Test func `is in no text that is made of it, and has no line end`() throws {
        for (kind, _) in try kinds().prefix(2) {
            let credentials = OriginCredentials(kind, for: "https://example.org")
            var dumped = ""
            dump(credentials, to: &dumped)
            dump(TransportOptions().with { $0.credentials = credentials }, to: &dumped)
            for text in ["\(credentials)", String(reflecting: credentials), dumped] {
                expect(!text.contains("t0ken") && !text.contains("s3cret"), "\(text)")
            }
        }
        #expect(throws: StoreError.self) {
            try CurlTransport(options(.token("a\r\nX-Evil: 1"), "http://127.0.0.1"))
        }
    }
}
