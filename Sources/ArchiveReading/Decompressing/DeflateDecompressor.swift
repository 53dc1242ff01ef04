internal import CZlib
internal import Platform

/// DEFLATE by zlib, with or without gzip's wrapping.
final class DeflateDecompressor: Decompressor {
    enum Wrapping: String {
        /// Nothing (RFC 1951), as in zip archives.
        case none = "DEFLATE"
        /// gzip (RFC 1952), whose checksum and length zlib compares; several members are one content (section 2.2).
        case gzip
    }

    private let archive: ArchiveName
    private let wrapping: Wrapping
    /// It may not move, because zlib points back at it.
    private let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    init(_ archive: ArchiveName, _ wrapping: Wrapping) throws(StoreError) {
        self.archive = archive
        self.wrapping = wrapping
        state.initialize(to: z_stream())
        // 16 more: a gzip header and trailer; negative: neither header nor trailer (zlib.h).
        let done = inflateInit2_(
            state, wrapping == .gzip ? 16 + MAX_WBITS : -MAX_WBITS, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        guard done == Z_OK else {
            throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        }
    }

    deinit {
        inflateEnd(state)
        state.deallocate()
    }

    func step(
        _ input: inout UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        state.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        state.pointee.avail_in = uInt(input.count)
        state.pointee.next_out = buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
        state.pointee.avail_out = uInt(buffer.count)
        let done = inflate(state, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(
            rebasing: input[(input.count - Int(state.pointee.avail_in))...])
        let count = buffer.count - Int(state.pointee.avail_out)
        switch done {
        case Z_OK, Z_BUF_ERROR: return (count, false)
        case Z_STREAM_END: return (count, true)
        case Z_MEM_ERROR: throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        default:
            let said = state.pointee.msg.map { String(cString: $0) }
            throw archive.refusal("it is damaged (\(wrapping.rawValue): \(said ?? "not one"))")
        }
    }

    func restart() -> Bool { wrapping == .gzip && inflateReset(state) == Z_OK }
}
