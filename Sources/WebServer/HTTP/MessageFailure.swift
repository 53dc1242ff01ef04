/// What is wrong with a message's head, or with how its body is marked, so that it is refused.
///
/// The connection then closes, because nobody knows where the next message would begin.
package struct MessageFailure: Error, Sendable, Hashable {
    /// The status to answer a request with; a fault in an upstream's answer always becomes a 502.
    package let status: Int
    /// What is wrong, for the person who wrote the other side.
    package let sentence: String

    package init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
