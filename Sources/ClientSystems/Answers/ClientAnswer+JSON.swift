package import StrictJSON

// The answers that most systems give: a JSON document, or a sentence for whoever looks into a log.

extension ClientAnswer {
    /// A JSON document of 200 that no cache may keep: what it says depends on the request.
    package static func json(_ bytes: [UInt8], status: Int = 200) -> ClientAnswer {
        ClientAnswer(
            status,
            [
                ClientRequest.Field("content-type", "application/json"),
                ClientRequest.Field("cache-control", "no-store"),
            ], body: .bytes(bytes))
    }

    /// A JSON object, its members written by the closure.
    package static func json(
        status: Int = 200, _ write: (inout JSONWriter) throws -> Void
    ) rethrows -> ClientAnswer {
        json(try JSONWriter.document(write), status: status)
    }

    /// A sentence as plain text.
    package static func text(_ status: Int, _ sentence: String) -> ClientAnswer {
        ClientAnswer(
            status,
            [
                ClientRequest.Field("content-type", "text/plain; charset=utf-8"),
                ClientRequest.Field("cache-control", "no-store"),
            ], body: .bytes(Array(sentence.utf8)))
    }

    /// 404 with a sentence.
    package static func notFound(_ sentence: String) -> ClientAnswer { text(404, sentence) }

    /// 405: the path takes other methods.
    package static func wrongMethod(_ allowed: String) -> ClientAnswer {
        var answer = text(405, "This path takes \(allowed) only.\n")
        answer.fields.append(ClientRequest.Field("allow", allowed))
        return answer
    }

    /// What never changes under its URL: any cache may keep it for a year.
    package static func immutable(_ mediaType: String, _ body: Body) -> ClientAnswer {
        ClientAnswer(
            200,
            [
                ClientRequest.Field("content-type", mediaType),
                ClientRequest.Field("cache-control", "public, max-age=31536000, immutable"),
            ], body: body)
    }
}
