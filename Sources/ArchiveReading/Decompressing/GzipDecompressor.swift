internal import CZlib
internal import Platform

/// gzip (RFC 1952) by zlib, which compares its checksum and length; several members are one content (section 2.2).
final class GzipDecompressor: Decompressor {
    private let archive: ArchiveName
    /// zlib points back at it: it may not move.
    private let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// - Throws: `.outOfMemory`.
    init(_ archive: ArchiveName) throws(StoreError) {
        self.archive = archive
        state.initialize(to: z_stream())
        // 16: a gzip header and trailer (zlib.h).
        let done = inflateInit2_(
            state, 16 + MAX_WBITS, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        guard done == Z_OK else {
            throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        }
    }

    deinit {
        inflateEnd(state)
        state.deallocate()
    }

    func step(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        state.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        state.pointee.avail_in = uInt(input.count)
        state.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        state.pointee.avail_out = uInt(room.count)
        let done = inflate(state, Z_NO_FLUSH)
        input = UnsafeRawBufferPointer(
            rebasing: input[(input.count - Int(state.pointee.avail_in))...])
        let count = room.count - Int(state.pointee.avail_out)
        switch done {
        case Z_OK, Z_BUF_ERROR: return (count, false)
        case Z_STREAM_END: return (count, true)
        case Z_MEM_ERROR: throw StoreError(.outOfMemory, "unable to decompress: out of memory")
        default:
            let said = state.pointee.msg.map { String(cString: $0) }
            throw archive.refusal("it is damaged (gzip: \(said ?? "not one"))")
        }
    }

    func restart() -> Bool { inflateReset(state) == Z_OK }
}
