internal import Platform
internal import VersionTree

/// A zip archive's header of a file, in its directory or before the file.
///
/// By APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12, 4.5.3 and 4.6.9.
struct ZipHeader {
    enum Place {
        case local
        /// In the directory at the end.
        case central

        var byteCount: Int { self == .local ? 30 : 46 }
        var signature: [UInt8] { self == .local ? Zip.signature(3, 4) : Zip.signature(1, 2) }
    }

    private(set) var name: [UInt8] = []
    /// 4.4.4.
    private(set) var flags: Int64 = 0
    /// 4.4.5.
    private(set) var method: Int64 = 0
    private(set) var crc: Int64 = 0
    /// The compressed size.
    private(set) var stored: Int64 = 0
    private(set) var byteCount: Int64 = 0
    private(set) var headerByteCount = 0
    /// Whether it has the field for large files (4.5.3).
    private(set) var isLarge = false
    /// The name by Info-ZIP's field (4.6.9), which some programs use instead; `nil` without it.
    private(set) var otherName: [UInt8]?
    /// Central: on which system it was made (4.4.2), and where its local header begins.
    private(set) var system: Int64 = 0
    private(set) var start: Int64 = 0
    /// Central: that system's attributes (4.4.15).
    private(set) var attributes: Int64 = 0
    /// Central: a comment on the file (4.4.26).
    private(set) var comment: [UInt8] = []

    static let hasDescriptor: Int64 = 8
    private static let isUTF8: Int64 = 0x800
    private static let isElsewhere: Int64 = 0xFFFF_FFFF

    var entry: String { String(decoding: name, as: UTF8.self) }
    var saysUTF8: Bool { flags & Self.isUTF8 != 0 || otherName == name }
    /// Whether its comment falsely claims to be UTF-8, for which some programs consider the whole archive damaged.
    var hasWrongComment: Bool {
        flags & Self.isUTF8 != 0 && String(validating: comment, as: UTF8.self) == nil
    }
    /// Whether it was made on Unix or macOS (4.4.2.2).
    var isFromUnix: Bool { system == 3 || system == 19 }
    /// The Unix mode; 0 if it has none.
    var mode: Int64 { isFromUnix ? attributes >> 16 : 0 }
    var isASCII: Bool { name.allSatisfy { $0 < 128 } }

    /// The size of name and fields behind the fixed part of a header; `nil` if that is incomplete.
    static func rest(of bytes: some RandomAccessCollection<UInt8>, _ place: Place) -> Int? {
        guard bytes.count >= place.byteCount, bytes.starts(with: place.signature) else {
            return nil
        }
        let at = place == .local ? 26 : 28
        let comment = place == .local ? 0 : Zip.number(bytes, 32, 2)
        return Int(Zip.number(bytes, at, 2) + Zip.number(bytes, at + 2, 2) + comment)
    }

    /// - Parameter bytes: begin with the header, and have all of it.
    /// - Throws: `.badArchive`, `.badPath`.
    init(
        _ bytes: some RandomAccessCollection<UInt8>, _ place: Place, of archive: ArchiveName
    ) throws(StoreError) {
        let shift = place == .local ? 0 : 2
        func number(_ offset: Int, _ count: Int) -> Int64 {
            Zip.number(bytes, offset + shift, count)
        }
        (flags, method, crc) = (number(6, 2), number(8, 2), number(14, 4))
        (stored, byteCount) = (number(18, 4), number(22, 4))
        let (nameCount, extraCount) = (Int(number(26, 2)), Int(number(28, 2)))
        headerByteCount = place.byteCount + nameCount + extraCount
        name = Array(bytes.dropFirst(place.byteCount).prefix(nameCount))
        guard !name.contains(0) else {
            throw archive.refusal("its name contains NUL", entry: entry, .badPath)
        }
        if place == .central {
            let commentByteCount = Int(Zip.number(bytes, 32, 2))
            comment = Array(bytes.dropFirst(headerByteCount).prefix(commentByteCount))
            headerByteCount += commentByteCount
            (system, attributes) = (Zip.number(bytes, 5, 1), Zip.number(bytes, 38, 4))
            start = Zip.number(bytes, 42, 4)
        }
        let extra = bytes.dropFirst(place.byteCount + nameCount).prefix(extraCount)
        try readFields(Array(extra), place, archive)
    }

    private mutating func readFields(
        _ extra: [UInt8], _ place: Place, _ archive: ArchiveName
    ) throws(StoreError) {
        var rest = extra[...]
        while rest.count >= 4 {
            let (kind, count) = (Zip.number(rest, 0, 2), Int(Zip.number(rest, 2, 2)))
            guard rest.count >= 4 + count else { break }
            let field = rest.dropFirst(4).prefix(count)
            rest = rest.dropFirst(4 + count)
            switch kind {
            case 1:
                guard !isLarge else { throw refusal("its sizes stand there twice", archive) }
                isLarge = true
                try readSizes(field, place, archive)
            case 0x7075:
                guard otherName == nil else {
                    throw refusal("another name of it stands there twice", archive)
                }
                // A version and the checksum of the name come before.
                otherName = Array(field.dropFirst(5))
            default: break
            }
        }
        // Android's tools pad with zeros to align contents for mapping.
        guard rest.allSatisfy({ $0 == 0 }) else {
            throw refusal("it is damaged: a field in its header is cut off", archive)
        }
        let isComplete = ![stored, byteCount, start].contains(Self.isElsewhere)
        guard isLarge || isComplete else {
            throw refusal("it is damaged: its size or place is not told", archive)
        }
    }

    /// Takes from the field for large files the numbers that the header defers to it, in this order.
    private mutating func readSizes(
        _ field: ArraySlice<UInt8>, _ place: Place, _ archive: ArchiveName
    ) throws(StoreError) {
        var numbers = field
        for part in [\ZipHeader.byteCount, \.stored, \.start]
        where self[keyPath: part] == Self.isElsewhere {
            let value = Zip.number(numbers, 0, 8)
            guard numbers.count >= 8, value >= 0 else {
                throw refusal("it is damaged: its size or place is not told", archive)
            }
            numbers = numbers.dropFirst(8)
            self[keyPath: part] = value
        }
    }

    private func refusal(_ problem: String, _ archive: ArchiveName) -> StoreError {
        archive.refusal(problem, entry: entry)
    }
}

enum Zip {
    static func signature(_ third: UInt8, _ fourth: UInt8) -> [UInt8] {
        [0x50, 0x4B, third, fourth]
    }

    /// A little-endian number at an offset; negative if it is beyond what a file can have.
    static func number(
        _ bytes: some RandomAccessCollection<UInt8>, _ offset: Int, _ count: Int
    ) -> Int64 {
        var value: UInt64 = 0
        for byte in bytes.dropFirst(offset).prefix(count).reversed() {
            value = value << 8 | UInt64(byte)
        }
        return Int64(exactly: value) ?? -1
    }

    static func bytes(_ value: Int64, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> Int64(8 * $0)) }
    }
}
