/// The server's own answers: a sentence as plain text.
package enum PlainAnswer {
    /// Makes an answer that no cache keeps.
    /// - Parameter method: HEAD gets the same fields and no body.
    package static func response(
        _ status: Int, _ sentence: String, method: Method,
        fields: [(name: String, value: String)] = []
    ) -> Response {
        var head = ResponseHead(status)
        for field in fields { head.add(field.name, field.value) }
        return head.explained(sentence, method: method)
    }

    /// Has a browser that shows the answer as a page ask again, seconds later.
    package static let askingAgain = (name: "Refresh", value: "5")

    static let allow = "GET, HEAD, OPTIONS"

    /// - Parameter isPage: whether a page is missing that the next version may have.
    package static func notFound(_ method: Method, isPage: Bool = false) -> Response {
        if isPage { return response(404, nothing, method: method, fields: [askingAgain]) }
        return method == .get ? missing : response(404, nothing, method: method)
    }

    private static let nothing = "There is nothing at this address."
    // Made once: scanners request missing paths by the thousand.
    private static let missing = response(404, nothing, method: .get)

    package static func malformedPath(_ method: Method) -> Response {
        response(400, "The path has a percent sign without two digits, or a NUL.", method: method)
    }

    package static func methodNotAllowed(_ method: Method) -> Response {
        response(
            405, "Only \(allow) are allowed here.", method: method, fields: [("Allow", allow)])
    }

    package static func notImplemented(_ method: Method) -> Response {
        response(501, "The server does not know this method.", method: method)
    }

    package static func options() -> Response {
        var head = ResponseHead(204)
        head.add("Allow", allow)
        return Response(head: head)
    }
}

extension ResponseHead {
    package func explained(_ sentence: String, method: Method = .get) -> Response {
        carrying(
            Array((sentence + "\n").utf8), "text/plain; charset=utf-8", method: method)
    }

    package func carrying(
        _ body: [UInt8], _ type: String, caching: String = "no-store", method: Method = .get
    ) -> Response {
        var head = self
        head.add("Content-Type", type)
        head.add("Content-Length", String(body.count))
        head.add("Cache-Control", caching)
        head.add("X-Content-Type-Options", "nosniff")
        return Response(head: head, body: method == .head ? .none : .piece(.bytes(body)))
    }
}
