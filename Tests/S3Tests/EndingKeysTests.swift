import BucketTestSupport

/// Keys that a service beside the machine gives, for a time.
@Suite struct EndingKeysTests {
    typealias Step = ScriptedCarrier.Step
    private static let now: Int64 = 1_764_000_000

    /// Keys that end after so many minutes.
    private static func keys(_ id: String, minutes: Int64 = 60) -> Step {
        // 2025-11-24 has 16:00 at `now`.
        let hour = 16 + minutes / 60
        let minute = minutes % 60
        let time = "2025-11-24T\(hour):\(minute < 10 ? "0" : "")\(minute):00Z"
        return .answer(
            200, [],
            "{\"Code\":\"Success\",\"AccessKeyId\":\"\(id)\",\"SecretAccessKey\":\"s3cr3t\","
                + "\"Token\":\"t0ken\",\"Expiration\":\"\(time)\"}")
    }

    private func source(
        _ variables: [String: String], _ carrier: ScriptedCarrier
    ) throws -> any KeySource {
        try BucketSettings { variables[$0] }.keySource(carrier)
    }

    private static let container = ["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "/v2/credentials/x"]

    @Test func `a container's endpoint is asked, past all proxies`() throws {
        let carrier = ScriptedCarrier([Self.keys("A")])
        let keys = try source(Self.container, carrier).keys(at: Self.now)
        expect(
            keys,
            equals: AccessKeys(
                id: "A", secret: "s3cr3t", sessionToken: "t0ken", expiresAt: Self.now + 3_600))
        expect(carrier.requests.map(\.url), equals: ["http://169.254.170.2/v2/credentials/x"])
        expect(carrier.requests.allSatisfy { !$0.usesProxy })
    }

    @Test func `a container's token is sent, and its file read each time`() throws {
        let home = TemporaryDirectory()
        let file = try home.file(Array("first\n".utf8), "token")
        let carrier = ScriptedCarrier([Self.keys("A"), Self.keys("B", minutes: 90)])
        let source = try source(
            [
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:81/keys?x",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": home.appending("token"),
            ], carrier)
        _ = try source.keys(at: Self.now)
        try POSIXFileSystem().truncate(file.raw, to: 0)
        _ = try home.file(Array("second".utf8), "token")
        _ = try source.keys(at: Self.now + 3_500)
        let tokens = carrier.requests.map { request in
            request.fields.first { $0.name == "authorization" }?.value
        }
        expect(tokens, equals: ["first", "second"])
    }

    @Test(arguments: [
        "http://example.org/keys", "http://127.0.0.1.example.org/keys", "ftp://127.0.0.1/",
        "http://localhost@example.org/", "/keys", "http://localhost:x@example.org/",
        "http://localhost:80@example.org/", "http://[::1]@example.org/",
        "http://[::1].example.org/", "http://127.0.0.1:80.example.org/",
        "http://localhost#@example.org/",
    ])
    func `keys are not fetched over a network without TLS`(_ url: String) {
        #expect(throws: StoreError.self) {
            try source(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url], ScriptedCarrier([]))
        }
    }

    @Test(arguments: [
        "http://localhost/keys", "http://LOCALHOST:81?x", "http://[::1]:81/keys", "http://[::1]/",
        "http://[fd00:ec2::23]/v1/credentials", "http://169.254.170.23/v1/credentials",
        "https://example.org:x@example.org/",
    ])
    func `keys are fetched on this machine, or over TLS`(_ url: String) throws {
        let carrier = ScriptedCarrier([Self.keys("A")])
        let source = try source(["AWS_CONTAINER_CREDENTIALS_FULL_URI": url], carrier)
        try expect(source.keys(at: Self.now)?.id, equals: "A")
        expect(carrier.requests.map(\.url), equals: [url])
    }

    @Test func `an instance gives a token, a role, then keys`() throws {
        let carrier = ScriptedCarrier([
            .answer(200, [], "tok=="), .answer(200, [], "publisher\n"), Self.keys("I"),
        ])
        try expect(source([:], carrier).keys(at: Self.now)?.id, equals: "I")
        let base = "http://169.254.169.254/latest/"
        expect(
            carrier.requests.map { "\($0.method) \($0.url)" },
            equals: [
                "PUT \(base)api/token", "GET \(base)meta-data/iam/security-credentials/",
                "GET \(base)meta-data/iam/security-credentials/publisher",
            ])
        expect(carrier.requests.allSatisfy { $0.totalMilliseconds == 1_000 && !$0.usesProxy })
        expect(
            carrier.requests.dropFirst().allSatisfy {
                $0.fields.contains { $0 == ("x-aws-ec2-metadata-token", "tok==") }
            })
    }

    @Test func `a machine that is no instance has no keys`() throws {
        expectRefusal(.credentials, saying: "AWS_ACCESS_KEY_ID") {
            try source([:], ScriptedCarrier([.fail(.notSent)])).keys(at: Self.now)
        }
    }

    @Test func `keys are asked for again five minutes before they end`() throws {
        let carrier = ScriptedCarrier([Self.keys("A"), Self.keys("B", minutes: 120)])
        let source = try source(Self.container, carrier)
        try expect(source.keys(at: Self.now)?.id, equals: "A")
        try expect(source.keys(at: Self.now + 3_299)?.id, equals: "A")
        try expect(source.keys(at: Self.now + 3_300)?.id, equals: "B")
        expect(carrier.requests.count, equals: 2)
    }

    @Test(arguments: [-62_135_596_800, 0, 253_402_300_799] as [Int64])
    func `keys without an end hold at any time`(_ now: Int64) throws {
        let carrier = ScriptedCarrier([
            .answer(200, [], "{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s3cr3t\"}")
        ])
        let source = try source(Self.container, carrier)
        for time in [Self.now, now] { try expect(source.keys(at: time)?.id, equals: "A") }
    }

    @Test func `while they hold, keys that cannot be renewed are used`() throws {
        let carrier = ScriptedCarrier([Self.keys("A")], then: .answer(500))
        let source = try source(Self.container, carrier)
        _ = try source.keys(at: Self.now)
        try expect(source.keys(at: Self.now + 3_400)?.id, equals: "A")
        #expect(throws: StoreError.self) { try source.keys(at: Self.now + 3_600) }
    }

    @Test func `keys that the store says have ended are asked for once`() throws {
        let carrier = ScriptedCarrier([Self.keys("A"), Self.keys("B")])
        let source = try source(Self.container, carrier)
        let first = try require(try source.keys(at: Self.now))
        try expect(source.renew(first, at: Self.now))
        // Another thread that had the same keys.
        try expect(source.renew(first, at: Self.now))
        expect(carrier.requests.count, equals: 2)
    }

    @Test(arguments: [
        Step.answer(200, [], "{\"AccessKeyId\":\"A\"}"), .answer(200, [], "s3cr3t"),
        .answer(404, [], "s3cr3t"),
        .answer(200, [], "{\"AccessKeyId\":\"\",\"SecretAccessKey\":1}"),
        .answer(200, [], String(repeating: "s3cr3t", count: 20_000)),
    ])
    func `an answer without keys is refused, and not shown`(_ step: Step) throws {
        let source = try source(Self.container, ScriptedCarrier([], then: step))
        let error = expectRefusal(.credentials) { try source.keys(at: Self.now) }
        expect(error?.message.contains("s3cr3t"), equals: false)
    }
}
