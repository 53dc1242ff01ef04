public import CASStore

/// The answer to one request: its head, and where its body is to be found.
///
/// A value without I/O: the transport reads the objects.
public struct Response: Sendable {
    /// A piece of a body.
    public enum Piece: Sendable, Hashable {
        case bytes([UInt8])
        /// A range of an object's bytes; `size` is the whole object's, as the manifest promises it.
        case object(ObjectID, range: Range<Int64>, size: Int64)
    }

    public enum Body: Sendable {
        /// No body: HEAD, 204, 304. A Content-Length in the head stands for what GET would send.
        case none
        case piece(Piece)
        /// Sent one after the other: multipart/byteranges.
        case pieces([Piece])
    }

    public var head: ResponseHead
    public var body: Body

    public init(head: ResponseHead, body: Body = .none) {
        self.head = head
        self.body = body
    }
}
