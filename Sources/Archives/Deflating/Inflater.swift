internal import CZlib
package import Platform

/// Gives back what raw DEFLATE (RFC 1951) holds, from anybody, one stream after the other.
///
/// Takes a hundred kibibytes of memory, whatever a stream holds. A stream of a few kibibytes may hold a thousand
/// times as many: whoever keeps the bytes limits them in the sink. Not for use by two threads at once.
package final class Inflater {
    private let stream = ZlibStream()
    private var isOver = false

    /// Prepares the first stream.
    /// - Throws: `.outOfMemory`.
    package init() throws(StoreError) {
        let done = inflateInit2_(
            stream.state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard done == Z_OK else {
            throw StoreError(.outOfMemory, "unable to prepare to decompress: out of memory")
        }
    }

    deinit { inflateEnd(stream.state) }

    /// Adds a piece of the compressed stream.
    /// - Parameter sink: gets the pieces of the content, in order; may not keep them.
    /// - Throws: `.mismatch` for anything but DEFLATE, and for bytes after its end; what `sink` throws;
    ///   ``reset()`` then before anything else.
    package func add(
        _ piece: UnsafeRawBufferPointer,
        _ sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard !piece.isEmpty else { return }
        if isOver { throw .badDeflate("something follows it") }
        let rest = try stream.run(piece) { (state) throws(StoreError) -> Bool in
            switch inflate(state, Z_NO_FLUSH) {
            case Z_OK, Z_BUF_ERROR: return false
            case Z_STREAM_END:
                isOver = true
                return true
            case Z_MEM_ERROR:
                throw StoreError(.outOfMemory, "unable to decompress: out of memory")
            default:
                let said = state.pointee.msg.map { String(cString: $0) }
                throw .badDeflate(said ?? "it is none")
            }
        } sink: { (bytes) throws(StoreError) in
            try sink(bytes)
        }
        if rest > 0 { throw .badDeflate("something follows it") }
    }

    /// Ends the compressed stream and begins the next one.
    /// - Throws: `.mismatch` if the stream is cut off; ``reset()`` then before anything else.
    package func finish() throws(StoreError) {
        guard isOver else { throw .badDeflate("it is cut off") }
        reset()
    }

    /// Forgets a stream that was not finished, and begins the next one.
    package func reset() {
        isOver = false
        inflateReset(stream.state)
    }
}

extension StoreError {
    fileprivate static func badDeflate(_ problem: String) -> StoreError {
        StoreError(.mismatch, "compressed bytes are refused: \(problem)")
    }
}
