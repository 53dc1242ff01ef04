internal import CZlib
package import Platform

/// Compresses streams of bytes as raw DEFLATE (RFC 1951), level 9, by zlib; one after the other.
///
/// This is the content of a zip archive's member and, between a header and a trailer, of a gzip file (RFC 1952). It
/// takes half a mebibyte of memory. Another zlib may give other bytes. Not for use by two threads at once.
package final class Deflater {
    /// At a fixed place: zlib's state points back at it.
    private let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
    package private(set) var byteCount: Int64 = 0

    /// - Throws: `.outOfMemory`.
    package init() throws(StoreError) {
        state.initialize(to: z_stream())
        // Nine is the most memory, for the best search; a negative window has neither header nor trailer (zlib.h).
        let done = deflateInit2_(
            state, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY,
            ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard done == Z_OK else {
            throw StoreError(.outOfMemory, "unable to prepare to compress: out of memory")
        }
    }

    deinit {
        deflateEnd(state)
        state.deallocate()
        buffer.deallocate()
    }

    /// Adds a piece of the stream.
    /// - Parameter sink: gets the compressed pieces, in order; may not keep them.
    /// - Throws: what `sink` throws; then call ``reset()`` before anything else.
    package func add(
        _ piece: UnsafeRawBufferPointer,
        _ sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        try run(piece, Z_NO_FLUSH, sink)
    }

    /// Ends the stream and begins the next one.
    /// - Parameter sink: gets the rest of the compressed pieces, in order.
    /// - Returns: the number of the compressed stream's bytes, all pieces together.
    /// - Throws: what `sink` throws; then call ``reset()`` before anything else.
    package func finish(
        _ sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> Int64 {
        try run(UnsafeRawBufferPointer(start: nil, count: 0), Z_FINISH, sink)
        let total = byteCount
        reset()
        return total
    }

    /// Discards an unfinished stream, and begins the next one.
    package func reset() {
        byteCount = 0
        deflateReset(state)
    }

    private func run(
        _ piece: UnsafeRawBufferPointer, _ flush: Int32,
        _ sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var rest = piece
        repeat {
            let count = min(rest.count, 1 << 30)
            state.pointee.next_in = UnsafeMutablePointer(
                mutating: rest.baseAddress?.assumingMemoryBound(to: UInt8.self))
            state.pointee.avail_in = uInt(count)
            repeat {
                state.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
                state.pointee.avail_out = uInt(buffer.count)
                // zlib returns anything else only for a caller's mistake, and this caller makes none.
                let done = deflate(state, flush)
                precondition(done == Z_OK || done == Z_STREAM_END || done == Z_BUF_ERROR)
                let given = buffer.count - Int(state.pointee.avail_out)
                byteCount += Int64(given)
                if given > 0 { try sink(UnsafeRawBufferPointer(rebasing: buffer[..<given])) }
                if done == Z_STREAM_END { return }
            } while state.pointee.avail_out == 0
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } while !rest.isEmpty
    }
}
