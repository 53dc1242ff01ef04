package import Platform

/// A file of a zip archive that is composed from pieces.
package struct ZipMember: Sendable, Hashable {
    /// The name in the archive: a relative path with slashes, UTF-8.
    package var path: String
    /// Whether it is unpacked with mode 0755 instead of 0644.
    package var isExecutable: Bool
    /// The number of the file's bytes.
    package var byteCount: Int64
    /// The CRC-32 of the file's bytes.
    package var crc32: UInt32
    /// Where its bytes in the archive come from.
    package var content: Content

    /// What stands between a member's local header and the next one.
    package enum Content: Sendable, Hashable {
        /// Bytes in memory, stored.
        case bytes([UInt8])
        /// An object, stored.
        case object(ObjectID)
        /// The deflated twin of an object: raw DEFLATE (RFC 1951), of so many bytes.
        case twin(ObjectID, byteCount: Int64)
    }

    /// Makes a member.
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

    /// Makes a member of bytes in memory.
    package init(path: String, bytes: [UInt8]) {
        self.init(
            path: path, byteCount: Int64(bytes.count), crc32: CRC32(of: bytes).value,
            content: .bytes(bytes))
    }

    /// How many bytes it takes between its local header and the next one.
    var storedByteCount: Int64 {
        if case .twin(_, let byteCount) = content { byteCount } else { byteCount }
    }
}
