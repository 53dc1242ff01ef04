/// Why a message is refused by what it says of itself: its head, or how its body is told.
///
/// The connection is closed after it: where the next message would begin is not known.
package struct MessageFailure: Error, Sendable, Hashable {
    /// The status to answer a request with; an upstream's answer becomes a 502 whatever is wrong.
    package let status: Int
    /// What is wrong, for the person who wrote the other side.
    package let sentence: String

    package init(_ status: Int, _ sentence: String) {
        self.status = status
        self.sentence = sentence
    }
}
