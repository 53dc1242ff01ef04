// Whether a stream's peer takes what is sent to it.
extension Stream {
    func beginProgress() {
        sentMark = sentByteCount
        acknowledgedMark = acknowledgedByteCount
    }

    /// Whether the peer has taken enough since the watch began, or since the last call.
    ///
    /// The system reports room only when a third of its buffer is free, which may be megabytes, so bytes that the
    /// peer has acknowledged count too.
    func hasProgressed() -> Bool {
        let acknowledged = acknowledgedByteCount
        let moved = max(sentByteCount - sentMark, acknowledged - acknowledgedMark)
        sentMark = sentByteCount
        acknowledgedMark = acknowledged
        return moved >= loop.options.minimumProgress
    }

    /// Asks the system; for streams that are stuck, not for every answer.
    private var acknowledgedByteCount: Int64 {
        sentByteCount - Int64(Socket.unacknowledgedByteCount(socket))
    }

    func deadlineReached() {
        switch finishing {
        case .no: handler?.deadlineReached(on: self)
        case .afterOutput where hasQueued && hasProgressed():
            loop.setDeadline(of: self, loop.now + loop.options.progressWindow)
        case .afterOutput, .lingering: close()
        }
    }
}
