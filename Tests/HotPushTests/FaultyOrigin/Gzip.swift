import Platform

/// The gzip format (RFC 1952), for servers that encode what nobody asked them to.
enum Gzip {
    /// The bytes in stored blocks: valid for every decoder, and larger than before.
    static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]
        var start = 0
        repeat {
            let count = min(bytes.count - start, 65_535)
            let isLast: UInt8 = start + count == bytes.count ? 1 : 0
            result += [isLast, UInt8(count & 255), UInt8(count >> 8)]
            result += [UInt8(~count & 255), UInt8(~count >> 8 & 255)]
            result += bytes[start..<start + count]
            start += count
        } while start < bytes.count
        for number in [checksum(bytes), UInt32(truncatingIfNeeded: bytes.count)] {
            for shift in stride(from: 0, to: 32, by: 8) {
                result.append(UInt8(truncatingIfNeeded: number >> UInt32(shift)))
            }
        }
        return result
    }

    static func checksum(_ bytes: [UInt8]) -> UInt32 { CRC32(of: bytes).value }
}
