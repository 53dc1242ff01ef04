package import Platform

/// The answer to one request: its head, and where to find its body.
///
/// A value without I/O: the transport reads the objects.
package struct Response: Sendable {
    /// A piece of a body.
    package enum Piece: Sendable, Hashable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// A range of an object's bytes; `size` is the whole object's, as the manifest promises it.
        case object(ObjectID, range: Range<Int64>, size: Int64)
    }

    /// What follows the head.
    package enum Body: Sendable {
        /// No body: HEAD, 204, 304. A Content-Length in the head says what GET would send.
        case none
        /// One piece; nearly always this.
        case piece(Piece)
        /// Sent one after another: multipart/byteranges.
        case pieces([Piece])
    }

    /// The status line and fields.
    package var head: ResponseHead
    /// Where to find the body.
    package var body: Body

    /// Makes a response.
    package init(head: ResponseHead, body: Body = .none) {
        self.head = head
        self.body = body
    }
}
