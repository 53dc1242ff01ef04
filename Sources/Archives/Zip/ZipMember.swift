package import Platform

/// A file of a zip archive that is composed from pieces.
package struct ZipMember: Sendable, Hashable {
    /// A relative path with slashes, in UTF-8.
    package var path: String
    /// Whether it is unpacked with mode 0755 instead of 0644.
    package var isExecutable: Bool
    package var byteCount: Int64
    package var crc32: UInt32
    package var content: Content

    /// The bytes between a member's local header and the next one.
    package enum Content: Sendable, Hashable {
        case bytes([UInt8])
        case object(ObjectID)
        /// The deflated copy of an object: raw DEFLATE (RFC 1951) of this size.
        case deflatedCopy(ObjectID, byteCount: Int64)
    }

    package init(
        path: String, isExecutable: Bool = false, byteCount: Int64, crc32: UInt32,
        content: Content
    ) {
        self.path = path
        self.isExecutable = isExecutable
        self.byteCount = byteCount
        self.crc32 = crc32
        self.content = content
    }

    package init(path: String, bytes: [UInt8]) {
        self.init(
            path: path, byteCount: Int64(bytes.count), crc32: CRC32(of: bytes).value,
            content: .bytes(bytes))
    }

    var storedByteCount: Int64 {
        if case .deflatedCopy(_, let byteCount) = content { byteCount } else { byteCount }
    }
}
