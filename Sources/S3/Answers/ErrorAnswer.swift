/// What a refusal says: `<Error><Code>…</Code>…</Error>`.
struct ErrorAnswer: Hashable {
    /// As in `AccessDenied`; empty if the answer does not say.
    var code = ""
    /// A sentence, in the server's words.
    var message = ""
    /// Where the bucket is.
    var region: String?
    /// The host that has it.
    var endpoint: String?

    init() {}

    /// Reads what an error's body says; an empty or foreign one says nothing.
    init(_ body: [UInt8]) {
        // A page of a proxy, or a cut answer: the status says the rest.
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
