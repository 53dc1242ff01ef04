internal import CZstd
internal import Platform

/// zstd (RFC 8878); several frames are one content (section 3.1), to which skippable ones add nothing.
///
/// Takes no more than 128 MiB of memory, libzstd's own limit.
final class ZstdDecompressor: Decompressor {
    private let archive: ArchiveName
    private let context: OpaquePointer

    init(_ archive: ArchiveName) throws(StoreError) {
        guard let context = ZSTD_createDCtx() else {
            throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        }
        self.archive = archive
        self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    func step(
        _ input: inout UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        var given = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
        let wanted = ZSTD_decompressStream(context, &output, &given)
        guard ZSTD_isError(wanted) == 0 else {
            throw archive.refusal(
                "it is damaged, or needs more memory than is given "
                    + "(zstd: \(String(cString: ZSTD_getErrorName(wanted))))")
        }
        input = UnsafeRawBufferPointer(rebasing: input[given.pos...])
        return (output.pos, wanted == 0)
    }

    func restart() -> Bool { true }
}
