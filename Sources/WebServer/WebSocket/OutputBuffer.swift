/// Frames waiting to be sent, as the bytes of the stream.
struct OutputBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var sent = 0

    var count: Int { bytes.count - sent }

    mutating func append(
        _ opcode: Opcode, _ payload: [UInt8], _ more: ArraySlice<UInt8> = []
    ) {
        FrameHeader.append(opcode, payloadCount: payload.count + more.count, to: &bytes)
        bytes.append(contentsOf: payload)
        bytes.append(contentsOf: more)
    }

    /// Passes the unsent bytes to `body` and drops as many as it returns.
    mutating func drain(_ body: (UnsafeRawBufferPointer) -> Int) {
        guard count > 0 else { return }
        let done = bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[sent...]))
        }
        precondition(done >= 0 && done <= count, "more was sent than there is")
        sent += done
        if sent == bytes.count {
            // A buffer that grew large is released; a small one is used again.
            if bytes.capacity > 256 << 10 {
                bytes = []
            } else {
                bytes.removeAll(keepingCapacity: true)
            }
            sent = 0
        } else if sent > 1 << 20, sent > bytes.count / 2 {
            bytes.removeFirst(sent)
            sent = 0
        }
    }
}
