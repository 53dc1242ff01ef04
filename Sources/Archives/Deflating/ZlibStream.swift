internal import CZlib
internal import Platform

/// The state of a zlib stream at a fixed place, and room for what comes out of it.
///
/// zlib's state points back at the structure that it was begun with: it may not move.
final class ZlibStream {
    let state = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)

    init() { state.initialize(to: z_stream()) }

    deinit {
        state.deallocate()
        room.deallocate()
    }

    /// Moves a stream on until it has taken a piece and given all that it can.
    ///
    /// - Parameters:
    ///   - step: moves the stream on once; says whether the stream is over.
    ///   - sink: gets what comes out.
    /// - Returns: how many bytes of the piece the stream has left, since it is over.
    @discardableResult
    func run(
        _ piece: UnsafeRawBufferPointer,
        step: (UnsafeMutablePointer<z_stream>) throws(StoreError) -> Bool,
        sink: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> Int {
        var rest = piece
        repeat {
            // zlib counts in 32 bits.
            let count = min(rest.count, 1 << 30)
            // zlib only reads there: its C is older than `const`.
            state.pointee.next_in = UnsafeMutablePointer(
                mutating: rest.baseAddress?.assumingMemoryBound(to: UInt8.self))
            state.pointee.avail_in = uInt(count)
            while true {
                state.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
                state.pointee.avail_out = uInt(room.count)
                let isOver = try step(state)
                let given = room.count - Int(state.pointee.avail_out)
                if given > 0 { try sink(UnsafeRawBufferPointer(rebasing: room[..<given])) }
                if isOver { return rest.count - count + Int(state.pointee.avail_in) }
                // With room left, the stream has nothing more to give.
                if state.pointee.avail_out > 0 { break }
            }
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        } while !rest.isEmpty
        return 0
    }
}
