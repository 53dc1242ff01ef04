internal import Platform

/// The largest dictionary named by a file in a zip archive, which is the memory of its decoder.
///
/// libarchive sets no limit for LZMA and XZ; BZip2 has its own.
struct RareDictionary {
    private let source: ArchiveSource
    private let end: Int64
    private var position: Int64
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0

    private init(_ source: ArchiveSource, _ content: Range<Int64>) {
        self.source = source
        (position, end) = (content.lowerBound, content.upperBound)
    }

    /// Its size in bytes; 0 if none is named before damage, at which libarchive stops as well.
    static func byteCount(
        of file: ZipFile, in source: ArchiveSource
    ) throws(StoreError) -> Int64 {
        var reading = RareDictionary(source, file.content)
        switch file.header.method {
        // Two bytes of a version, two of a length, and the properties (APPNOTE.TXT 6.3.10, 5.8.8).
        case 14: return Zip.number(try reading.take(9) ?? [], 5, 4)
        case 95: return try reading.largestOfBlocks()
        default: return 0
        }
    }

    private mutating func take(_ count: Int) throws(StoreError) -> [UInt8]? {
        guard Int64(count) <= end - position else { return nil }
        if position + Int64(count) > windowStart + Int64(window.count) {
            window = try source.read(at: position, count: Int(min(end - position, 64 << 10)))
            windowStart = position
        }
        let start = Int(position - windowStart)
        position += Int64(count)
        return Array(window[start..<start + count])
    }

    // MARK: XZ (the .xz file format 1.2.1)

    /// Each block has its own header, and only its chunks tell reliably where it ends.
    private mutating func largestOfBlocks() throws(StoreError) -> Int64 {
        var largest: Int64 = 0
        guard let stream = try take(12) else { return largest }
        // 2.1.1.2: what kind of checksum follows each block.
        let kind = Int64(stream[7] & 15)
        let checkByteCount: Int64 = kind == 0 ? 0 : 4 << ((kind - 1) / 3)
        // A zero begins the index, with which the stream ends.
        while let size = try take(1)?[0], size != 0, let header = try take(Int(size) * 4 + 3) {
            largest = max(largest, Self.dictionary(of: header))
            guard try skipChunks() else { break }
            position += checkByteCount
        }
        return largest
    }

    /// The dictionary in a block's header behind its first byte (3.1).
    private static func dictionary(of header: [UInt8]) -> Int64 {
        var rest = header.dropFirst()
        func number() -> Int {
            var value: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 63, by: 7) {
                guard let byte = rest.popFirst() else { break }
                value |= UInt64(byte & 0x7F) << shift
                if byte & 0x80 == 0 { break }
            }
            return Int(value)
        }
        for size: UInt8 in [0x40, 0x80] where header[0] & size != 0 { _ = number() }
        var largest: Int64 = 0
        for _ in 0...(header[0] & 3) {
            let (filter, byteCount) = (number(), number())
            // 5.3.1: LZMA2's only property.
            if filter == 0x21, let bits = rest.first.map({ Int64($0 & 0x3F) }) {
                largest = max(largest, (2 | bits & 1) << (bits / 2 + 11))
            }
            rest = rest.dropFirst(byteCount)
        }
        return largest
    }

    /// Skips a block's bytes, which are LZMA2's as the last of all filters, and their padding to four.
    private mutating func skipChunks() throws(StoreError) -> Bool {
        let start = position
        while let control = try take(1)?[0], control != 0 {
            let isCompressed = control >= 0x80
            guard isCompressed || control <= 2, let sizes = try take(isCompressed ? 4 : 2) else {
                return false
            }
            position += Int64(sizes[sizes.count - 2]) << 8 | Int64(sizes[sizes.count - 1])
            // Properties come before the bytes, of which there is one more than it says.
            position += control >= 0xC0 ? 2 : 1
        }
        position += (start - position) & 3
        return true
    }
}
