import CASStore
import ClientSystems
import WebServer

struct PlannedResponse: Sendable {
    var head: ResponseHead
    var body: Body
    /// For an archive whose files nobody has compared with their names.
    var plan: ServedAnswer.Plan?
    /// Whether it is a file of the origin itself, which a prune may remove meanwhile.
    var mayVanish = false

    enum Body: Sendable {
        case none
        case bytes([UInt8])
        case range(Range<Int64>, of: AnswerBody)
    }

    /// Whether bytes would be sent that nobody has compared with their names.
    var isUnproven: Bool { plan != nil && source != nil }

    var source: AnswerBody? {
        if case .range(_, let body) = body { body } else { nil }
    }
}

/// Ranges and conditions of a body that never changes (RFC 9110, sections 13 and 14).
struct RangeRules {
    let head: RequestHead
    let body: AnswerBody
    /// The fields of the whole answer, except those that follow from the body.
    let fields: [ClientRequest.Field]
    /// Whether conditions are ignored: some of Expo's clients send ids of updates as tags.
    var isUnconditional = false
    /// Conditions and ranges are for 200 alone.
    var status = 200

    /// The system's own, where its clients look at it, as Meteor's do; else that of the body.
    private var tag: [UInt8] {
        let own = fields.first { $0.name == "etag" }?.value
        return Array((own ?? "\"\(body.tag)\"").utf8)
    }

    func response() -> PlannedResponse {
        let whole = 0..<body.byteCount
        guard status == 200 else { return sending(whole, described(status)) }
        let conditions = ConditionalFields(head)
        switch isUnconditional
            ? .proceed : Preconditions.evaluate(head, conditions, tag: tag)
        {
        case .proceed: break
        case .notModified: return PlannedResponse(head: described(304), body: .none)
        case .failed:
            return .plain(412, "The file is not the one that the request names.", head.method)
        }
        if case .get = head.method,
            let value = conditions.single(head, conditions.range),
            Preconditions.rangeCounts(head, conditions, tag: tag)
        {
            switch ByteRanges(value, size: body.byteCount) {
            case .unsatisfiable:
                return .plain(
                    416, "The file has \(body.byteCount) bytes, but the range has none of them.",
                    head.method,
                    fields: [("Content-Range", "bytes */\(body.byteCount)")])
            case .ranges(let ranges) where ranges.count == 1: return part(ranges[0])
            // Several ranges at once: no client here asks for them, and a server may send the whole (section 14.2).
            case .ranges, .ignored: break
            }
        }
        return sending(whole, described(200))
    }

    private func part(_ range: Range<Int64>) -> PlannedResponse {
        var head = described(206)
        head.add(
            "Content-Range",
            "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(body.byteCount)")
        return sending(range, head)
    }

    private func sending(_ range: Range<Int64>, _ described: ResponseHead) -> PlannedResponse {
        var head = described
        head.add("Content-Length", String(range.upperBound - range.lowerBound))
        head.add("Accept-Ranges", "bytes")
        if case .head = self.head.method { return PlannedResponse(head: head, body: .none) }
        return PlannedResponse(head: head, body: .range(range, of: body))
    }

    private func described(_ status: Int) -> ResponseHead {
        var head = ResponseHead(status)
        for field in fields where field.name != "etag" { head.add(field.name, field.value) }
        head.add("ETag", tag)
        if !fields.contains(where: { $0.name == "cache-control" }) {
            head.add("Cache-Control", "public, max-age=31536000, immutable")
        }
        return head
    }
}

extension PlannedResponse {
    static func plain(
        _ status: Int, _ sentence: String, _ method: Method,
        fields: [(name: String, value: String)] = []
    ) -> PlannedResponse {
        PlannedResponse(PlainAnswer.response(status, sentence, method: method, fields: fields))
    }

    init(_ response: Response) {
        head = response.head
        switch response.body {
        case .piece(.bytes(let bytes)): body = .bytes(bytes)
        default: body = .none
        }
    }

    /// Bytes in memory, with a length except where none may be given (RFC 9110, section 8.6).
    init(_ status: Int, _ fields: [ClientRequest.Field], _ bytes: [UInt8], _ method: Method) {
        head = ResponseHead(status)
        for field in fields { head.add(field.name, field.value) }
        if status != 204, status != 304 { head.add("Content-Length", String(bytes.count)) }
        if !fields.contains(where: { $0.name == "cache-control" }) {
            head.add("Cache-Control", "no-store")
        }
        body = method == .head || bytes.isEmpty ? .none : .bytes(bytes)
    }
}
