internal import Platform

/// Decompresses a stream step by step: what comes out never exceeds the room that is given.
///
/// Belongs to one thread.
protocol Decompressor: AnyObject {
    /// Moves on.
    ///
    /// - Parameters:
    ///   - input: what is still to be decompressed; what was used is taken away. Empty at the end of the archive.
    ///   - room: where the content goes.
    /// - Returns: how many bytes came out, and whether the stream is over.
    /// - Throws: `.badArchive`, `.outOfMemory`.
    func step(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool)

    /// Begins another stream after one that is over; `false` if only one makes an archive.
    func restart() -> Bool
}

/// Bytes as they are.
final class Uncompressed: Decompressor {
    func step(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        let count = min(input.count, room.count)
        room.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return (count, false)
    }

    func restart() -> Bool { false }
}
