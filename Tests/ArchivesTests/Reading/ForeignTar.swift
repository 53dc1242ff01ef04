import Archives
import Platform

/// A tar archive as somebody else makes it: every field can be wrong.
///
/// By pax(1), ustar interchange format.
struct ForeignTar {
    struct Entry {
        var name: [UInt8]
        var content: [UInt8]
        var type: Character = "0"
        var mode = 0o644
        var target = ""
        /// What the header says instead of the truth.
        var byteCount: Int?
        var isSumWrong = false

        init(
            _ name: String, _ content: String = "content", type: Character = "0",
            target: String = ""
        ) {
            self.name = Array(name.utf8)
            self.content = type == "0" || type == "x" || type == "g" ? Array(content.utf8) : []
            self.type = type
            self.target = target
        }

        /// An extended header (pax(1)): what follows has these fields.
        static func pax(_ fields: (String, [UInt8])...) -> Entry {
            var entry = Entry("PaxHeaders/x", "", type: "x")
            for (key, value) in fields {
                let rest = Array(" \(key)=".utf8) + value + [10]
                var count = rest.count
                while "\(count)".utf8.count + rest.count != count {
                    count = "\(count)".utf8.count + rest.count
                }
                entry.content += Array("\(count)".utf8) + rest
            }
            return entry
        }
    }

    var entries: [Entry]
    /// What stands after the last entry.
    var end = [UInt8](repeating: 0, count: 1024)

    init(_ entries: Entry...) { self.entries = entries }
    init(entries: [Entry]) { self.entries = entries }

    func bytes() -> [UInt8] {
        var archive: [UInt8] = []
        for entry in entries {
            var header = [UInt8](repeating: 0, count: 512)
            func put(_ bytes: [UInt8], at offset: Int) {
                header.replaceSubrange(offset..<offset + bytes.count, with: bytes)
            }
            func octal(_ value: Int, _ digits: Int) -> [UInt8] {
                let text = String(value, radix: 8)
                return Array((String(repeating: "0", count: digits - text.count) + text).utf8)
            }
            put(Array(entry.name.prefix(100)), at: 0)
            put(octal(entry.mode, 7), at: 100)
            put(octal(0, 7), at: 108)
            put(octal(0, 7), at: 116)
            put(octal(entry.byteCount ?? entry.content.count, 11), at: 124)
            put(octal(0, 11), at: 136)
            put(Array(repeating: 32, count: 8), at: 148)
            put(Array(String(entry.type).utf8), at: 156)
            put(Array(entry.target.utf8), at: 157)
            put(Array("ustar\0".utf8) + Array("00".utf8), at: 257)
            let sum = header.reduce(entry.isSumWrong ? 1 : 0) { $0 + Int($1) }
            put(octal(sum, 6) + [0, 32], at: 148)
            archive += header + entry.content
            archive += [UInt8](repeating: 0, count: (512 - entry.content.count % 512) % 512)
        }
        return archive + end
    }
}

/// Compressed bytes, made by hand or by castree's own compressors.
enum Compressed {
    /// A gzip file (RFC 1952, section 2.3).
    static func gzip(_ content: [UInt8], crc: UInt32? = nil) throws -> [UInt8] {
        var file: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]
        file += try DeflateTests.deflate(content, Deflater())
        for value in [crc ?? CRC32(of: content).value, UInt32(content.count)] {
            withUnsafeBytes(of: value.littleEndian) { file += $0 }
        }
        return file
    }

    /// A frame of raw blocks, and of blocks of one repeated byte (RFC 8878, section 3.1.1).
    static func zstd(_ content: [UInt8], zeros: Int = 0) -> [UInt8] {
        // No size, no checksum, no dictionary; a window of 128 KiB.
        var frame: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38]
        func block(isLast: Bool, type: Int, size: Int, _ bytes: [UInt8]) {
            let header = (isLast ? 1 : 0) | type << 1 | size << 3
            frame += [0, 8, 16].map { UInt8(truncatingIfNeeded: header >> $0) } + bytes
        }
        for start in stride(from: 0, to: content.count, by: 1 << 16) {
            let piece = Array(content[start..<min(start + 1 << 16, content.count)])
            block(isLast: false, type: 0, size: piece.count, piece)
        }
        for _ in 0..<zeros / (1 << 17) { block(isLast: false, type: 1, size: 1 << 17, [0]) }
        block(isLast: true, type: 0, size: 0, [])
        return frame
    }

    /// A stream of blocks that are not compressed (RFC 7932, sections 9.1 and 9.2).
    static func brotli(_ content: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = []
        for start in stride(from: 0, to: content.count, by: 1 << 16) {
            let piece = content[start..<min(start + 1 << 16, content.count)]
            // Not the last; four nibbles of length, less one; not compressed.
            var header = (piece.count - 1) << 3 | 1 << 19
            // WBITS: a single zero stands for 16.
            if stream.isEmpty { header <<= 1 }
            stream += [0, 8, 16].map { UInt8(truncatingIfNeeded: header >> $0) } + piece
        }
        // The last, and empty.
        return stream + [0x03]
    }
}
