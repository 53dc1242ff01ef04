import Platform
import StorageTestSupport
import Testing

@testable import Buckets

/// Files that go in parts, and what may come between.
@Suite struct PartsTests {
    typealias Step = ScriptedCarrier.Step
    private static let begun = Step.answer(
        200, [],
        "<InitiateMultipartUploadResult><UploadId>u+1</UploadId>"
            + "</InitiateMultipartUploadResult>")
    private static let part = Step.answer(200, [("etag", "\"p\"")])
    private static let joined = Step.answer(
        200, [],
        " \n<?xml version=\"1.0\"?><CompleteMultipartUploadResult><ETag/>"
            + "</CompleteMultipartUploadResult>")
    private static let there = Step.answer(200, [("content-length", "25"), ("etag", "\"w-3\"")])

    private func script(_ steps: [Step], then last: Step? = nil) throws -> ScriptedBucket {
        try ScriptedBucket(steps, then: last) {
            $0.wholeByteCountMax = 20
            $0.partByteCount = 10
            $0.partJobCount = 1
        }
    }

    private let content = try? BucketBody(SeededRandom.content(25))

    @Test func `begin, parts, join, look`() throws {
        let script = try script(
            [Self.begun, Self.part, Self.part, Self.part, Self.joined, Self.there])
        let body = try #require(content)
        #expect(try script.bucket.put("o", body, .object) == .stored(EntityTag("w-3")))
        #expect(
            script.targets == [
                "POST /updates/app/o?uploads=",
                "PUT /updates/app/o?partNumber=1&uploadId=u%2B1",
                "PUT /updates/app/o?partNumber=2&uploadId=u%2B1",
                "PUT /updates/app/o?partNumber=3&uploadId=u%2B1",
                "POST /updates/app/o?uploadId=u%2B1", "HEAD /updates/app/o",
            ])
        #expect(
            script.carrier.requests[1...3].map { $0.body?.range } == [0..<10, 10..<20, 20..<25])
        #expect(Set(script.fields("x-amz-content-sha256")[1...3]).count == 3)
    }

    @Test func `a part is sent again alone`() throws {
        let script = try script([
            Self.begun, Self.part, .answer(500), Self.part, Self.part, Self.joined, Self.there,
        ])
        #expect(try script.bucket.put("o", try #require(content), .object).isStored)
        #expect(script.bucket.figures.sentByteCount == 35 + script.documentByteCount)
    }

    @Test func `what is given up is aborted`() throws {
        let script = try script([
            Self.begun, Self.part, .refusal(403, "AccessDenied"), .answer(204),
        ])
        #expect(throws: StoreError.self) {
            try script.bucket.put("o", try #require(content), .object)
        }
        #expect(script.targets.last == "DELETE /updates/app/o?uploadId=u%2B1")
    }

    @Test func `a part without an answer leaves the file unknown, and is aborted`() throws {
        let script = try script([Self.begun], then: .answer(500))
        #expect(try !script.bucket.put("o", try #require(content), .object).isStored)
        #expect(script.targets.last == "DELETE /updates/app/o?uploadId=u%2B1")
    }

    @Test func `joined, and the answer lost: it is there`() throws {
        let script = try script([
            Self.begun, Self.part, Self.part, Self.part, .fail(.noAnswer),
            .refusal(404, "NoSuchUpload"), Self.there,
        ])
        #expect(try script.bucket.put("o", try #require(content), .object).isStored)
    }

    @Test(arguments: [
        [joined, .answer(404)],
        [joined, .answer(200, [("content-length", "24")])],
        [.answer(200, [], "<Error><Code>InternalError</Code></Error>"), .answer(404)],
    ])
    func `what is not there whole afterwards is unknown`(_ steps: [Step]) throws {
        let script = try script([Self.begun, Self.part, Self.part, Self.part] + steps)
        #expect(try !script.bucket.put("o", try #require(content), .object).isStored)
    }

    @Test(arguments: [
        Step.answer(200, [], ""), .answer(200, [], "<a></a>"),
        .answer(200, [], "<InitiateMultipartUploadResult></InitiateMultipartUploadResult>"),
    ])
    func `an upload without a name is refused`(_ step: Step) throws {
        let script = try script([step])
        #expect(throws: StoreError.self) {
            try script.bucket.put("o", try #require(content), .object)
        }
    }

    @Test(
        arguments: [
            (64 << 20 + 1, 16 << 20), (16 << 20 * 10_000, 16 << 20),
            (16 << 20 * 10_000 + 1, 17 << 20),
            (5 << 40, 525 << 20),
        ] as [(Int64, Int64)])
    func `there are never more than 10,000 parts`(_ size: Int64, _ part: Int64) {
        let count = S3Bucket.partByteCount(of: size, usual: 16 << 20)
        #expect(count == part)
        #expect((size + count - 1) / count <= 10_000)
    }
}

extension ScriptedBucket {
    /// The bytes of the documents that were sent.
    var documentByteCount: Int64 {
        carrier.requests.filter { $0.method == "POST" }.reduce(0) { $0 + ($1.body?.byteCount ?? 0) }
    }
}
