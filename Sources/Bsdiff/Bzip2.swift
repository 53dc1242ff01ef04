import CBzip2
import CLibraries
package import Platform

/// libbz2, which is loaded when it is first used.
package enum Bzip2 {
    /// Why libbz2 cannot be used, and what to install; `nil` if it is there.
    package static var problem: String? {
        castree_load_bzip2().map {
            "libbz2, which compresses patches, is not installed (\(String(cString: $0))); on Debian: apt install libbz2-1.0"
        }
    }

    /// The largest piece that is given to libbz2 at once.
    private static let pieceByteCount = 1 << 20
    private static let outputByteCount = 64 << 10

    /// Compresses bytes as one stream, at level 9.
    /// - Throws: `.unsupported` without libbz2; `.outOfMemory`; `.interrupted`.
    static func compress(
        _ bytes: UnsafeRawBufferPointer, isInterrupted: () -> Bool
    ) throws(StoreError) -> [UInt8] {
        var stream = bz_stream()
        try check(BZ2_bzCompressInit(&stream, 9, 0, 0))
        defer { _ = BZ2_bzCompressEnd(&stream) }
        let output = UnsafeMutableRawBufferPointer.allocate(
            byteCount: outputByteCount, alignment: 16)
        defer { output.deallocate() }
        // libbz2 reads through this pointer and never writes.
        let input = UnsafeMutableRawBufferPointer(mutating: bytes)
            .bindMemory(to: CChar.self).baseAddress
        var (compressed, offset, isFinished): ([UInt8], Int, Bool) = ([], 0, false)
        while !isFinished {
            if isInterrupted() { throw interrupted }
            let piece = min(pieceByteCount, bytes.count - offset)
            stream.next_in = input.map { $0 + offset }
            stream.avail_in = UInt32(piece)
            let isLast = offset + piece == bytes.count
            repeat {
                stream.next_out = output.bindMemory(to: CChar.self).baseAddress
                stream.avail_out = UInt32(output.count)
                let code = BZ2_bzCompress(&stream, isLast ? BZ_FINISH : BZ_RUN)
                guard [BZ_RUN_OK, BZ_FINISH_OK, BZ_STREAM_END].contains(code) else {
                    try check(code)
                    throw broken
                }
                compressed += output[..<(output.count - Int(stream.avail_out))]
                isFinished = code == BZ_STREAM_END
            } while isLast ? !isFinished : stream.avail_in > 0
            offset += piece
        }
        return compressed
    }

    fileprivate static func check(_ code: Int32) throws(StoreError) {
        switch code {
        case BZ_OK: return
        case BZ_MEM_ERROR: throw StoreError(.outOfMemory, "there is no memory for libbz2")
        case BZ_CONFIG_ERROR: throw StoreError(.unsupported, problem ?? "libbz2 does not work here")
        default: throw broken
        }
    }

    static var broken: StoreError { StoreError(.badPatch, "a patch has no sound bzip2 stream") }
    static var interrupted: StoreError {
        StoreError(.interrupted, "interrupted while patches were made")
    }
}

/// Reads the content of one bzip2 stream, piece by piece, in bounded memory.
final class Bzip2Reader {
    private var stream = bz_stream()
    private var isOver = false

    /// - Parameter bytes: begin with the stream, and must outlive the reader.
    /// - Throws: as ``Bzip2``.
    init(_ bytes: UnsafeRawBufferPointer) throws(StoreError) {
        try Bzip2.check(BZ2_bzDecompressInit(&stream, 0, 0))
        stream.next_in =
            UnsafeMutableRawBufferPointer(mutating: bytes)
            .bindMemory(to: CChar.self).baseAddress
        stream.avail_in = UInt32(clamping: bytes.count)
    }

    deinit { _ = BZ2_bzDecompressEnd(&stream) }

    /// Fills a buffer with the next bytes.
    /// - Throws: `.badPatch` if the stream ends before, or is damaged.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(StoreError) {
        var filled = 0
        while filled < buffer.count {
            guard !isOver else { throw Bzip2.broken }
            let space = min(buffer.count - filled, 1 << 30)
            stream.next_out = (buffer.baseAddress.map { $0 + filled })?
                .assumingMemoryBound(to: CChar.self)
            stream.avail_out = UInt32(space)
            let before = stream.avail_in
            let code = BZ2_bzDecompress(&stream)
            if code == BZ_STREAM_END { isOver = true } else { try Bzip2.check(code) }
            let count = space - Int(stream.avail_out)
            filled += count
            // Neither input nor output: it is truncated.
            if count == 0, !isOver, stream.avail_in == before { throw Bzip2.broken }
        }
    }
}

extension StoreError.Code {
    /// A binary patch breaks its format, or does not fit the file that it is applied to.
    package static let badPatch = Self("badPatch")
}
