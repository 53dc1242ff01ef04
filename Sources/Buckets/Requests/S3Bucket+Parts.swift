import Platform
import Synchronization

// Files that are sent in parts. The whole is read once before anything is sent: for the digest of each part,
// which is signed, and for that of the whole, which no store verifies.
extension S3Bucket {
    /// The most parts of an upload.
    private static let partCountMax: Int64 = 10_000

    /// The bytes of each part but the last; follows from the size alone, so that tags agree.
    static func partByteCount(of byteCount: Int64, usual: Int64) -> Int64 {
        if byteCount <= usual * partCountMax { return usual }
        let mebibyte: Int64 = 1 << 20
        return (byteCount / partCountMax / mebibyte + 1) * mebibyte
    }

    func putParts(
        _ key: String, _ body: BucketBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        let parts = try parts(of: body)
        guard let upload = try begin(key, fields) else {
            return .unknown(UnknownWrite("no answer to the beginning of an upload of \(key)"))
        }
        do throws(StoreError) {
            let tags = try send(parts, key, upload)
            guard let tags else {
                abort(key, upload)
                return .unknown(UnknownWrite("no answer to a part of \(key)"))
            }
            return try complete(key, upload, tags, body)
        } catch {
            abort(key, upload)
            throw error
        }
    }

    /// A part and its digest.
    private struct Part: Sendable {
        var body: CarriedBody
        var digest: String
    }

    private func parts(of body: BucketBody) throws(StoreError) -> [Part] {
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
            throw StoreError(
                .damagedObject,
                "the bytes of object \(body.address) do not match its address; "
                    + "run castree fsck --repair, then repeat the command",
                object: body.address)
        }
        return parts
    }

    /// The name of a new upload; nil if nobody knows.
    private func begin(_ key: String, _ fields: StoredFields) throws(StoreError) -> String? {
        let end = try runner.run(make: {
            var call = S3Call("POST", location.key(key), action: "s3:PutObject")
            call.query = [("uploads", "")]
            call.fields = fields.fields
            return call
        })
        guard case .answer(let answer) = end else { return nil }
        guard answer.status == 200 else { throw strange(answer, "the beginning of an upload") }
        do throws(XMLScanner.Malformed) { return try PartsAnswer.upload(answer.body) } catch {
            throw strange(answer, "the beginning of an upload")
        }
    }

    /// Sends all parts; their tags, or nil if one got no answer.
    private func send(
        _ parts: [Part], _ key: String, _ upload: String
    ) throws(StoreError) -> [EntityTag]? {
        let tags = SharedTags()
        try Parallel.run(workers: options.partJobCount, count: parts.count, chunk: 1) {
            [self] (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                for index in chunk {
                    guard let tag = try send(parts[index], index + 1, key, upload) else { return }
                    tags.set(index, tag)
                }
            }
        }
        return tags.all(parts.count)
    }

    private func send(
        _ part: Part, _ number: Int, _ key: String, _ upload: String
    ) throws(StoreError) -> EntityTag? {
        let end = try runner.run(make: {
            var call = S3Call("PUT", location.key(key), action: "s3:PutObject")
            call.query = [("partNumber", "\(number)"), ("uploadId", upload)]
            call.body = part.body
            call.digest = part.digest
            return call
        })
        guard case .answer(let answer) = end else { return nil }
        guard answer.status == 200, let tag = answer.head["etag"] else {
            throw strange(answer, "part \(number) of \(key)")
        }
        return EntityTag(tag)
    }

    private func complete(
        _ key: String, _ upload: String, _ tags: [EntityTag], _ body: BucketBody
    ) throws(StoreError) -> WriteOutcome {
        let document = try BucketBody(PartsAnswer.completion(tags))
        var reason = UnknownWrite("no answer to the end of an upload of \(key)")
        let end = try runner.run(make: {
            var call = S3Call("POST", location.key(key), action: "s3:PutObject")
            call.query = [("uploadId", upload)]
            call.fields = [("content-type", "application/xml")]
            call.send(document)
            // The store joins the parts before it answers.
            call.stallSeconds = max(options.stallSeconds, 300)
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
            default: throw strange(answer, "the end of an upload of \(key)")
            }
        }
        // Some answers have no tag, and none proves the size.
        guard let file = try head(key), file.byteCount == body.byteCount else {
            return .unknown(reason)
        }
        return .stored(file.tag)
    }

    /// Frees what was sent: nobody needs the answer, and a rule of the bucket does it in the end.
    private func abort(_ key: String, _ upload: String) {
        // Whatever ended the upload is what the caller is told.
        _ = try? runner.run(make: {
            var call = S3Call("DELETE", location.key(key), action: "s3:AbortMultipartUpload")
            call.query = [("uploadId", upload)]
            return call
        })
    }
}

/// The tags of parts, as they come.
private final class SharedTags: Sendable {
    private let tags = Mutex<[Int: EntityTag]>([:])

    func set(_ index: Int, _ tag: EntityTag) { tags.withLock { $0[index] = tag } }

    /// All of them in order; nil if one is missing.
    func all(_ count: Int) -> [EntityTag]? {
        tags.withLock { tags in
            var all: [EntityTag] = []
            for index in 0..<count {
                guard let tag = tags[index] else { return nil }
                all.append(tag)
            }
            return all
        }
    }
}
