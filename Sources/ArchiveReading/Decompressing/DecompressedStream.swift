internal import Platform

/// The decompressed content of an archive, block by block.
final class DecompressedStream {
    private let source: ArchiveSource
    private let decompressor: any Decompressor
    private let compression: ArchiveFormat.Compression
    private var isCompressed: Bool { compression != .none }
    private let given = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 64 << 10, alignment: 16)
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 128 << 10, alignment: 16)
    private var input = UnsafeRawBufferPointer(start: nil, count: 0)
    private var block = UnsafeRawBufferPointer(start: nil, count: 0)
    private var isSourceOver = false
    /// Whether a compressed stream has just ended at the input's position.
    private var isBetween = false
    private var isPadded = false
    private(set) var byteCount: Int64 = 0
    /// Whether the end of the content was requested and returned.
    private(set) var isOver = false

    init(_ source: ArchiveSource, _ compression: ArchiveFormat.Compression) throws(StoreError) {
        self.source = source
        self.compression = compression
        switch compression {
        case .none: decompressor = Uncompressed()
        case .gzip: decompressor = try DeflateDecompressor(source.name, .gzip)
        case .zstd: decompressor = try ZstdDecompressor(source.name)
        case .brotli: decompressor = try BrotliDecompressor(source.name)
        }
    }

    deinit {
        given.deallocate()
        buffer.deallocate()
    }

    /// The next block, valid until the next call; empty at the end.
    /// - Throws: `.badArchive` if it is damaged, cut off, or followed by something; `.tooLarge`; what reading throws.
    func next() throws(StoreError) -> UnsafeRawBufferPointer {
        while true {
            if input.isEmpty, !isSourceOver {
                let count = try source.read(into: given)
                input = UnsafeRawBufferPointer(rebasing: given[..<count])
                isSourceOver = count == 0
            }
            if input.isEmpty, isSourceOver, isBetween || !isCompressed {
                isOver = true
                return input
            }
            if isBetween, compression == .gzip, input.first == 0 {
                // Like gzip(1), ignores zeros after the last member, which pad blocks of a tape.
                isPadded = true
                input = UnsafeRawBufferPointer(rebasing: input.drop { $0 == 0 })
                continue
            }
            if isBetween {
                guard !isPadded, decompressor.restart() else {
                    throw source.name.refusal("something follows its compressed bytes")
                }
                isBetween = false
            }
            let before = input.count
            let done = try decompressor.step(&input, into: buffer)
            isBetween = done.isOver
            if done.count == 0, !done.isOver, isSourceOver, before == 0 {
                throw source.name.refusal("it is cut off")
            }
            guard done.count > 0 else { continue }
            byteCount += Int64(done.count)
            if isCompressed {
                try Expansion.check(byteCount, from: source.offset, of: source.name)
            }
            block = UnsafeRawBufferPointer(rebasing: buffer[..<done.count])
            return block
        }
    }

    var sourceByteCount: Int64 { source.offset }

    /// The last bytes of the block that ``next()`` gave.
    func last(_ count: Int64) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: block[(block.count - min(block.count, Int(count)))...])
    }
}
