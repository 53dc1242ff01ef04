internal import Platform
internal import VersionTree

/// The directory of a zip archive, read strictly: it ends where the archive ends, and has only one interpretation.
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
    private static let commentByteCountMax = 0xFFFF
    private static let locatorByteCount = 20

    /// The files, in the order of the directory.
    /// - Throws: `.badArchive`, `.badPath`.
    func read() throws(StoreError) -> [ZipFile] {
        let (end, record) = try end()
        let directory = try extent(record, end)
        var layout = ZipLayout(source, before: directory.offset)
        try readHeaders(directory, into: &layout)
        try layout.check()
        return layout.files
    }

    /// Where the end record begins, and its bytes with the archive's comment.
    ///
    /// Zeros may follow it, with which bsdtar pads its output to a pipe. All readers of such an archive find the same
    /// record, because zeros contain no other.
    private func end() throws(StoreError) -> (position: Int64, record: [UInt8]) {
        let start = max(0, size - Int64(Self.endByteCount + Self.commentByteCountMax))
        let tail = try source.read(at: start, count: Int(size - start))
        let contentEnd = (tail.lastIndex { $0 != 0 } ?? -1) + 1
        let signature = Zip.signature(5, 6)
        var last: Int?
        var ends: [Range<Int>] = []
        for index in tail.indices
        where tail[index] == signature[0] && tail[index...].starts(with: signature) {
            last = index
            guard tail.count - index >= Self.endByteCount else { continue }
            let end = index + Self.endByteCount + Int(Zip.number(tail[index...], 20, 2))
            if end >= contentEnd, end <= tail.count { ends.append(index..<end) }
        }
        guard let last else {
            if tail.count >= 4, ArchiveFormat.partMarks.contains(try source.read(at: 0, count: 4)) {
                throw part()
            }
            throw source.name.refusal(
                "it is damaged, or cut off: it has no end record; make it anew, or unpack it and add the directory"
            )
        }
        guard let end = ends.last else { throw damaged("something follows its end record") }
        // Readers differ in which of two end records they use.
        guard ends.count == 1, end.lowerBound == last else {
            throw damaged("its comment contains another end record")
        }
        return (start + Int64(end.lowerBound), Array(tail[end]))
    }

    private struct Extent {
        var count: Int64
        var byteCount: Int64
        var offset: Int64
    }

    private func extent(_ record: [UInt8], _ end: Int64) throws(StoreError) -> Extent {
        // Parts are numbered from 0; all ones defer to the record of a large archive.
        guard [4, 6].allSatisfy({ [0, 0xFFFF].contains(Zip.number(record, $0, 2)) }) else {
            throw part()
        }
        var extent = Extent(
            count: Zip.number(record, 10, 2), byteCount: Zip.number(record, 12, 4),
            offset: Zip.number(record, 16, 4))
        var limit = end
        if let large = try largeEnd(before: end) {
            let told = extent
            (extent, limit) = large
            // Readers without support for large archives use the small record.
            let isSame =
                [extent.count, 0xFFFF].contains(told.count)
                && [extent.byteCount, 0xFFFF_FFFF].contains(told.byteCount)
                && [extent.offset, 0xFFFF_FFFF].contains(told.offset)
            guard isSame else { throw damaged("its two end records differ") }
        }
        guard extent.count >= 0, 0...limit ~= extent.offset,
            extent.byteCount == limit - extent.offset
        else { throw damaged("something lies between its directory and its end") }
        return extent
    }

    /// The end record of a large archive, and where it begins; `nil` without one.
    private func largeEnd(before end: Int64) throws(StoreError) -> (Extent, Int64)? {
        guard end >= Self.locatorByteCount else { return nil }
        let locator = try source.read(
            at: end - Int64(Self.locatorByteCount), count: Self.locatorByteCount)
        guard locator.starts(with: Zip.signature(6, 7)) else { return nil }
        let limit = Zip.number(locator, 8, 8)
        guard limit >= 0, limit <= end - 76 else { throw damaged("its end lies elsewhere") }
        let large = try source.read(at: limit, count: 56)
        guard large.starts(with: Zip.signature(6, 6)),
            Zip.number(large, 4, 8) == end - 20 - limit - 12
        else { throw damaged("its end lies elsewhere") }
        let extent = Extent(
            count: Zip.number(large, 32, 8), byteCount: Zip.number(large, 40, 8),
            offset: Zip.number(large, 48, 8))
        return (extent, limit)
    }

    private func readHeaders(
        _ directory: Extent, into layout: inout ZipLayout
    ) throws(StoreError) {
        var window: [UInt8] = []
        var (start, position, left) = (directory.offset, directory.offset, directory.count)
        let end = directory.offset + directory.byteCount
        while left > 0 {
            let wanted = min(end - position, Int64(46 + 3 * 0xFFFF))
            if position + wanted > start + Int64(window.count) {
                window = try source.read(at: position, count: Int(min(end - position, 1 << 20)))
                start = position
            }
            let bytes = window[Int(position - start)...]
            guard let rest = ZipHeader.rest(of: bytes, .central), bytes.count >= 46 + rest else {
                throw damaged("its directory is shorter than it says")
            }
            try layout.add(ZipHeader(bytes, .central, of: source.name))
            position += Int64(46 + rest)
            left -= 1
        }
        guard position == end else { throw damaged("its directory is longer than its files") }
    }

    private func part() -> StoreError {
        source.name.refusal(
            "it is a part of a zip archive of several files; join them (zip -s 0 parts.zip --out whole.zip), or unpack "
                + "them and add the directory")
    }

    private func damaged(_ problem: String) -> StoreError {
        source.name.refusal("it is damaged, or joined with something else: \(problem)")
    }
}
