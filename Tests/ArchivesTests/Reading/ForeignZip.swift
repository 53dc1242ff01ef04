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
        var localMethod: UInt16?
        /// Fields that follow the names (4.5).
        var extra: [UInt8] = []
        var localExtra: [UInt8] = []
        /// The version and the system that it was made by (4.4.2): 2.0, on Unix.
        var madeBy: UInt16 = 0x314
        /// What the archive holds of it, if that is not the content.
        var compressed: [UInt8]?
        /// What stands in the place of the data descriptor (4.3.9), and what follows it.
        var descriptor: [UInt8]?
        var after: [UInt8] = []
        /// Where the central header says that the file begins.
        var offset: UInt32?
        /// What the central header says about the file.
        var comment: [UInt8] = []

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
    /// What the small end record says of the number of entries, if the end is that of a large archive.
    var smallCount: UInt16 = .max
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
            let held = entry.compressed ?? entry.content
            let numbers = [
                crc, entry.stored ?? UInt32(held.count),
                entry.byteCount ?? UInt32(entry.content.count),
            ]
            func common(
                _ flags: UInt16, _ method: UInt16, _ numbers: [UInt32], _ name: [UInt8],
                _ extra: [UInt8]
            ) -> [UInt8] {
                var bytes = Self.le(20, 2) + Self.le(UInt64(flags), 2) + Self.le(UInt64(method), 2)
                bytes +=
                    Self.le(0, 2) + Self.le(0x21, 2) + numbers.flatMap { Self.le(UInt64($0), 4) }
                return bytes + Self.le(UInt64(name.count), 2) + Self.le(UInt64(extra.count), 2)
            }
            let told = [
                entry.localCRC ?? crc, entry.localStored ?? numbers[1],
                entry.localByteCount ?? numbers[2],
            ]
            archive += [0x50, 0x4b, 3, 4]
            archive += common(
                entry.localFlags ?? entry.flags, entry.localMethod ?? entry.method, told, local,
                entry.localExtra)
            archive += local + entry.localExtra + held
            if let descriptor = entry.descriptor {
                archive += descriptor
            } else if entry.flags & 8 != 0 {
                archive += [0x50, 0x4b, 7, 8] + numbers.flatMap { Self.le(UInt64($0), 4) }
            }
            archive += entry.after
            directory += [0x50, 0x4b, 1, 2] + Self.le(UInt64(entry.madeBy), 2)
            directory += common(entry.flags, entry.method, numbers, entry.name, entry.extra)
            directory += Self.le(UInt64(entry.comment.count), 2) + Self.le(0, 4)
            directory += Self.le(UInt64(entry.mode) << 16, 4)
            directory += Self.le(UInt64(entry.offset ?? UInt32(offset)), 4)
            directory += entry.name + entry.extra + entry.comment
        }
        archive += between
        let start = archive.count
        archive += directory
        if let gap = largeEnd {
            let count = UInt64(entries.count)
            let end = UInt64(archive.count)
            archive +=
                [0x50, 0x4b, 6, 6] + Self.le(44, 8) + Self.le(45, 2) + Self.le(45, 2)
                + Self.le(0, 8)
            archive += Self.le(count, 8) + Self.le(count, 8) + Self.le(UInt64(directory.count), 8)
            archive += Self.le(UInt64(start), 8) + gap
            archive += [0x50, 0x4b, 6, 7] + Self.le(0, 4) + Self.le(end, 8) + Self.le(1, 4)
            archive += [0x50, 0x4b, 5, 6] + Self.le(0, 4) + Self.le(UInt64(smallCount), 2)
            archive += Self.le(UInt64(smallCount), 2) + Self.le(.max, 8)
            return archive + Self.le(0, 2)
        }
        archive += [0x50, 0x4b, 5, 6] + Self.le(0, 4)
        archive += Self.le(UInt64(entries.count), 2) + Self.le(UInt64(entries.count), 2)
        archive += Self.le(UInt64(directory.count), 4) + Self.le(UInt64(start), 4)
        return archive + Self.le(UInt64(comment.count), 2) + comment + after
    }

    /// An archive's bytes before its directory: local headers and contents.
    static func files(_ entry: Entry) -> [UInt8] {
        let held = (entry.compressed ?? entry.content).count + entry.localExtra.count
        return Array(ForeignZip(entry).bytes().prefix(30 + entry.name.count + held))
    }

    static func field(_ kind: UInt64, _ content: [UInt8]) -> [UInt8] {
        Self.le(kind, 2) + Self.le(UInt64(content.count), 2) + content
    }

    /// Info-ZIP's field with another name of an entry (4.6.9).
    static func otherName(_ name: String, of entry: String) -> [UInt8] {
        field(
            0x7075, [1] + Self.le(UInt64(CRC32(of: Array(entry.utf8)).value), 4) + Array(name.utf8))
    }

    static func le(_ value: UInt64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt64(8 * $0)) }
    }
}
