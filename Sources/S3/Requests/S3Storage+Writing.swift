package import Platform
package import Storage

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
