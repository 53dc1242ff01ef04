package import Platform

/// A zip archive as a list of pieces: nothing is stored, its length is known, and any range of it can be sent.
///
/// The same members give the same bytes, on every machine and for ever.
package struct ZipArchive: Sendable, Hashable {
    /// The members, by their paths' UTF-8 bytes.
    package let members: [ZipMember]

    /// A piece of an archive's bytes.
    package enum Piece: Sendable, Hashable {
        /// Bytes in memory.
        case bytes([UInt8])
        /// A range of an object; `size` is the whole object's.
        case object(ObjectID, range: Range<Int64>, size: Int64)
        /// A range of a twin; `size` is the whole twin's.
        case twin(ObjectID, range: Range<Int64>, size: Int64)
    }
}
