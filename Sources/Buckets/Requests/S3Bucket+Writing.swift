package import Platform

// Files that are written in one request.
extension S3Bucket {
    package func put(
        _ key: String, _ body: BucketBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        if body.byteCount > options.wholeByteCountMax {
            return try putParts(key, body, fields)
        }
        return try put(key, body, fields, condition: nil)
    }

    package func putIfAbsent(
        _ key: String, _ body: BucketBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        try put(key, body, fields, condition: ("if-none-match", "*"))
    }

    package func putIf(
        _ key: String, _ body: BucketBody, _ fields: StoredFields, matching tag: EntityTag,
        _ spelling: TagSpelling
    ) throws(StoreError) -> WriteOutcome {
        try put(key, body, fields, condition: ("if-match", tag.spelled(spelling)))
    }

    private func put(
        _ key: String, _ body: BucketBody, _ fields: StoredFields,
        condition: (name: String, value: String)?
    ) throws(StoreError) -> WriteOutcome {
        let end = try runner.run(make: {
            var call = S3Call("PUT", location.key(key), action: "s3:PutObject")
            call.fields = fields.fields
            if let condition { call.fields.append(condition) }
            call.isConditional = condition != nil
            call.send(body)
            return call
        })
        guard case .answer(let answer) = end else {
            if case .undecided(let reason) = end { return .unknown(reason) }
            return .unknown(UnknownWrite("no answer"))
        }
        switch answer.status {
        case 200, 201, 204: return .stored(EntityTag(answer.head["etag"] ?? ""))
        case 412: return .conditionFailed
        // If-Match on a key that is not there.
        case 404 where condition?.name == "if-match": return .conditionFailed
        case 409: return .conflict
        case 501,
            400 where condition != nil:
            return .unsupported
        default: throw strange(answer, "PUT of \(key)")
        }
    }
}

extension StoredFields {
    /// Names and values as they are sent.
    var fields: [(name: String, value: String)] {
        [("content-type", contentType), ("cache-control", cacheControl)]
    }
}
