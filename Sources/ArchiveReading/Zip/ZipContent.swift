internal import Platform

/// Reads a stored or deflated file in a zip archive to its last compressed byte.
///
/// A library would stop at the end of the content, while other programs may take further compressed bytes for files.
final class ZipContent {
    static let stored: Int64 = 0
    static let deflated: Int64 = 8
    static let methods: Set<Int64> = [stored, deflated]

    private let source: ArchiveSource
    private let given = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)

    init(_ source: ArchiveSource) { self.source = source }

    deinit { given.deallocate() }

    /// Calls `take` with the content, block by block.
    /// - Throws: `.badArchive` unless the compressed bytes, the size and the checksum are right to the last.
    func read(
        _ file: ZipFile, through buffer: UnsafeMutableRawBufferPointer,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let archive = source.name.reading(file.header.entry)
        let isStored = file.header.method == Self.stored
        let decompressor: any Decompressor =
            isStored ? Uncompressed() : try DeflateDecompressor(archive, .none)
        var (position, end) = (file.content.lowerBound, file.content.upperBound)
        var input = UnsafeRawBufferPointer(start: nil, count: 0)
        var (count, crc) = (Int64(0), CRC32())
        var isOver = isStored && position == end
        while !isOver {
            if input.isEmpty, position < end {
                let wanted = min(given.count, Int(end - position))
                let taken = try source.read(
                    at: position, into: UnsafeMutableRawBufferPointer(rebasing: given[..<wanted]))
                guard taken > 0 else { throw archive.refusal("it is cut off") }
                position += Int64(taken)
                input = UnsafeRawBufferPointer(rebasing: given[..<taken])
            }
            let before = input.count
            let done = try decompressor.step(&input, into: buffer)
            let block = UnsafeRawBufferPointer(rebasing: buffer[..<done.count])
            count += Int64(block.count)
            guard count <= file.header.byteCount else {
                throw archive.refusal("it is damaged (it has more than it says)")
            }
            crc.update(block)
            if !block.isEmpty { try take(block) }
            isOver = done.isOver || isStored && input.isEmpty && position == end
            guard isOver || before > 0 || done.count > 0 else {
                throw archive.refusal("it is damaged (its compressed bytes are cut off)")
            }
        }
        guard input.isEmpty, position == end else {
            throw archive.refusal(
                "it is damaged: something follows its compressed bytes that is not its content")
        }
        guard count == file.header.byteCount else {
            throw archive.refusal("it is damaged (it has less than it says)")
        }
        guard Int64(crc.value) == file.header.crc else {
            throw archive.refusal("it is damaged (its content has another CRC-32 than it says)")
        }
    }
}
