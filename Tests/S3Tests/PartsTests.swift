import BucketTestSupport

@testable import S3
@testable import Storage

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
    private static let parts = [begun, part, part, part]
    private static let there = Step.answer(200, [("content-length", "25"), ("etag", "\"w-3\"")])

    private func script(
        _ steps: [Step], then last: Step? = nil, stoppedAfter: Int? = nil
    ) throws -> ScriptedBucket {
        try ScriptedBucket(steps, then: last, stoppedAfter: stoppedAfter) {
            $0.wholeByteCountMax = 20
            $0.partByteCount = 10
            $0.partJobCount = 1
        }
    }

    private let content = try? StorageBody(SeededRandom.content(25))

    @Test func `begin, parts, join, look`() throws {
        let script = try script(Self.parts + [Self.joined, Self.there])
        let body = try require(content)
        try expect(script.bucket.put("o", body, .object), equals: .stored(EntityTag("w-3")))
        expect(
            script.targets,
            equals: [
                "POST /updates/app/o?uploads=",
                "PUT /updates/app/o?partNumber=1&uploadId=u%2B1",
                "PUT /updates/app/o?partNumber=2&uploadId=u%2B1",
                "PUT /updates/app/o?partNumber=3&uploadId=u%2B1",
                "POST /updates/app/o?uploadId=u%2B1", "HEAD /updates/app/o",
            ])
        expect(
            script.carrier.requests[1...3].map { $0.body?.range },
            equals: [0..<10, 10..<20, 20..<25])
        expect(Set(script.fields("x-amz-content-sha256")[1...3]).count, equals: 3)
    }

    @Test func `a part is sent again alone`() throws {
        let script = try script([
            Self.begun, Self.part, .answer(500), Self.part, Self.part, Self.joined, Self.there,
        ])
        try expect(script.bucket.put("o", try require(content), .object).isStored)
        expect(script.bucket.figures.sentByteCount, equals: 35 + script.documentByteCount)
    }

    @Test func `what is given up is aborted`() throws {
        let script = try script([
            Self.begun, Self.part, .refusal(403, "AccessDenied"), .answer(204),
        ])
        expectRefusal { try script.bucket.put("o", try require(content), .object) }
        expect(script.targets.last, equals: "DELETE /updates/app/o?uploadId=u%2B1")
    }

    @Test func `a part without an answer leaves the file unknown, and is aborted`() throws {
        let script = try script([Self.begun], then: .answer(500))
        try expect(!script.bucket.put("o", try require(content), .object).isStored)
        expect(script.targets.last, equals: "DELETE /updates/app/o?uploadId=u%2B1")
    }

    @Test func `uploads that were left are found, with their ages, and ended`() throws {
        let document = """
            <?xml version="1.0"?><ListMultipartUploadsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
            <Bucket>updates</Bucket><EncodingType>url</EncodingType><IsTruncated>false</IsTruncated>
            <Upload><Key>app/objects/ab/c%2Bd</Key><UploadId>u+1</UploadId><Initiator><ID>x</ID></Initiator>
            <Initiated>2025-11-24T16:00:00.000Z</Initiated></Upload>
            <Upload><Key>apple/o</Key><UploadId>u2</UploadId><Initiated>2025-11-24T16:00:00.000Z</Initiated></Upload>
            <Upload><Key>app/o</Key><UploadId>u3</UploadId><Initiated>yesterday</Initiated></Upload>
            </ListMultipartUploadsResult>
            """
        let date = ("date", "Mon, 24 Nov 2025 16:00:09 GMT")
        let script = try script([
            .answer(200, [date], document), .answer(204), .answer(404),
            .answer(501), .refusal(403, "AccessDenied"),
        ])
        let open = try require(try script.bucket.openUploads())
        // Other prefixes, and those of which nobody can tell the age, are none of ours.
        expect(open.uploads.map(\.key), equals: ["objects/ab/c+d"])
        let upload = try require(open.uploads.first)
        expect(upload.name == "u+1" && open.answeredAt - upload.begunAt == 9)
        try script.bucket.abort(upload)
        try script.bucket.abort(upload)
        try expect(script.bucket.openUploads() == nil)
        expectRefusal(.accessDenied, saying: "s3:ListBucketMultipartUploads") {
            try script.bucket.openUploads()
        }
        expect(
            script.targets[..<2],
            equals: [
                "GET /updates?encoding-type=url&max-uploads=1000&prefix=app%2F&uploads=",
                "DELETE /updates/app/objects/ab/c%2Bd?uploadId=u%2B1",
            ])
    }

    @Test func `a deletion waits no longer than any other request`() throws {
        let script = try ScriptedBucket(
            [.answer(200, [], "<DeleteResult></DeleteResult>"), .answer(204)]
        ) { $0.stallSeconds = 7 }
        try expect(script.bucket.delete(["a", "b"]).deletedCount, equals: 2)
        try script.bucket.abort(OpenUpload(key: "o", name: "u", begunAt: 0))
        expect(script.carrier.requests.map(\.stallSeconds), equals: [7, 7])
    }

    @Test(arguments: 2...5)
    func `what is interrupted is aborted, by one short request`(_ count: Int) throws {
        let good = (Self.parts + [.answer(503)]).prefix(count)
        let script = try script(Array(good), then: .answer(204), stoppedAfter: count)
        expectRefusal(.interrupted) { try script.bucket.put("o", try require(content), .object) }
        expect(script.carrier.requests.count, equals: count + 1)
        expect(script.targets.last, equals: "DELETE /updates/app/o?uploadId=u%2B1")
        let longest = try require(script.carrier.requests.last?.totalMilliseconds)
        expect(longest <= 10_000)
    }

    @Test func `an abort that is interrupted is tried once more`() throws {
        let script = try script(
            [Self.begun, Self.part, .refusal(403, "AccessDenied"), .answer(503)],
            then: .answer(204), stoppedAfter: 4)
        expectRefusal(.accessDenied) { try script.bucket.put("o", try require(content), .object) }
        expect(script.targets.suffix(2).allSatisfy { $0 == "DELETE /updates/app/o?uploadId=u%2B1" })
        expect(script.carrier.requests.count, equals: 5)
    }

    /// Never answers the first part, and the others once the first has been tried for the last time.
    private final class DeafToOne: BucketCarrier {
        let seen = Mutex<[String]>([])

        func carry(
            _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
            onBytes: (UnsafeRawBufferPointer) -> Bool
        ) -> CarryEnd {
            let isFirst = request.url.contains("partNumber=1&")
            seen.withLock { $0.append("\(request.method) \(isFirst ? "first" : "")") }
            if isFirst { return .failed(CarryFailure(.noAnswer, "deaf")) }
            if request.method == "PUT" {
                while seen.withLock({ $0.count { $0 == "PUT first" } }) < 8 { sched_yield() }
                // Time for the thread of the first to tell the others.
                for _ in 0..<20_000 { sched_yield() }
            }
            _ = onHead(AnswerHead(status: 200, fields: [(name: "etag", value: "p")]))
            let begun =
                "<InitiateMultipartUploadResult><UploadId>u</UploadId>"
                + "</InitiateMultipartUploadResult>"
            if request.method == "POST" { _ = Array(begun.utf8).withUnsafeBytes(onBytes) }
            return .finished
        }
    }

    @Test func `once a part has no answer, no further part is sent`() throws {
        let carrier = DeafToOne()
        var options = BucketOptions()
        options.pause = { _ in }
        (options.wholeByteCountMax, options.partByteCount, options.partJobCount) = (1, 1, 2)
        let bucket = try S3Storage(at: "http://store", carrier, options)
        try expect(!bucket.put("o", StorageBody(SeededRandom.content(40)), .object).isStored)
        let seen = carrier.seen.withLock { $0 }
        expect(seen.last, equals: "DELETE ")
        expect(seen.count { $0 == "PUT " } < 39)
    }

    /// What an upload that is refused leaves, and why.
    private func doubt(_ script: ScriptedBucket) throws -> UnknownWrite? {
        let outcome = try script.bucket.put("o", try require(content), .object)
        guard case .unknown(let reason) = outcome else {
            Issue.record("\(outcome)")
            return nil
        }
        return reason
    }

    @Test(arguments: [0, 1, 4])
    func `a refusal after an answer that decides nothing keeps its code`(_ goodCount: Int) throws {
        let script = try script(
            Self.parts.prefix(goodCount) + [.answer(503), .refusal(403, "QuotaExceeded")],
            then: .answer(404))
        try expect(doubt(script)?.refusal, equals: .outOfSpace)
    }

    @Test func `an end that is no answer of S3 after a lost one leaves the file unknown`() throws {
        let script = try script(
            Self.parts + [.fail(.noAnswer), .answer(405)], then: .answer(404))
        try expect(doubt(script)?.refusal, equals: .bucketAnswer)
    }

    @Test func `joined, and the answer lost: it is there`() throws {
        let script = try script(
            Self.parts + [.fail(.noAnswer), .refusal(404, "NoSuchUpload"), Self.there])
        try expect(script.bucket.put("o", try require(content), .object).isStored)
    }

    @Test(arguments: ["InternalError", "SlowDown"])
    func `an end that begins well and passes badly is sent again`(_ code: String) throws {
        let late = Step.answer(200, [], " \n<Error><Code>\(code)</Code></Error>")
        let good = Self.parts
        let mended = try script(good + [late, Self.joined, Self.there])
        try expect(mended.bucket.put("o", try require(content), .object).isStored)
        expect(mended.waits.count, equals: 1)
        // An earlier try may have joined them all the same.
        let joined = try script(good + [late, .refusal(404, "NoSuchUpload"), Self.there])
        try expect(joined.bucket.put("o", try require(content), .object).isStored)
        let hopeless = try script(good + Array(repeating: late, count: 8), then: .answer(404))
        try expect(doubt(hopeless)?.description.contains("8 tries"), equals: true)
    }

    @Test(arguments: [
        [joined, .answer(404)],
        [joined, .answer(200, [("content-length", "24")])],
        [.answer(200, [], "<Error><Code>InvalidPart</Code></Error>"), .answer(404)],
    ])
    func `what is not there whole afterwards is unknown`(_ steps: [Step]) throws {
        let script = try script(Self.parts + steps)
        try expect(!script.bucket.put("o", try require(content), .object).isStored)
    }

    @Test(arguments: [
        Step.answer(200, [], ""), .answer(200, [], "<a></a>"),
        .answer(200, [], "<InitiateMultipartUploadResult></InitiateMultipartUploadResult>"),
    ])
    func `an upload without a name is refused`(_ step: Step) throws {
        let script = try script([step])
        expectRefusal { try script.bucket.put("o", try require(content), .object) }
    }

    @Test(
        arguments: [
            (64 << 20 + 1, 16 << 20), (16 << 20 * 10_000, 16 << 20),
            (16 << 20 * 10_000 + 1, 17 << 20),
            (5 << 40, 525 << 20),
        ] as [(Int64, Int64)])
    func `there are never more than 10,000 parts`(_ size: Int64, _ part: Int64) {
        let count = S3Storage.partByteCount(of: size, usual: 16 << 20)
        expect(count, equals: part)
        expect((size + count - 1) / count <= 10_000)
    }
}

extension ScriptedBucket {
    var documentByteCount: Int64 {
        carrier.requests.filter { $0.method == "POST" }.reduce(0) { $0 + ($1.body?.byteCount ?? 0) }
    }
}
