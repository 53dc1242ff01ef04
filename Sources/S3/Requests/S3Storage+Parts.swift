import Platform
import Storage
import Synchronization

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
