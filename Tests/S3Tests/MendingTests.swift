import BucketTestSupport

@testable import S3
@testable import Storage

/// What is learned from a refusal: the clock, the region, keys that ended; and how much a store bears.
@Suite struct MendingTests {
    typealias Step = ScriptedCarrier.Step
    private static let ok = Step.answer(
        200, [("etag", "t"), ("content-length", "1"), ("date", "Mon, 24 Nov 2025 16:00:00 GMT")])

    @Test func `a clock that is too far off is set by the server's, and said once`() throws {
        let late = Step.refusal(
            403, "RequestTimeTooSkewed", [("date", "Mon, 24 Nov 2025 17:00:00 GMT")])
        let script = try ScriptedBucket([late, Self.ok, Self.ok]) { $0.now = { 1_764_000_000 } }
        _ = try script.bucket.put("a", body("a"), .object)
        _ = try script.bucket.put("b", body("b"), .object)
        expect(
            script.fields("x-amz-date"),
            equals: ["20251124T160000Z", "20251124T170000Z", "20251124T170000Z"])
        expect(script.notes.all.count, equals: 1)
        expect(script.notes.all[0].contains("3600 s behind"))
        expect(script.waits.isEmpty)
    }

    @Test func `a clock that is refused over and over is not the reason`() throws {
        let late = Step.refusal(
            403, "RequestTimeTooSkewed", [("date", "Mon, 24 Nov 2025 17:00:00 GMT")])
        let script = try ScriptedBucket([], then: late)
        expectRefusal(.accessDenied, saying: "): set the clock") {
            try script.bucket.head("a")
        }
        expect(script.carrier.requests.count, equals: 3)
    }

    @Test(arguments: [
        ("Mon, 01 Jan 0001 00:00:00 GMT", "s ahead of that of"),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "s behind that of"),
        // Without TLS, somebody else may have said so, and could use the signature then.
        ("Tue, 25 Nov 2025 17:00:00 GMT", "the clock here is 90000 s behind that of"),
    ])
    func `a server that is far off is not followed, and told`(_ date: String, _ words: String)
        throws
    {
        let script = try ScriptedBucket(
            [.refusal(403, "RequestTimeTooSkewed", [("date", date)]), Self.ok])
        expectRefusal(.accessDenied, saying: words) { try script.bucket.head("a") }
        _ = try script.bucket.head("a")
        expect(script.fields("x-amz-date").allSatisfy { $0?.hasPrefix("20251124T16") == true })
        expect(script.notes.all.isEmpty)
    }

    @Test(arguments: [
        Step.refusal(400, "AuthorizationHeaderMalformed", [], "<Region>eu-central-1</Region>"),
        .refusal(301, "PermanentRedirect", [("x-amz-bucket-region", "eu-central-1")]),
        .answer(307, [("x-amz-bucket-region", "eu-central-1")]),
        .answer(400, [("x-amz-bucket-region", "eu-central-1")]),
    ])
    func `a bucket elsewhere is asked there, from then on`(_ step: Step) throws {
        let script = try ScriptedBucket([step, Self.ok, Self.ok], endpoint: nil)
        _ = try script.bucket.head("a")
        _ = try script.bucket.head("b")
        expect(
            script.carrier.requests.map(\.url),
            equals: [
                "https://updates.s3.us-east-1.amazonaws.com/app/a",
                "https://updates.s3.eu-central-1.amazonaws.com/app/a",
                "https://updates.s3.eu-central-1.amazonaws.com/app/b",
            ])
        let scopes = script.fields("authorization").map { $0?.contains("/eu-central-1/s3/") }
        expect(scopes, equals: [false, true, true])
    }

    @Test func `an endpoint that was named stays, and its region is learned`() throws {
        let step = Step.refusal(400, "AuthorizationHeaderMalformed", [], "<Region>garage</Region>")
        let script = try ScriptedBucket([step, Self.ok])
        _ = try script.bucket.head("a")
        expect(
            script.carrier.requests.map(\.url),
            equals: ["http://store:9000/updates/app/a", "http://store:9000/updates/app/a"])
        expect(script.fields("authorization")[1]?.contains("/garage/s3/"), equals: true)
    }

    @Test(arguments: ["", "../../x", "a b", "x\"y"])
    func `a region that can be none is not followed`(_ region: String) throws {
        let script = try ScriptedBucket(
            [.answer(301, [("x-amz-bucket-region", region)])], endpoint: nil)
        #expect(throws: StoreError.self) { try script.bucket.head("a") }
        expect(script.carrier.requests.count, equals: 1)
    }

    @Test func `a bucket that is sent in circles is given up`() throws {
        let script = try ScriptedBucket(
            [
                .answer(301, [("x-amz-bucket-region", "eu-west-1")]),
                .answer(301, [("x-amz-bucket-region", "us-east-1")]),
            ], endpoint: nil)
        #expect(throws: StoreError.self) { try script.bucket.head("a") }
        expect(script.carrier.requests.count, equals: 2)
    }

    @Test(arguments: [
        Step.refusal(
            301, "PermanentRedirect", [("x-amz-bucket-region", "eu-west-1")],
            "<Endpoint>updates.s3-eu-west-1.example</Endpoint>"),
        .refusal(
            307, "TemporaryRedirect",
            [
                ("x-amz-bucket-region", "eu-west-1"),
                ("location", "https://updates.s3-eu-west-1.example/app/a"),
            ]),
    ])
    func `a bucket that is elsewhere for good is said to be there, and nothing is sent on`(
        _ step: Step
    ) throws {
        let script = try ScriptedBucket([], then: step)
        let error = expectRefusal(.bucketAnswer) { try script.bucket.head("a") }
        for word in ["updates.s3-eu-west-1.example", "eu-west-1", "--endpoint", "--region"] {
            expect(error?.message.contains(word), equals: true, "\(error?.message ?? "")")
        }
        expect(script.carrier.requests.allSatisfy { $0.url.hasPrefix("http://store:9000/") })
    }

    @Test func `a certificate that is not trusted is not tried again, and AWS_CA_BUNDLE is named`()
        throws
    {
        let script = try ScriptedBucket([], then: .fail(.untrusted))
        expectRefusal(.network, saying: "AWS_CA_BUNDLE") { try script.bucket.head("a") }
        expect(script.carrier.requests.count, equals: 1)
    }

    @Test func `keys that have ended are renewed once`() throws {
        let keys = ["key0", "key1", "key2"].map { AccessKeys(id: $0, secret: "s") }
        let ended = Step.refusal(400, "ExpiredToken")
        let mended = try ScriptedBucket([ended, Self.ok], keys: TestKeys(keys))
        _ = try mended.bucket.head("a")
        expect(mended.fields("authorization").map { $0?.contains("key1/") }, equals: [false, true])
        let hopeless = try ScriptedBucket([], then: ended, keys: TestKeys(keys))
        expectRefusal(.accessDenied) { try hopeless.bucket.head("a") }
        expect(hopeless.carrier.requests.count, equals: 2)
    }

    // MARK: how much a store bears

    @Test func `half as many are sent after SlowDown, one more after a hundred`() {
        var limit = AdaptiveLimit(16)
        let numbers = (0..<16).map { _ in limit.begin() }
        // All that were under way are refused: one refusal.
        for number in numbers { limit.refused(number) }
        expect(limit.count, equals: 8)
        for _ in 0..<99 { limit.succeeded() }
        expect(limit.count, equals: 8)
        limit.succeeded()
        expect(limit.count, equals: 9)
        limit.refused(limit.begin())
        limit.refused(limit.begin())
        limit.refused(limit.begin())
        limit.refused(limit.begin())
        expect(limit.count, equals: 1)
        for _ in 0..<10_000 { limit.succeeded() }
        expect(limit.count, equals: 16)
    }

    @Test func `a bucket heeds SlowDown`() throws {
        let script = try ScriptedBucket([.refusal(503, "SlowDown"), Self.ok])
        _ = try script.bucket.head("a")
        expect(script.bucket.runner.limit, equals: 8)
    }
}
