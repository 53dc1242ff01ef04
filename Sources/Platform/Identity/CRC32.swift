/// The checksum of ISO 3309 and ITU-T V.42 (section 8.1.1.6.2), as in zip and gzip.
///
/// libcrypto has none. A byte at a time, some 400 MB/s: publishers that have no better digest ship
/// little.
struct CRC32 {
    private var register: UInt32 = .max

    /// The checksum of the bytes so far.
    var value: UInt32 { ~register }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes {
            register = Self.table[Int(UInt8(truncatingIfNeeded: register) ^ byte)] ^ register >> 8
        }
    }

    /// The remainders of all bytes, by the polynomial with its bits reversed.
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { rest, _ in
            rest & 1 == 1 ? rest >> 1 ^ 0xEDB8_8320 : rest >> 1
        }
    }
}
