/// Why a message is refused, after which the connection closes: where the next one would begin is unknown.
package struct MessageFailure: Error, Sendable, Hashable {
    /// The status to answer a request with; a fault in an upstream's answer always becomes a 502.
    package let status: Int
    /// What is wrong, for the author of the other side.
    package let sentence: String

    package init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
