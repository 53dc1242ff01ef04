internal import CZlib

/// The checksum of ISO 3309 and ITU-T V.42 (section 8.1.1.6.2), as in zip and gzip, by zlib.
package struct CRC32: Sendable {
    package private(set) var value: UInt32 = 0

    package init() {}

    package init(of bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        // Without bytes zlib would return the initial checksum.
        guard let start = bytes.baseAddress, !bytes.isEmpty else { return }
        value = UInt32(
            truncatingIfNeeded: crc32_z(
                UInt(value), start.assumingMemoryBound(to: UInt8.self), bytes.count))
    }
}
