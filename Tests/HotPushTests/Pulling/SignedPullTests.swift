import OriginTestSupport

/// `pull s3://…`: docs/buckets.md, *Pulling with keys*.
@Suite("A signed pull of a bucket") struct SignedPullTests {
    private static let secret = "a secret that nobody sees"
    private static let token = "a t0ken that nobody sees"
    private static let keys = AccessKeys(
        id: "AKIAIOSFODNN7EXAMPLE", secret: secret, sessionToken: token)

    private struct Fixture {
        let world: BucketWorld
        let server: SignedServer
        let device: TemporaryStore
        let origin = "s3://updates/app"

        init() throws {
            world = try BucketWorld(offering: "1", "2")
            server = SignedServer(world.store)
            device = try TemporaryStore()
        }

        func pull(
            keys: any KeySource = FixedKeys(SignedPullTests.keys),
            _ change: (inout PullOptions) -> Void = { _ in }
        ) throws -> Pull {
            let options = PullingFixture.options.with {
                ($0.eventLog, $0.destination) = (EventLog(device.versions), .kept)
            }
            return Pull(
                into: device.versions, over: SignedTransport(server, to: try .updates(keys)),
                options.with(change))
        }

        /// All that a device keeps of what happened.
        func traces() throws -> String {
            var text = ""
            for name in Damage.names(device.path) where !name.hasPrefix("objects") {
                if let bytes = try? Damage.contents("\(device.path)/\(name)") {
                    text += String(decoding: bytes, as: UTF8.self)
                }
            }
            return text
        }
    }

    @Test
    func `brings the newest release, and each request is signed and goes nowhere else`() throws {
        let fixture = try Fixture()
        let report = try require(try fixture.pull().run(fixture.origin))
        expect(report.version == "2" && report.figures.files == 3)
        for request in fixture.server.requests {
            expect(request.confinedFields.contains { $0.name == "authorization" })
            expect(!request.fields.contains { $0.name == "authorization" })
            expect(!request.followsRedirects)
        }
        // Nothing new: the pointer is known.
        let count = fixture.server.requests.count
        try expect(fixture.pull().run(fixture.origin)?.isUnchanged, equals: true)
        expect(fixture.server.requests.count, equals: count + 1)
    }

    @Test func `takes a release by its name, also by a pointer's own URL`() throws {
        let fixture = try Fixture()
        let pull = try fixture.pull { $0.release = "1" }
        try expect(pull.run(fixture.origin + "/channels/stable.json")?.version, equals: "1")
    }

    @Test func `continues where a connection was cut`() throws {
        let fixture = try Fixture()
        fixture.server.cutAfter = 5
        try expect(fixture.pull().run(fixture.origin)?.version, equals: "2")
        expect(fixture.server.requests.contains { $0.offset == 5 })
    }

    /// What a refusal tells is made use of, once.
    private func mends(
        _ refusal: SignedServer.Refusal, keys: any KeySource = FixedKeys(keys),
        cutAfter: Int? = nil, until isMended: @escaping (SignedServer, TransferRequest) -> Bool
    ) throws {
        let fixture = try Fixture()
        let server = fixture.server
        server.cutAfter = cutAfter
        server.refuse = { [unowned server] request, _ in
            isMended(server, request) ? nil : refusal
        }
        try expect(fixture.pull(keys: keys).run(fixture.origin)?.version, equals: "2")
    }

    @Test(arguments: [301, 307, 400])
    func `asks again where the bucket is`(_ status: Int) throws {
        let refusal = SignedServer.Refusal(
            status: status, code: "PermanentRedirect",
            fields: [
                ("x-amz-bucket-region", "eu-north-1"), ("location", "http://elsewhere/updates"),
            ])
        try mends(refusal) { server, request in
            server.field("authorization", request)?.contains("/eu-north-1/s3/") == true
        }
    }

    @Test func `signs by the server's clock`() throws {
        let refusal = SignedServer.Refusal(
            status: 403, code: "RequestTimeTooSkewed",
            fields: [("date", "Mon, 24 Nov 2025 20:00:00 GMT")])
        try mends(refusal) { server, request in
            server.field("x-amz-date", request)?.hasPrefix("20251124T2000") == true
        }
    }

    @Test(
        "renews keys that have ended, also if an answer that says so broke off",
        arguments: [nil, 5])
    func renews(cutAfter: Int?) throws {
        let next = AccessKeys(id: "AKIAI44QH8DHBEXAMPLE", secret: "another", sessionToken: "new")
        try mends(
            SignedServer.Refusal(status: 400, code: "ExpiredToken"),
            keys: TestKeys([Self.keys, next]), cutAfter: cutAfter
        ) { server, request in
            server.field("x-amz-security-token", request) == "new"
        }
    }

    @Test(
        "that is refused says what is wrong, and no secret is seen or kept",
        arguments: [
            (403, "AccessDenied", .accessDenied, "s3:GetObject on arn:aws:s3:::updates/*"),
            (403, "InvalidAccessKeyId", .accessDenied, "check the access key"),
            (403, "SignatureDoesNotMatch", .accessDenied, "check the access key"),
            (400, "ExpiredToken", .accessDenied, "check the access key"),
            (403, "RequestTimeTooSkewed", .accessDenied, "RequestTimeTooSkewed"),
            (404, "NoSuchBucket", .noBucket, "has no bucket updates"),
        ] as [(Int, String, StoreError.Code, String)])
    func refused(_ status: Int, _ code: String, _ expected: StoreError.Code, _ words: String) throws
    {
        let fixture = try Fixture()
        fixture.server.refuse = { _, _ in SignedServer.Refusal(status: status, code: code) }
        let error = expectRefusal(expected, saying: words) {
            try fixture.pull().run(fixture.origin)
        }
        expect(fixture.server.requests.count <= 3)
        let all = "\(error?.message ?? "")\(try fixture.traces())"
        expect(all.contains("s3://updates/app"))
        for hidden in [Self.secret, Self.token, Self.keys.id] { expect(!all.contains(hidden)) }
    }

    @Test func `keeps no secret when it succeeds`() throws {
        let fixture = try Fixture()
        _ = try fixture.pull().run(fixture.origin)
        let all = try fixture.traces()
        expect(all.contains("s3://updates/app"))
        for hidden in [Self.secret, Self.token, Self.keys.id] { expect(!all.contains(hidden)) }
    }

    @Test func `says which right is missing if only objects are refused`() throws {
        let fixture = try Fixture()
        fixture.server.refuse = { _, key in
            key.hasPrefix("objects/")
                ? SignedServer.Refusal(status: 403, code: "AccessDenied") : nil
        }
        let pull = try fixture.pull()
        #expect(throws: StoreError.self) { try pull.run(fixture.origin) }
        expect(pull.refusal?.code, equals: .accessDenied)
        expect(pull.refusal?.message.contains("GET of app/objects/"), equals: true)
    }

    @Test func `repairs a store that has lost objects`() throws {
        let fixture = try Fixture()
        _ = try fixture.pull().run(fixture.origin)
        let objects = Damage.names(fixture.device.path).filter {
            $0.hasPrefix("objects/") && $0.split(separator: "/").count == 3
        }
        let lost = try require(objects.first)
        Damage.remove("\(fixture.device.path)/\(lost)")
        let source = try OriginRepair(fixture.pull().basis).source(
            fixture.origin, at: OriginReference(parsing: fixture.origin).location)
        let report = try fixture.device.versions.repair(from: source) { _ in true }
        expect(report.findings.allSatisfy(\.isRepaired) && !report.findings.isEmpty)
    }

    @Test func `needs a transport that signs`() throws {
        let fixture = try Fixture()
        let pull = Pull(into: fixture.device.versions, over: fixture.server)
        expectRefusal(.badOrigin) { try pull.run(fixture.origin) }
        expect(fixture.server.requests.isEmpty)
    }

    @Test
    func `names the origin with its endpoint, and never what somebody wrote before an @`() throws {
        let named = try OriginReference(
            parsing: "s3://updates/app/channels/beta.json?endpoint=http%3A%2F%2Fstore:9000")
        expect(named.location.description, equals: "s3://updates/app?endpoint=http://store:9000")
        expect(named.channel?.description, equals: "beta")
        let bare = try OriginReference(parsing: "s3://updates/channels/beta.json")
        expect(bare.location.description == "s3://updates/" && bare.channel != nil)
        let error = #expect(throws: StoreError.self) {
            try OriginReference(parsing: "s3://AKIAEXAMPLE:very-secret@updates/app")
        }
        expect(error?.message.contains("secret"), equals: false)
    }
}
