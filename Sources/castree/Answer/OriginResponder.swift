import CASStore
import ClientSystems
import HotPush
import WebServer

/// Decides which answer a request gets; sends none.
///
/// Answers are files of the origin, for castree's own devices, or follow the rules of the systems that are enabled.
/// `Host` is never used: every URL in an answer begins with the operator's base URL.
struct OriginResponder: Sendable {
    let answers: OriginAnswers

    /// The largest body of a request, in bytes; above it 413.
    static let bodyByteCountMax = 64 << 10
    private static let allow = "GET, HEAD, POST"

    var origin: DirectoryOrigin { answers.reader.origin }

    func moved(to origin: DirectoryOrigin) -> OriginResponder {
        OriginResponder(answers: answers.moved(to: origin))
    }

    /// The answer to a request.
    /// - Parameters:
    ///   - mayRead: whether files may be read for it.
    ///   - mayPlan: whether downloads may be prepared for it; by default the same as `mayRead`.
    /// - Throws: `.unread`, `.unplanned` where that would be necessary; what is wrong with the origin.
    func response(
        to head: RequestHead, _ body: [UInt8], mayRead: Bool, mayPlan: Bool? = nil
    ) throws(StoreError) -> PlannedResponse {
        var response: PlannedResponse
        if let preflight = CrossOrigin.preflight(head) {
            response = preflight
        } else {
            response = try planned(head, body, mayRead: mayRead, mayPlan: mayPlan ?? mayRead)
        }
        for field in CrossOrigin.fields(head) { response.head.add(field.name, field.value) }
        return response
    }

    private func planned(
        _ head: RequestHead, _ body: [UInt8], mayRead: Bool, mayPlan: Bool
    ) throws(StoreError) -> PlannedResponse {
        if let response = try file(head, mayRead: mayRead) { return response }
        switch head.method {
        case .get, .head: break
        case _ where Self.asks(head.method): break
        default: return Self.methodNotAllowed(head.method)
        }
        let request = Self.request(head, body)
        guard let answer = try answers.answer(request, mayRead: mayRead, mayPlan: mayPlan)
        else {
            switch head.method {
            case .put, .delete: return Self.methodNotAllowed(head.method)
            default: return PlannedResponse(PlainAnswer.notFound(head.method))
            }
        }
        try Self.check(answer.fields, request)
        switch answer.body {
        case .bytes(let bytes):
            return PlannedResponse(answer.status, answer.fields, bytes, head.method)
        case .composed(let body):
            var rules = RangeRules(
                head: head, body: body, fields: answer.fields, status: answer.status)
            rules.isUnconditional = answer.isUnconditional
            var response = rules.response()
            response.plan = answer.plan
            return response
        }
    }

    static func methodNotAllowed(_ method: Method) -> PlannedResponse {
        .plain(405, "Only \(allow) are allowed here.", method, fields: [("Allow", allow)])
    }

    /// Whether clients ask with a body by this method: Capgo's ask for their channel by PUT, and leave it by DELETE.
    static func asks(_ method: Method) -> Bool {
        switch method {
        case .post, .put, .delete: true
        default: false
        }
    }

    /// A request as feeds read it: HEAD is answered like GET.
    private static func request(_ head: RequestHead, _ body: [UInt8]) -> ClientRequest {
        let method =
            switch head.method {
            case .post: "POST"
            case .put: "PUT"
            case .delete: "DELETE"
            default: "GET"
            }
        return ClientRequest(
            method, ClientRequest.normalized(head.bytes[head.path]),
            query: head.query.map { ClientRequest.normalized(head.bytes[$0]) },
            fields: head.fields.map { field in
                ClientRequest.Field(head.text(field.name).lowercased(), head.text(field.value))
            }, body: body)
    }

    /// Values come from files of the origin, and a line break in one would begin another field.
    private static func check(
        _ fields: [ClientRequest.Field], _ request: ClientRequest
    ) throws(StoreError) {
        for field in fields
        where field.value.utf8.contains(where: { $0 < 32 && $0 != 9 || $0 == 127 }) {
            throw StoreError(
                .damagedOrigin,
                "the answer to \(request.path) has a control character in \(field.name); it is not sent"
            )
        }
    }

    // MARK: The origin's own files

    func servedFile(_ head: RequestHead) -> ServedFile? {
        switch head.method {
        case .get, .head: break
        default: return nil
        }
        let path = head.bytes[head.path].dropFirst()
        // Longer ones are no files of an origin; most requests of clients end here, too.
        guard path.count < 256, let text = String(validating: path, as: UTF8.self) else {
            return nil
        }
        return ServedFile(text)
    }

    private func file(
        _ head: RequestHead, mayRead: Bool
    ) throws(StoreError) -> PlannedResponse? {
        guard let file = servedFile(head) else { return nil }
        let placed = PlacedFile(file)
        guard let status = try status(of: file, placed?.key) else {
            if let channel = file.channel, let why = answers.reader.whyUnseen(channel) { throw why }
            return PlannedResponse(PlainAnswer.notFound(head.method))
        }
        var fields = [
            ClientRequest.Field(
                "content-type",
                file.isDocument ? "application/json" : "application/octet-stream")
        ]
        if let name = placed?.name {
            let body = AnswerBody(
                object: name.address, of: name.kind, byteCount: status.byteCount)
            var response = RangeRules(head: head, body: body, fields: fields).response()
            response.mayVanish = true
            return response
        }
        if case .changing = file.identity {
            fields.append(ClientRequest.Field("cache-control", "no-cache"))
        }
        let bytes = try answers.reader.file(
            file.path, limit: OriginLayout.manifestByteCountMax, mayRead: mayRead)
        guard let bytes else { return PlannedResponse(PlainAnswer.notFound(head.method)) }
        return try Self.small(bytes, head, fields)
    }

    private func status(
        of file: ServedFile, _ key: OriginKey?
    ) throws(StoreError) -> FileStatus? {
        guard let key else { return try origin.status(of: file.path) }
        return try origin.first(of: [key]) { (key) throws(StoreError) in
            try origin.status(of: key.path)
        }
    }

    /// A file in memory, with a tag of its bytes, so that an unchanged file costs a 304.
    private static func small(
        _ bytes: [UInt8], _ head: RequestHead, _ fields: [ClientRequest.Field]
    ) throws(StoreError) -> PlannedResponse {
        let body = AnswerBody(
            object: try ObjectID(of: bytes), byteCount: Int64(bytes.count))
        var response = RangeRules(head: head, body: body, fields: fields).response()
        if case .range(let range, _) = response.body {
            response.body = .bytes(
                Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]))
        }
        return response
    }
}
