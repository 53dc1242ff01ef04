internal import CZstd
package import Platform

/// Decodes zstd frames (RFC 8878) from untrusted sources, one after the other.
///
/// Not for use by two threads at once. Never writes beyond the caller's buffers.
package final class ZstdDecoder {
    private let context: OpaquePointer

    /// - Throws: `.outOfMemory`.
    package init() throws(StoreError) {
        guard let context = ZSTD_createDCtx() else {
            throw StoreError(.outOfMemory, "unable to prepare a decoder: out of memory")
        }
        self.context = context
    }

    deinit { ZSTD_freeDCtx(context) }

    /// Decodes a complete frame into a buffer of exactly its content's size.
    ///
    /// Needs no memory for the frame's window: the target is the window.
    /// - Parameter prefix: the prefix given to the frame's encoder; empty for none.
    /// - Throws: `.badFrame` for anything but one whole frame with content of that size.
    package func decode(
        _ frame: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer,
        into target: UnsafeMutableRawBufferPointer
    ) throws(StoreError) {
        let header = try ZstdHeader(of: frame)
        guard header.contentByteCount == UInt64(target.count) else {
            throw .badFrame(
                "its content has \(header.contentByteCount) bytes instead of \(target.count)")
        }
        try refuseMore(frame)
        try check(ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters))
        // Applies to the next frame only.
        if !prefix.isEmpty {
            try check(ZSTD_DCtx_refPrefix(context, prefix.baseAddress, prefix.count))
        }
        let count = try check(
            ZSTD_decompressDCtx(
                context, target.baseAddress, target.count, frame.baseAddress, frame.count))
        guard count == target.count else { throw .badFrame("its content is shorter than it says") }
    }

    /// Decodes a complete frame.
    /// - Parameter byteCount: the size that its content must have.
    /// - Throws: `.badFrame`.
    package func decode(
        _ frame: [UInt8], byteCount: Int, prefix: [UInt8] = []
    ) throws(StoreError) -> [UInt8] {
        var failure: StoreError?
        let content = [UInt8](unsafeUninitializedCapacity: byteCount) { buffer, count in
            let target = UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(buffer)[..<byteCount])
            do throws(StoreError) {
                try frame.span.bytes.withUnsafeBytes { (frame) throws(StoreError) in
                    try prefix.span.bytes.withUnsafeBytes { (prefix) throws(StoreError) in
                        try decode(frame, prefix: prefix, into: target)
                    }
                }
                count = byteCount
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return content
    }

    /// Decodes a complete frame, piece by piece.
    /// - Parameters:
    ///   - byteCount: the size that its content must have.
    ///   - windowByteCountMax: the most memory that the frame may demand for its window, a power of two.
    ///   - buffer: holds each piece.
    ///   - body: gets the pieces, in order; never more than `byteCount` bytes.
    /// - Throws: `.badFrame`; what `body` throws.
    package func decode(
        _ frame: UnsafeRawBufferPointer, byteCount: Int64, windowByteCountMax: Int,
        buffer: UnsafeMutableRawBufferPointer,
        _ body: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let header = try ZstdHeader(of: frame)
        guard header.contentByteCount == UInt64(byteCount) else {
            throw .badFrame(
                "its content has \(header.contentByteCount) bytes instead of \(byteCount)")
        }
        guard header.windowByteCount <= UInt64(windowByteCountMax) else {
            throw .badFrame("it needs \(header.windowByteCount) bytes of memory")
        }
        try refuseMore(frame)
        try check(ZSTD_DCtx_reset(context, ZSTD_reset_session_and_parameters))
        try check(
            ZSTD_DCtx_setParameter(
                context, ZSTD_d_windowLogMax, Int32(windowByteCountMax.trailingZeroBitCount)))
        var input = ZSTD_inBuffer(src: frame.baseAddress, size: frame.count, pos: 0)
        var rest = byteCount
        while true {
            var output = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: 0)
            let wanted = try check(ZSTD_decompressStream(context, &output, &input))
            guard Int64(output.pos) <= rest else { throw .badFrame("it has more than it says") }
            rest -= Int64(output.pos)
            try body(UnsafeRawBufferPointer(rebasing: buffer[..<output.pos]))
            if wanted == 0 { break }
            guard output.pos > 0 || input.pos < input.size else { throw .badFrame("it is cut off") }
        }
        guard rest == 0, input.pos == input.size else {
            throw .badFrame("its content is shorter than it says")
        }
    }

    /// Nothing may follow the frame, not even another one.
    private func refuseMore(_ frame: UnsafeRawBufferPointer) throws(StoreError) {
        let count = try check(ZSTD_findFrameCompressedSize(frame.baseAddress, frame.count))
        guard count == frame.count else { throw .badFrame("something follows it") }
    }

    @discardableResult
    private func check(_ result: Int) throws(StoreError) -> Int {
        guard ZSTD_isError(result) != 0 else { return result }
        throw .badFrame(String(cString: ZSTD_getErrorName(result)))
    }
}
