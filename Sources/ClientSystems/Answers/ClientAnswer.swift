package import Archives
package import Platform

/// What a decider answers; a value, the server reads the objects.
package struct ClientAnswer: Sendable, Hashable {
    /// The status code.
    package var status: Int
    /// Fields besides those of the body's length and of ranges; names lower-case.
    package var fields: [ClientRequest.Field]
    /// The body.
    package var body: Body

    /// What follows the head.
    package enum Body: Sendable, Hashable {
        /// Nothing: 204.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// An object of the origin; ranges are answered, and it never changes.
        case object(ObjectID, byteCount: Int64)
        /// A deflated twin between a gzip header and trailer (RFC 1952); `crc32` and `byteCount` are the object's.
        case gzip(twin: ObjectID, twinByteCount: Int64, crc32: UInt32, byteCount: Int64)
        /// A document of the origin.
        case document(ClientDocument, ClientSystem)
        /// A composed archive; ranges are answered, and it never changes.
        case archive(ZipArchive)
    }

    /// Makes an answer.
    package init(_ status: Int, _ fields: [ClientRequest.Field] = [], body: Body = .none) {
        self.status = status
        self.fields = fields
        self.body = body
    }
}
