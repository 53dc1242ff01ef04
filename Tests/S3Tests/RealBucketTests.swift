import BucketTestSupport
import CurlTransport

/// What only a real server can show: run where the environment names one.
@Suite(.enabled(if: RealStore.given != nil)) struct RealBucketTests {
    private func store() throws -> RealStore { try require(RealStore.given) }

    @Test(arguments: [
        StoredFields.object, .document, .pointer, .logEntry,
    ])
    func `a file is served with the fields it was stored with`(_ fields: StoredFields) throws {
        let bucket = try store().bucket()
        try expect(bucket.put("o", body("{}"), fields).isStored)
        let answer = try store().ask("GET", bucket.location.bucket, key: bucket.location.key("o"))
        func field(_ name: String) -> String? { answer.fields.first { $0.name == name }?.value }
        expect(field("content-type"), equals: fields.contentType)
        expect(field("cache-control"), equals: fields.cacheControl)
        expect(field("content-encoding") == nil)
    }

    @Test func `a missing bucket is said to be missing`() throws {
        let location = try BucketLocation(parsing: "s3://no-such-bucket-here/app")
        let bucket = try store().bucket(location, keys: store().keys)
        for attempt in [
            { _ = try bucket.put("o", body("a"), .object) }, { _ = try bucket.keys() },
            { _ = try bucket.text("o") }, { _ = try bucket.delete(["o"]) },
        ] {
            expectRefusal(.noBucket) { try attempt() }
        }
    }

    @Test(arguments: [
        AccessKeys(id: "NOSUCHKEY00000000001", secret: "castestsecret"),
        AccessKeys(id: "CASTESTKEY0000000001", secret: "another secret"),
    ])
    func `keys that the server does not know are refused, and stay secret`(
        _ keys: AccessKeys
    ) throws {
        let bucket = try store().bucket(keys: keys)
        for attempt in [
            { _ = try bucket.put("o", body("a"), .object) }, { _ = try bucket.keys() },
            { _ = try bucket.text("o") }, { _ = try bucket.head("o") },
            { _ = try bucket.putIfAbsent("o", body("a"), .logEntry) },
        ] {
            let error = try require(#expect(throws: StoreError.self) { try attempt() })
            expect(error.code, equals: .accessDenied)
            expect(!error.message.contains(keys.secret) && !error.message.contains(keys.id))
            expect(error.message.contains(keys.shortID))
        }
    }

    @Test func `without keys a private bucket is refused, with the right that is missing`() throws {
        let bucket = try store().bucket()
        try bucket.write("o", "a")
        let anonymous = try store().bucket(bucket.location, keys: nil)
        expectRefusal(.accessDenied, saying: "s3:GetObject on arn:aws:s3:::", "anonymous") {
            try anonymous.text("o")
        }
        expectRefusal(saying: "s3:ListBucket on arn:aws:s3:::") { try anonymous.keys() }
    }

    @Test func `whoever may only get cannot tell a missing key from a forbidden one`() throws {
        let bucket = try store().bucket()
        try bucket.write("o", "a")
        let name = bucket.location.bucket
        let start = bucket.location.prefix
        let policy =
            "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",\"Principal\":"
            + "{\"AWS\":[\"*\"]},\"Action\":[\"s3:GetObject\"],\"Resource\":"
            + "[\"arn:aws:s3:::\(name)/\(start)/*\"]}]}"
        let answer = try store().ask(
            "PUT", name, key: nil, query: [("policy", "")], body: Array(policy.utf8))
        expect([200, 204].contains(answer.status))
        let anonymous = try store().bucket(bucket.location, keys: nil)
        try expect(anonymous.text("o"), equals: "a")
        expectRefusal(.accessDenied, saying: "s3:ListBucket on arn:aws:s3:::\(name):") {
            try anonymous.text("missing")
        }
        try expect(anonymous.head("o") != nil)
        expectRefusal(.accessDenied) { try anonymous.write("o", "b") }
        // The rights may reach a second gateway late; a deletion is refused key by key.
        let deletion = try? anonymous.delete(["o"])
        expect(deletion == nil || deletion?.refused.map(\.key) == ["o"])
        try expect(bucket.text("o"), equals: "a")
    }

    @Test func `a signed GET can be carried by others, with a range besides`() throws {
        let bucket = try store().bucket()
        try bucket.write("a+b c", "0123456789")
        let get = try bucket.signedGet("a+b c")
        let (url, fields) = (get.url, get.fields)
        var request = CarriedRequest(
            method: "GET", url: url, fields: fields + [(name: "Range", value: "bytes=3-4")])
        request.usesProxy = false
        var (status, text) = (0, "")
        let end = try CurlBucketCarrier().carry(request) {
            status = $0.status
            return true
        } onBytes: {
            text += String(decoding: $0, as: UTF8.self)
            return true
        }
        expect(end == .finished && status == 206 && text == "34")
    }

    @Test(arguments: [64 << 10, 5 << 20, 11 << 20 + 17])
    func `a large file goes in parts and is whole`(_ byteCount: Int) throws {
        var options = BucketOptions()
        options.wholeByteCountMax = 1 << 20
        options.partByteCount = 5 << 20
        let bucket = try store().bucket(options)
        let content = SeededRandom.content(byteCount)
        let body = try StorageBody(content)
        guard case .stored(let tag?) = try bucket.put("big", body, .object) else {
            throw Unexpected("not stored")
        }
        try expect(bucket.head("big")?.tag, equals: tag)
        try expect(bucket.bytes("big", ReadRequest(byteCountMax: 64 << 20)).bytes, equals: content)
        let answer = try store().ask(
            "HEAD", bucket.location.bucket, key: bucket.location.key("big"))
        expect(
            answer.fields.first { $0.name == "cache-control" }?.value,
            equals: StoredFields.object.cacheControl)
    }

    /// The bucket that its own options ask.
    private final class Shared: Sendable {
        let bucket = Mutex<S3Storage?>(nil)
    }

    @Test func `an upload that is interrupted leaves no parts`() throws {
        let begun = Shared()
        var options = BucketOptions()
        (options.wholeByteCountMax, options.partByteCount) = (1 << 20, 5 << 20)
        options.partJobCount = 1
        // While the second part is on its way.
        options.isStopped = { (begun.bucket.withLock { $0 }?.figures.requestCount ?? 0) >= 3 }
        let bucket = try store().bucket(options)
        begun.bucket.withLock { $0 = bucket }
        let large = try StorageBody(SeededRandom.content(11 << 20))
        expectRefusal(.interrupted) { try bucket.put("big", large, .object) }
        // The beginning, two parts, the abort.
        expect(bucket.figures.requestCount, equals: 4)
        let answer = try store().ask(
            "GET", bucket.location.bucket, key: nil,
            query: [("prefix", bucket.location.key("")), ("uploads", "")])
        expect(answer.status, equals: 200)
        expect(!String(decoding: answer.body, as: UTF8.self).contains("<UploadId>"))
    }

    @Test func `an upload that was left is seen, and ended`() throws {
        let bucket = try store().bucket()
        let begun = try store().ask(
            "POST", bucket.location.bucket, key: bucket.location.key("objects/ab/cd"),
            query: [("uploads", "")])
        expect(begun.status, equals: 200)
        let open = try require(try bucket.openUploads())
        expect(open.uploads.map(\.key), equals: ["objects/ab/cd"])
        let upload = try require(open.uploads.first)
        expect(abs(open.answeredAt - upload.begunAt) < 60)
        try bucket.abort(upload)
        try bucket.abort(upload)
        try expect(bucket.openUploads()?.uploads, equals: [])
    }

    @Test func `a large file whose bytes have changed is not begun`() throws {
        var options = BucketOptions()
        options.wholeByteCountMax = 1 << 20
        let bucket = try store().bucket(options)
        let wrong = StorageBody(SeededRandom.content(2 << 20), address: try body("other").address)
        expectRefusal(.damagedObject) { try bucket.put("big", wrong, .object) }
        expect(bucket.figures.requestCount, equals: 0)
    }

    @Test func `a clock that is 20 minutes wrong is set right, and said once`() throws {
        for offset: Int64 in [-1_200, 1_200] {
            let notes = Notices()
            var options = BucketOptions()
            options.now = { secondsNow() + offset }
            options.note = { notes.add($0) }
            let bucket = try store().bucket(options)
            try bucket.write("o", "a")
            try expect(bucket.text("o"), equals: "a")
            try expect(bucket.head("o") != nil)
            expect(notes.all.count, equals: 1)
            expect(
                notes.all.first?.contains("120") == true || notes.all.first?.contains("119") == true
            )
        }
    }

    @Test func `a clock is set right by an answer without a body, too`() throws {
        var options = BucketOptions()
        options.now = { secondsNow() - 2_000 }
        try expect(store().bucket(options).head("o") == nil)
    }

    @Test func `a connection is used again`() throws {
        let bucket = try store().bucket()
        for round in 0..<50 { try bucket.write("o", "\(round)") }
        expect(bucket.figures.requestCount, equals: 50)
        expect(bucket.figures.retryCount, equals: 0)
    }
}
