package import Platform
package import Storage
import Synchronization

extension S3Storage {
    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        if condition == .none, body.byteCount > options.wholeByteCountMax {
            return try putParts(key, body, fields)
        }
        let condition = condition.field
        let end = try runner.run(make: {
            var call = S3Call("PUT", location.key(key), action: "s3:PutObject")
            call.fields = fields.fields
            if let condition { call.fields.append(condition) }
            call.isConditional = condition != nil
            call.send(body)
            return call
        })
        let answer: S3Answer
        switch end {
        case .undecided(let reason): return .unknown(reason)
        case .answer(let known): answer = known
        }
        switch answer.status {
        case 200, 201, 204: return .stored(EntityTag(answer.head["etag"] ?? ""))
        case 412: return .conditionFailed
        // If-Match on a missing key.
        case 404 where condition?.name == "if-match": return .conditionFailed
        case 409: return .conflict
        case 501,
            400 where condition != nil:
            guard answer.isAfterUndecided else { return .unsupported }
            return .unknown(
                UnknownWrite(
                    "\(runner.endpoint) answered \(answer.status) to another try of PUT of \(key)",
                    refusal: .unsuitableStore))
        default: return .unknown(try doubt(answer, "PUT of \(key)"))
        }
    }

    /// The outcome of a write after an unknown answer: doubt, if an earlier try may have been applied.
    /// - Throws: `.bucketAnswer` if this was the only try.
    func doubt(_ answer: S3Answer, _ what: String) throws(StoreError) -> UnknownWrite {
        let error = strange(answer, what)
        guard answer.isAfterUndecided else { throw error }
        return UnknownWrite(error.message, refusal: error.code)
    }
}

extension WriteCondition {
    fileprivate var field: (name: String, value: String)? {
        switch self {
        case .none: nil
        case .absent: ("if-none-match", "*")
        case .matching(let tag, let spelling): ("if-match", tag.spelled(spelling))
        }
    }
}

extension StoredFields {
    var fields: [(name: String, value: String)] {
        [("content-type", contentType), ("cache-control", cacheControl)]
    }
}

// Abandoned uploads in parts, which a killed process could not end.
extension S3Storage {
    package func openUploads() throws(StoreError) -> OpenUploads? {
        let end = try runner.run(make: {
            var call = S3Call("GET", nil, action: "s3:ListBucketMultipartUploads")
            call.query = [
                ("encoding-type", "url"), ("max-uploads", "1000"), ("prefix", location.key("")),
                ("uploads", ""),
            ]
            call.answerByteCountMax = Self.listByteCountMax
            return call
        })
        let answer = try answer(end)
        switch answer.status {
        case 200: break
        case 400, 404, 405, 501: return nil
        default: throw strange(answer, "a listing of uploads")
        }
        do throws(XMLScanner.Malformed) {
            let start = location.key("")
            let uploads = try PartsAnswer.openUploads(answer.body)
                .filter { $0.key.utf8.starts(with: start.utf8) }
            return OpenUploads(
                uploads.map {
                    OpenUpload(key: relative($0.key), name: $0.name, begunAt: $0.begunAt)
                }, answeredAt: answer.date ?? runner.now)
        } catch { throw strange(answer, "a listing of uploads") }
    }

    package func abort(_ upload: OpenUpload) throws(StoreError) {
        let end = try runner.run(make: { ending(upload.key, upload.name) })
        let answer = try answer(end)
        guard [200, 204, 404].contains(answer.status) else {
            throw strange(answer, "the end of an upload of \(upload.key)")
        }
    }

    func ending(_ key: String, _ upload: String) -> S3Call {
        var call = S3Call("DELETE", location.key(key), action: "s3:AbortMultipartUpload")
        call.query = [("uploadId", upload)]
        return call
    }
}

// Files that are sent in parts. Everything is read once beforehand: for the signed digest of each part, and for that
// of the whole, which no store verifies.
extension S3Storage {
    private static let partCountMax: Int64 = 10_000

    /// The size of each part but the last; follows from the total size alone, so that tags agree.
    static func partByteCount(of byteCount: Int64, usual: Int64) -> Int64 {
        if byteCount <= usual * partCountMax { return usual }
        let mebibyte: Int64 = 1 << 20
        return (byteCount / partCountMax / mebibyte + 1) * mebibyte
    }

    func putParts(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        let parts = try parts(of: body)
        let upload: String
        switch try begin(key, fields) {
        case .known(let name): upload = name
        case .unknown(let reason): return .unknown(reason)
        }
        do throws(StoreError) {
            switch try send(parts, key, upload) {
            case .known(let tags): return try complete(key, upload, tags, body)
            case .unknown(let reason):
                abort(key, upload)
                return .unknown(reason)
            }
        } catch {
            abort(key, upload)
            throw error
        }
    }

    /// The result of a step of an upload, or why nobody knows it.
    private enum Step<Value> {
        case known(Value)
        case unknown(UnknownWrite)
    }

    private struct Part: Sendable {
        var body: CarriedBody
        var digest: String
    }

    private func parts(of body: StorageBody) throws(StoreError) -> [Part] {
        let size = Self.partByteCount(of: body.byteCount, usual: options.partByteCount)
        var parts: [Part] = []
        var whole = try Digester(.sha256)
        var offset: Int64 = 0
        while offset < body.byteCount {
            let end = min(offset + size, body.byteCount)
            let part = CarriedBody(body, offset..<end)
            var digester = try Digester(.sha256)
            try part.forEachPart(options.fileSystem) {
                digester.update($0)
                whole.update($0)
            }
            parts.append(Part(body: part, digest: digester.finish { Hex.string($0) }))
            offset = end
            if options.isStopped() { throw StoreError(.interrupted, "interrupted") }
        }
        guard whole.finish({ ObjectID(unchecked: $0) }) == body.address else {
            throw .damaged(body.address)
        }
        return parts
    }

    private func begin(_ key: String, _ fields: StoredFields) throws(StoreError) -> Step<String> {
        let end = try runner.run(make: {
            var call = S3Call("POST", location.key(key), action: "s3:PutObject")
            call.query = [("uploads", "")]
            call.fields = fields.fields
            return call
        })
        switch end {
        case .undecided(let reason): return .unknown(reason)
        case .answer(let answer):
            guard answer.status == 200 else { throw strange(answer, "the beginning of an upload") }
            do throws(XMLScanner.Malformed) {
                return .known(try PartsAnswer.upload(answer.body))
            } catch { throw strange(answer, "the beginning of an upload") }
        }
    }

    private func send(
        _ parts: [Part], _ key: String, _ upload: String
    ) throws(StoreError) -> Step<[EntityTag]> {
        let tags = Mutex([EntityTag](repeating: EntityTag(""), count: parts.count))
        let doubt = Mutex<UnknownWrite?>(nil)
        try Parallel.run(workers: options.partJobCount, count: parts.count, chunk: 1) {
            [self] (work) throws(StoreError) in
            while doubt.withLock({ $0 == nil }), let chunk = work.nextChunk() {
                for index in chunk {
                    switch try send(parts[index], index + 1, key, upload) {
                    case .known(let tag): tags.withLock { $0[index] = tag }
                    // The upload has failed: the others send no further part.
                    case .unknown(let reason): doubt.withLock { $0 = $0 ?? reason }
                    }
                }
            }
        }
        if let doubt = doubt.withLock({ $0 }) { return .unknown(doubt) }
        return .known(tags.withLock({ $0 }))
    }

    private func send(
        _ part: Part, _ number: Int, _ key: String, _ upload: String
    ) throws(StoreError) -> Step<EntityTag> {
        let end = try runner.run(make: {
            var call = S3Call("PUT", location.key(key), action: "s3:PutObject")
            call.query = [("partNumber", "\(number)"), ("uploadId", upload)]
            call.body = part.body
            call.digest = part.digest
            return call
        })
        switch end {
        case .undecided(let reason): return .unknown(reason)
        case .answer(let answer):
            guard answer.status == 200, let tag = answer.head["etag"] else {
                throw strange(answer, "part \(number) of \(key)")
            }
            return .known(EntityTag(tag))
        }
    }

    private func complete(
        _ key: String, _ upload: String, _ tags: [EntityTag], _ body: StorageBody
    ) throws(StoreError) -> WriteOutcome {
        let document = try StorageBody(PartsAnswer.completion(tags))
        var reason = UnknownWrite("no answer to the end of an upload of \(key)")
        let end = try runner.run(make: {
            var call = S3Call("POST", location.key(key), action: "s3:PutObject")
            call.query = [("uploadId", upload)]
            call.fields = [("content-type", "application/xml")]
            call.send(document)
            // The store joins the parts before it answers.
            call.stallSeconds = max(options.stallSeconds, 300)
            call.mayFailLate = true
            return call
        })
        switch end {
        case .undecided(let last): reason = last
        case .answer(let answer):
            switch answer.status {
            case 200:
                // An answer that began well may end badly.
                let error = ErrorAnswer(answer.body)
                if !error.code.isEmpty { reason = UnknownWrite(error.code) }
            // Joined by an earlier try, whose answer was lost.
            case 404 where answer.isAfterUndecided: break
            default: reason = try doubt(answer, "the end of an upload of \(key)")
            }
        }
        // Some answers have no tag, and none proves the size.
        guard let file = try head(key), file.byteCount == body.byteCount else {
            return .unknown(reason)
        }
        return .stored(file.tag)
    }

    /// Frees what was sent; the answer does not matter, as a rule of the bucket does it eventually.
    private func abort(_ key: String, _ upload: String) {
        var call = ending(key, upload)
        // The caller gets the error that ended the upload.
        do throws(StoreError) { _ = try runner.run(make: { call }) } catch {
            guard error.code == .interrupted else { return }
            // Parts cost money while they stay: one short try, even after an interruption.
            call.isSentWhenStopped = true
            call.totalMilliseconds = 10_000
            runner.runOnce(call)
        }
    }
}
