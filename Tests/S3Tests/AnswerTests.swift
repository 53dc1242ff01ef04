import BucketTestSupport

@testable import S3
@testable import Storage

/// Answers of strangers: reading that breaks off, documents that are none.
@Suite struct AnswerTests {
    typealias Step = ScriptedCarrier.Step
    private static let head = [
        ("etag", "\"t\""), ("last-modified", "Mon, 24 Nov 2025 16:00:00 GMT"),
    ]

    private static func whole(_ length: Int) -> [(String, String)] {
        head + [("content-length", "\(length)")]
    }

    private static func part(_ from: Int, _ total: Int, _ tag: String = "\"t\"")
        -> [(String, String)]
    {
        [("etag", tag), ("content-range", "bytes \(from)-\(total - 1)/\(total)")]
    }

    @Test func `a read that breaks off continues where it was`() throws {
        let script = try ScriptedBucket([
            .cut(200, Self.whole(10), "0123"), .cut(206, Self.part(4, 10), "45"),
            .answer(206, Self.part(6, 10), "6789"),
        ])
        try expect(script.bucket.text("o"), equals: "0123456789")
        expect(script.fields("range"), equals: [nil, "bytes=4-9", "bytes=6-9"])
    }

    @Test func `bytes that came do not count as failures`() throws {
        // As much as a second must bring.
        let piece = String(repeating: "a", count: 137)
        var steps = [Step.cut(200, Self.whole(2740), piece)]
        for index in 1..<19 { steps.append(.cut(206, Self.part(index * 137, 2740), piece)) }
        steps.append(.answer(206, Self.part(19 * 137, 2740), piece))
        let script = try ScriptedBucket(steps)
        try expect(script.bucket.text("o"), equals: String(repeating: "a", count: 2740))
    }

    @Test func `bytes that come below the least rate do not keep a read going`() throws {
        var steps = [Step.cut(200, Self.whole(20), "a")]
        for index in 1..<20 { steps.append(.cut(206, Self.part(index, 20), "a")) }
        let script = try ScriptedBucket(steps, delay: 20) { $0.retries.failureCountMax = 3 }
        expectRefusal(.network) { try script.bucket.text("o") }
        expect(script.carrier.requests.count, equals: 3)
    }

    @Test func `a store without ranges is read from the beginning, no byte twice`() throws {
        let script = try ScriptedBucket([
            .cut(200, Self.whole(10), "0123"), .answer(200, Self.whole(10), "0123456789"),
        ])
        try expect(script.bucket.text("o"), equals: "0123456789")
        let range = try ScriptedBucket([.answer(200, Self.whole(10), "0123456789")])
        let read = try range.bucket.bytes("o", ReadRequest(range: 3..<5, byteCountMax: 2))
        expect(read.bytes, equals: Array("34".utf8))
    }

    @Test(
        arguments: [
            [.cut(200, whole(10), "0123"), .answer(206, part(4, 10, "\"u\""), "xxxxxx")],
            [.answer(200, whole(10), "0123")],
        ] as [[Step]])
    func `a file that is replaced while it is read is not mixed, and a short one is refused`(
        _ steps: [Step]
    ) throws {
        let script = try ScriptedBucket(steps)
        #expect(throws: StoreError.self) { try script.bucket.text("o") }
    }

    @Test(arguments: [
        Step.answer(206, [("etag", "t")], "45"),
        .answer(206, [("etag", "t"), ("content-range", "bytes 9-9/10")], "9"),
        .answer(206, [("etag", "t"), ("content-range", "bytes x")], "9"),
        .answer(206, [("etag", "t"), ("content-range", "bytes 12-13/10")], "9"),
        .answer(203, [], "x"), .answer(204),
    ])
    func `another part than the one that was asked for is refused`(_ step: Step) throws {
        let script = try ScriptedBucket([step])
        expectRefusal { try script.bucket.bytes("o", ReadRequest(range: 4..<6, byteCountMax: 9)) }
    }

    @Test func `an answer without a length is read up to its limit`() throws {
        let script = try ScriptedBucket([.answer(200, Self.head, "0123456789")])
        expectRefusal(.tooLarge) { try script.bucket.bytes("o", ReadRequest(byteCountMax: 9)) }
        let fits = try ScriptedBucket([.answer(200, Self.head, "0123456789")])
        let read = try fits.bucket.bytes("o", ReadRequest(byteCountMax: 10))
        guard case .found(let file) = read.outcome else { return }
        expect(file.byteCount, equals: 10)
    }

    // MARK: listings

    private static func listing(_ inside: String) -> Step {
        .answer(
            200, [],
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<ListBucketResult "
                + "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(inside)</ListBucketResult>")
    }

    private static func goingOn(_ token: String) -> String {
        "<IsTruncated>true</IsTruncated><NextContinuationToken>\(token)</NextContinuationToken>"
    }

    private static func file(_ key: String, size: String = "1") -> String {
        "<Contents><Key>\(key)</Key><LastModified>2025-11-24T16:00:00.000Z</LastModified>"
            + "<ETag>&quot;t&quot;</ETag><Size>\(size)</Size><Owner><ID>x</ID></Owner>"
            + "<StorageClass>STANDARD</StorageClass></Contents>"
    }

    @Test func `a listing is read whole`() throws {
        let script = try ScriptedBucket([
            Self.listing(
                "<Name>updates</Name><!-- a comment --><EncodingType>url</EncodingType><Empty/>"
                    + Self.file("app/a%2Bb+c", size: "7") + Self.goingOn("a&amp;&#x41;&#66;"))
        ])
        let page = try script.bucket.list(ListRequest(prefix: "a", startAfter: "A", countMax: 5))
        expect(
            page.files,
            equals: [
                ListedFile(
                    key: "a+b c", byteCount: 7, tag: EntityTag("t"), modifiedAt: 1_764_000_000)
            ])
        expect(page.next, equals: "a&AB")
        expect(
            script.targets,
            equals: [
                "GET /updates?encoding-type=url&list-type=2&max-keys=5&prefix=app%2Fa"
                    + "&start-after=app%2FA"
            ])
    }

    @Test(arguments: [
        listing(file("elsewhere/a")), listing(file("app/a", size: "-1")),
        listing(file("app/a", size: "x")), listing("<Contents><Key>app/a</Key></Contents>"),
        listing("<IsTruncated>true</IsTruncated>"), listing("<Contents>"),
        listing(String(repeating: "<a>", count: 40)), listing("<a></b>"), listing("<a b></a>"),
        listing("<NextContinuationToken>&unknown;</NextContinuationToken>"),
        listing("<![CDATA[x]]>"),
        listing(file("app/%zz") + "<EncodingType>url</EncodingType>"),
        listing((0..<1_001).map { file("app/\($0)") }.joined()), .answer(200, [], ""),
        .answer(200, [], "<html></html>"), .answer(200, [], "{}"), .answer(204),
        .answer(200, [], "<!DOCTYPE a [<!ENTITY b \"c\">]><ListBucketResult></ListBucketResult>"),
        .answer(200, [], "<ListBucketResult>"), .answer(404),
    ])
    func `what is no listing is refused`(_ step: Step) throws {
        let script = try ScriptedBucket([step])
        expectRefusal(.bucketAnswer) { try script.bucket.list(ListRequest(prefix: "")) }
    }

    @Test func `a listing larger than any is cut off`() throws {
        let script = try ScriptedBucket([Self.listing(String(repeating: " ", count: 9 << 20))])
        expectRefusal(.bucketAnswer) { try script.bucket.list(ListRequest(prefix: "")) }
    }

    @Test(arguments: [
        listing(file("app/a") + goingOn("x")), listing(goingOn("x")),
    ])
    func `pages that do not lead on end the listing`(_ step: Step) throws {
        let script = try ScriptedBucket([], then: step)
        expectRefusal(.bucketAnswer) { try script.bucket.keys() }
        expect(script.carrier.requests.count, equals: 2)
    }

    private static func empty(_ token: String) -> Step { listing(goingOn(token)) }

    @Test func `pages without keys end the listing, whatever their tokens`() throws {
        let script = try ScriptedBucket((0..<2_000).map { Self.empty($0 % 2 == 0 ? "A" : "B") })
        expectRefusal(.bucketAnswer) { try script.bucket.keys() }
        expect(script.carrier.requests.count, equals: 1_000)
    }

    @Test func `some pages without keys are passed over`() throws {
        let empty = (0..<900).map { Self.empty("\($0)") }
        let first = Self.listing(Self.file("app/a") + Self.goingOn("x"))
        let script = try ScriptedBucket(
            empty + [first] + empty + [Self.listing(Self.file("app/b"))])
        try expect(script.bucket.keys(), equals: ["a", "b"])
    }

    @Test func `keys that are not UTF-8 are passed over`() throws {
        let keys = ["app/a", "app/b%C0", "app/b%C1", "app/b%FF/x", "app/c"]
        let script = try ScriptedBucket([
            Self.listing("<EncodingType>url</EncodingType>" + keys.map { Self.file($0) }.joined())
        ])
        try expect(script.bucket.keys(), equals: ["a", "c"])
    }

    @Test(
        arguments: [
            ("1970-01-01T00:00:00Z", 0), ("2025-11-24T16:00:00.000Z", 1_764_000_000),
            ("2024-02-29T23:59:59Z", 1_709_251_199), ("2000-03-01T00:00:00.1Z", 951_868_800),
            ("2025-13-01T00:00:00Z", nil), ("2025-11-24", nil), ("2025-11-24T16:00:00+01:00", nil),
            ("", nil), ("xxxx-11-24T16:00:00Z", nil),
        ] as [(String, Int64?)])
    func `times of listings are read`(_ text: String, _ seconds: Int64?) {
        expect(AnswerTime.element(text), equals: seconds)
    }

    // MARK: deletions

    @Test func `what was not deleted is named`() throws {
        let script = try ScriptedBucket([
            .answer(
                200, [],
                "<DeleteResult><Error><Key>app/a&lt;b</Key><Code>AccessDenied</Code></Error>"
                    + "<Error><Key>app/gone</Key><Code>NoSuchKey</Code></Error></DeleteResult>")
        ])
        let outcome = try script.bucket.delete(["a<b", "gone", "c"])
        expect(outcome.deletedCount, equals: 2)
        expect(outcome.refused.map(\.key), equals: ["a<b"])
        expect(script.targets, equals: ["POST /updates?delete="])
        expect(script.fields("content-md5")[0]?.isEmpty, equals: false)
    }

    @Test(arguments: [Step.refusal(501, "NotImplemented"), .answer(405)])
    func `where there is no deletion of many, it goes one by one from then on`(
        _ step: Step
    ) throws {
        let script = try ScriptedBucket([step], then: .answer(204))
        try expect(script.bucket.delete(["a", "b"]).deletedCount, equals: 2)
        try expect(script.bucket.delete(["c"]).deletedCount, equals: 1)
        expect(
            script.targets,
            equals: [
                "POST /updates?delete=", "DELETE /updates/app/a", "DELETE /updates/app/b",
                "DELETE /updates/app/c",
            ])
    }

    @Test func `a deletion without an answer is unknown, and no error`() throws {
        let script = try ScriptedBucket([], then: .fail(.noAnswer))
        try expect(script.bucket.delete(["a", "b"]).unknownCount, equals: 2)
    }
}
