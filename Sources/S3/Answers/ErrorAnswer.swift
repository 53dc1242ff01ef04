/// A refusal: `<Error><Code>…</Code>…</Error>`.
struct ErrorAnswer: Hashable {
    /// As in `AccessDenied`; empty if unknown.
    var code = ""
    /// In the server's words.
    var message = ""
    var region: String?
    /// The host of the bucket.
    var endpoint: String?

    init() {}

    /// Reads the body of an error; an empty or foreign one leaves the fields empty.
    init(_ body: [UInt8]) {
        // A proxy's page, or a cut answer: the status says the rest.
        if let read = try? Self.read(body) { self = read }
    }

    private static func read(_ body: [UInt8]) throws(XMLScanner.Malformed) -> ErrorAnswer {
        var scanner = try XMLScanner(body, root: "Error")
        let texts = try scanner.texts("Code", "Message", "Region", "Endpoint")
        var answer = ErrorAnswer()
        (answer.code, answer.message) = (texts["Code"] ?? "", texts["Message"] ?? "")
        (answer.region, answer.endpoint) = (texts["Region"], texts["Endpoint"])
        return answer
    }
}
