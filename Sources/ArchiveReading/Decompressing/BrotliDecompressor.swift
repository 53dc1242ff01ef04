internal import CBrotli
internal import Platform

/// brotli (RFC 7932), only with the RFC's own windows of at most 16 MiB.
final class BrotliDecompressor: Decompressor {
    private let archive: ArchiveName
    private let state: OpaquePointer

    init(_ archive: ArchiveName) throws(StoreError) {
        guard let state = BrotliDecoderCreateInstance(nil, nil, nil) else {
            throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        }
        self.archive = archive
        self.state = state
    }

    deinit { BrotliDecoderDestroyInstance(state) }

    func step(
        _ input: inout UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        var (givenCount, capacity) = (input.count, buffer.count)
        var given = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var output = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(
            state, &givenCount, &given, &capacity, &output, nil)
        input = UnsafeRawBufferPointer(rebasing: input[(input.count - givenCount)...])
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS: return (buffer.count - capacity, true)
        case BROTLI_DECODER_RESULT_ERROR:
            let said = BrotliDecoderErrorString(BrotliDecoderGetErrorCode(state))
            throw archive.refusal(
                "it is damaged (brotli: \(said.map { String(cString: $0) } ?? "not one"))")
        default: return (buffer.count - capacity, false)
        }
    }

    func restart() -> Bool { false }
}
