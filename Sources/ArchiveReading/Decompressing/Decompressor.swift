internal import Platform

/// Decompresses a stream step by step, never writing more than fits; belongs to one thread.
protocol Decompressor: AnyObject {
    /// - Parameters:
    ///   - input: the bytes still to be decompressed, without used ones afterwards; empty at the end of the archive.
    ///   - buffer: where the content goes.
    /// - Returns: how many bytes came out, and whether the stream is over.
    /// - Throws: `.badArchive`, `.outOfMemory`.
    func step(
        _ input: inout UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool)

    /// Begins another stream after one that is over; `false` if an archive has only one.
    func restart() -> Bool
}

final class Uncompressed: Decompressor {
    func step(
        _ input: inout UnsafeRawBufferPointer, into buffer: UnsafeMutableRawBufferPointer
    ) throws(StoreError) -> (count: Int, isOver: Bool) {
        let count = min(input.count, buffer.count)
        buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[..<count]))
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        return (count, false)
    }

    func restart() -> Bool { false }
}
