internal import Platform
internal import VersionTree

/// Looks at what libzip does not tell: that the archive ends where its directory says, and that no name contains NUL
/// (libzip puts a blank there).
///
/// By APPNOTE.TXT 6.3.10, sections 4.3.12 to 4.3.16.
struct ZipDirectory {
    private let source: ArchiveSource
    private let size: Int64

    init(_ source: ArchiveSource, size: Int64) {
        self.source = source
        self.size = size
    }

    private static let endByteCount = 22
    private static let headerByteCount = 46

    /// - Parameters:
    ///   - commentByteCount: the length of the archive's comment, as libzip has found it.
    ///   - comparesHeaders: also compare what stands before each file with the directory.
    /// - Throws: `.badArchive`.
    func check(commentByteCount: Int, comparingHeaders comparesHeaders: Bool) throws(StoreError) {
        let end = size - Int64(Self.endByteCount + commentByteCount)
        guard end >= 0 else { throw damaged("it has no end record") }
        let record = try source.read(at: end, count: Self.endByteCount + commentByteCount)
        guard record.starts(with: Self.signature(5, 6)), number(record, 20, 2) == commentByteCount
        else { throw damaged("something follows its end record") }
        // Which of two end records counts, each reader decides for itself.
        let comment = record[Self.endByteCount...]
        for position in comment.indices
        where comment[position...].starts(with: Self.signature(5, 6)) {
            throw damaged("its comment contains another end record")
        }
        var (count, byteCount, offset) = (
            number(record, 10, 2), number(record, 12, 4), number(record, 16, 4)
        )
        var limit = end
        if end >= 20 {
            let locator = try source.read(at: end - 20, count: 20)
            if locator.starts(with: Self.signature(6, 7)) {
                limit = number(locator, 8, 8)
                guard limit >= 0, limit <= end - 76 else { throw damaged("its end lies elsewhere") }
                let large = try source.read(at: limit, count: 56)
                guard large.starts(with: Self.signature(6, 6)),
                    number(large, 4, 8) == end - 20 - limit - 12
                else { throw damaged("its end lies elsewhere") }
                (count, byteCount, offset) = (
                    number(large, 32, 8), number(large, 40, 8), number(large, 48, 8)
                )
            }
        }
        guard offset >= 0, byteCount >= 0, offset <= limit, byteCount == limit - offset else {
            throw damaged("something lies between its directory and its end")
        }
        let files = try checkNames(
            count, offset, byteCount, headers: comparesHeaders ? ZipHeaders(source) : nil)
        try files?.check(before: offset)
    }

    private func checkNames(
        _ count: Int64, _ offset: Int64, _ byteCount: Int64, headers: ZipHeaders?
    ) throws(StoreError) -> ZipHeaders? {
        var headers = headers
        var window: [UInt8] = []
        var (start, position, left) = (offset, offset, count)
        let end = offset + byteCount
        while left > 0 {
            // A header, the longest name, and no more than is there.
            let wanted = min(end - position, Int64(Self.headerByteCount + 0xFFFF))
            if position + wanted > start + Int64(window.count) {
                window = try source.read(at: position, count: Int(min(end - position, 1 << 20)))
                start = position
            }
            let header = window[Int(position - start)...]
            guard header.count >= Self.headerByteCount, header.starts(with: Self.signature(1, 2))
            else { throw damaged("its directory is shorter than it says") }
            let nameCount = Int(number(header, 28, 2))
            let restCount = number(header, 30, 2) + number(header, 32, 2)
            guard header.count >= Self.headerByteCount + nameCount else {
                throw damaged("its directory is shorter than it says")
            }
            let name = header.dropFirst(Self.headerByteCount).prefix(nameCount)
            guard !name.contains(0) else {
                throw source.name.refusal(
                    "its name contains NUL", entry: String(decoding: name, as: UTF8.self), .badPath)
            }
            try headers?.compare(header, name: Array(name))
            position += Int64(Self.headerByteCount + nameCount) + restCount
            left -= 1
        }
        guard position == end else { throw damaged("its directory is longer than its files") }
        return headers
    }

    static func signature(_ third: UInt8, _ fourth: UInt8) -> [UInt8] {
        [0x50, 0x4B, third, fourth]
    }

    private func number(
        _ bytes: some RandomAccessCollection<UInt8>, _ offset: Int, _ count: Int
    ) -> Int64 {
        Self.number(bytes, offset, count)
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

    private func damaged(_ problem: String) -> StoreError {
        source.name.refusal("it is damaged, or joined with something else: \(problem)")
    }
}
