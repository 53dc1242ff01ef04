/// How a stream's bytes go through its socket, plain or by TLS; belongs to its loop's thread.
struct ByteChannel {
    var socket: Int32
    var session: TLSSession?

    /// Receives what has come; `.end` is an orderly end.
    @inline(__always)
    func receive(_ buffer: UnsafeMutableRawBufferPointer) -> Socket.Transfer {
        if let session { return session.receive(buffer) }
        return Socket.receive(socket, buffer)
    }

    /// Sends as many bytes as the system takes at once.
    /// - Parameter more: more follows at once; the system may wait for it to fill a packet.
    @inline(__always)
    func send(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Socket.Transfer {
        if let session { return session.send(bytes) }
        return Socket.send(socket, bytes, more: more)
    }

    /// Announces that nothing more will be sent, where bytes alone cannot tell an end from a cut.
    /// - Returns: `false` if the system would have to wait.
    func sayClosing() -> Bool { session?.sayClosing() ?? true }
}
