internal import CZlib

/// Gives back what raw DEFLATE (RFC 1951) holds, one stream after the other.
package final class Inflater {
    private let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var isOver = false

    package init() throws(StoreError) {
        state.initialize(to: z_stream())
        let done = inflateInit2_(
            state, -MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard done == Z_OK else { throw StoreError(.outOfMemory, "no inflater: out of memory") }
    }

    deinit {
        inflateEnd(state)
        state.deallocate()
    }

    /// Takes a piece of the stream.
    /// - Throws: `.mismatch` if the bytes are not DEFLATE, or the stream is over and bytes are left.
    package func add(
        _ piece: UnsafeRawBufferPointer,
        _ sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var space = [UInt8](repeating: 0, count: 64 << 10)
        state.pointee.next_in = UnsafeMutablePointer(
            mutating: piece.baseAddress?.assumingMemoryBound(to: UInt8.self))
        state.pointee.avail_in = uInt(piece.count)
        if isOver, !piece.isEmpty { throw Self.refusal("something follows it") }
        while !piece.isEmpty, !isOver {
            let (count, done) = space.withUnsafeMutableBufferPointer { space in
                state.pointee.next_out = space.baseAddress
                state.pointee.avail_out = uInt(space.count)
                let done = inflate(state, Z_NO_FLUSH)
                return (space.count - Int(state.pointee.avail_out), done)
            }
            guard [Z_OK, Z_BUF_ERROR, Z_STREAM_END].contains(done) else {
                throw Self.refusal("it is none")
            }
            isOver = done == Z_STREAM_END
            try space.span.extracting(0..<count).bytes.withUnsafeBytes(sink)
            if count < space.count { break }
        }
        if isOver, state.pointee.avail_in > 0 { throw Self.refusal("something follows it") }
    }

    /// Ends the stream and begins the next one.
    /// - Throws: `.mismatch` if the stream is not over.
    package func finish() throws(StoreError) {
        guard isOver else { throw Self.refusal("it is cut off") }
        reset()
    }

    /// Begins the next stream.
    package func reset() {
        isOver = false
        inflateReset(state)
    }

    private static func refusal(_ problem: String) -> StoreError {
        StoreError(.mismatch, "compressed bytes are refused: \(problem)")
    }
}
