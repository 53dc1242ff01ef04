import Archives
import Platform

/// A zip archive as somebody else makes it: every field can be wrong.
///
/// By APPNOTE.TXT 6.3.10.
struct ForeignZip {
    struct Entry {
        var name: [UInt8]
        var content: [UInt8]
        var flags: UInt16 = 0
        var method: UInt16 = 0
        /// The upper half of the external attributes, if they are Unix'.
        var mode: UInt32 = 0o100644
        /// What the headers say instead of the truth.
        var crc: UInt32?
        var stored: UInt32?
        var byteCount: UInt32?
        /// What the local header says instead of the central one.
        var localName: [UInt8]?
        var localCRC: UInt32?
        var localStored: UInt32?
        var localByteCount: UInt32?
        var localFlags: UInt16?
        /// Where the central header says that the file begins.
        var offset: UInt32?

        init(_ name: String, _ content: String = "content", mode: UInt32 = 0o100644) {
            self.name = Array(name.utf8)
            self.content = Array(content.utf8)
            self.mode = mode
            if name.utf8.contains(where: { $0 > 127 }) { flags = 0x800 }
        }
    }

    var entries: [Entry]
    var before: [UInt8] = []
    var between: [UInt8] = []
    var comment: [UInt8] = []
    var after: [UInt8] = []
    /// Whether its end is that of a large archive (4.3.14 and 4.3.15), with so many bytes before the locator.
    var largeEnd: [UInt8]?

    init(_ entries: Entry...) { self.entries = entries }

    func bytes() -> [UInt8] {
        var archive = before
        var directory: [UInt8] = []
        for entry in entries {
            let offset = archive.count
            let crc = entry.crc ?? CRC32(of: entry.content).value
            let local = entry.localName ?? entry.name
            let numbers = [
                crc, entry.stored ?? UInt32(entry.content.count),
                entry.byteCount ?? UInt32(entry.content.count),
            ]
            func common(_ flags: UInt16, _ numbers: [UInt32], _ name: [UInt8]) -> [UInt8] {
                var bytes = le(20, 2) + le(UInt64(flags), 2) + le(UInt64(entry.method), 2)
                bytes += le(0, 2) + le(0x21, 2) + numbers.flatMap { le(UInt64($0), 4) }
                return bytes + le(UInt64(name.count), 2) + le(0, 2)
            }
            let told = [
                entry.localCRC ?? crc, entry.localStored ?? numbers[1],
                entry.localByteCount ?? numbers[2],
            ]
            archive += [0x50, 0x4b, 3, 4] + common(entry.localFlags ?? entry.flags, told, local)
            archive += local + entry.content
            // The data descriptor (4.3.9).
            if entry.flags & 8 != 0 {
                archive += [0x50, 0x4b, 7, 8] + numbers.flatMap { le(UInt64($0), 4) }
            }
            directory += [0x50, 0x4b, 1, 2] + le(0x314, 2)
            directory += common(entry.flags, numbers, entry.name)
            directory += le(0, 6) + le(UInt64(entry.mode) << 16, 4)
            directory += le(UInt64(entry.offset ?? UInt32(offset)), 4) + entry.name
        }
        archive += between
        let start = archive.count
        archive += directory
        if let gap = largeEnd {
            let count = UInt64(entries.count)
            let end = UInt64(archive.count)
            archive += [0x50, 0x4b, 6, 6] + le(44, 8) + le(45, 2) + le(45, 2) + le(0, 8)
            archive += le(count, 8) + le(count, 8) + le(UInt64(directory.count), 8)
            archive += le(UInt64(start), 8) + gap
            archive += [0x50, 0x4b, 6, 7] + le(0, 4) + le(end, 8) + le(1, 4)
            archive += [0x50, 0x4b, 5, 6] + le(0, 4) + le(.max, 4) + le(.max, 8)
            return archive + le(0, 2)
        }
        archive += [0x50, 0x4b, 5, 6] + le(0, 4)
        archive += le(UInt64(entries.count), 2) + le(UInt64(entries.count), 2)
        archive += le(UInt64(directory.count), 4) + le(UInt64(start), 4)
        return archive + le(UInt64(comment.count), 2) + comment + after
    }

    private func le(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }
}
