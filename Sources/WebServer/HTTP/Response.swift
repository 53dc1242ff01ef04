package import Platform

/// The answer to one request as a value: its head, and where the transport finds its body.
package struct Response: Sendable {
    package enum Piece: Sendable, Hashable {
        case bytes([UInt8])
        /// A range of an object's bytes; `size` is the whole object's, as the manifest promises it.
        case object(ObjectID, range: Range<Int64>, size: Int64)
    }

    package enum Body: Sendable {
        /// No body: HEAD, 204, 304. A Content-Length in the head says what GET would send.
        case none
        case piece(Piece)
        /// Sent one after another: multipart/byteranges.
        case pieces([Piece])
    }

    package var head: ResponseHead
    package var body: Body
    /// Whether its objects may be removed between the look at them and the sending, as by the prune of an origin: one
    /// that is missing then is no damage.
    package var mayVanish = false

    package init(head: ResponseHead, body: Body = .none) {
        self.head = head
        self.body = body
    }
}
