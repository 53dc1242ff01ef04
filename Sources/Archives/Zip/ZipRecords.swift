/// The records of a zip archive, byte by byte, by PKWARE's APPNOTE.TXT 6.3.10.
///
/// Everything that could differ between two machines is fixed: no times, no extra fields, no comments, no data
/// descriptors. Numbers are little-endian (4.4.1.1).
enum ZipRecords {
    /// The most members, and the most bytes of a member, of an archive and of a name, without zip64 (4.4.1.4).
    static let memberCountMax = 0xFFFF
    static let byteCountMax: Int64 = 0xFFFF_FFFF
    static let nameByteCountMax = 0xFFFF

    static let localByteCount: Int64 = 30
    static let centralByteCount: Int64 = 46
    static let endByteCount: Int64 = 22

    /// A local file header (4.3.7).
    static func local(_ member: ZipMember) -> [UInt8] {
        var record = Record(0x0403_4B50)
        record.put(common: member)
        record.name(member)
        return record.bytes
    }

    /// A central directory header (4.3.12).
    /// - Parameter offset: where the member's local header begins.
    static func central(_ member: ZipMember, offset: Int64) -> [UInt8] {
        var record = Record(0x0201_4B50)
        // Made by 2.0, on a system with Unix' modes (4.4.2).
        record.put16(0x0314)
        record.put(common: member)
        // Comment, disk, internal attributes.
        for _ in 0..<3 { record.put16(0) }
        // External attributes: a regular file's mode in the upper half, as in Info-ZIP.
        record.put32((member.isExecutable ? 0o100755 : 0o100644) << 16)
        record.put32(UInt32(offset))
        record.name(member)
        return record.bytes
    }

    /// The end of central directory record (4.3.16).
    static func end(memberCount: Int, directory: Range<Int64>) -> [UInt8] {
        var record = Record(0x0605_4B50)
        record.put32(0)
        for _ in 0..<2 { record.put16(UInt16(memberCount)) }
        record.put32(UInt32(directory.upperBound - directory.lowerBound))
        record.put32(UInt32(directory.lowerBound))
        record.put16(0)
        return record.bytes
    }

    private struct Record {
        private(set) var bytes: [UInt8] = []

        init(_ signature: UInt32) { put32(signature) }

        mutating func put16(_ value: UInt16) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }

        mutating func put32(_ value: UInt32) {
            withUnsafeBytes(of: value.littleEndian) { bytes += $0 }
        }

        /// The common part of a member's headers, from the version needed to the length of the extra field.
        mutating func put(common member: ZipMember) {
            // Version 2.0: DEFLATE and directories (4.4.3.2).
            put16(20)
            // Bit 11: the name is UTF-8 (appendix D); not needed for ASCII.
            put16(member.path.utf8.allSatisfy { $0 < 0x80 } ? 0 : 0x800)
            if case .deflatedCopy = member.content { put16(8) } else { put16(0) }
            // Midnight of 1 January 1980: the zero of the format's times (4.4.6).
            put16(0)
            put16(0x21)
            put32(member.crc32)
            put32(UInt32(member.storedByteCount))
            put32(UInt32(member.byteCount))
            put16(UInt16(member.path.utf8.count))
            put16(0)
        }

        mutating func name(_ member: ZipMember) { bytes += member.path.utf8 }
    }
}
