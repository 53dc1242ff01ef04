/// How the end of a request's body is found (RFC 9112, section 6.3).
package enum BodyFraming: Sendable, Hashable {
    case none
    /// Exactly this many bytes, more than 0.
    case length(Int64)
    case chunked
}

/// Why a request is refused before anybody has looked for what it asks for.
///
/// The connection is closed after the answer: where the next request would begin is not known.
package struct RequestFailure: Error, Sendable, Hashable {
    /// The status to answer with.
    package let status: Int
    /// What is wrong, for the person who wrote the client.
    package let sentence: String

    package init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
