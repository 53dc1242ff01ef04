/// What happens to a stream; its loop's thread makes every call.
package protocol StreamHandler: AnyObject {
    /// An outbound connection has been made, and starts its TLS handshake.
    func handshakeBegins(_ stream: Stream)
    /// An outbound connection has been made, with TLS if wanted, and accepts bytes.
    func connected(_ stream: Stream)
    /// Bytes have come; they are gone after the call.
    func received(_ bytes: Span<UInt8>, on stream: Stream)
    /// The peer sends nothing more. It may still read.
    func receivedEnd(on stream: Stream)
    /// The peer sends nothing more, but there may be bytes before its end: reading is paused.
    func endNoticed(on stream: Stream)
    /// Everything queued has been sent: there is space again.
    func drained(_ stream: Stream)
    /// The deadline has come; it is cleared before the call.
    func deadlineReached(on stream: Stream)
    func silence(of stream: Stream) -> ClientSilence
    /// The server is about to stop: finish soon.
    func stopping(_ stream: Stream)
    /// The stream is gone; no more calls follow. `failure` is an errno, `nil` for an orderly end.
    func closed(_ stream: Stream, failure: Int32?)
}

extension StreamHandler {
    package func handshakeBegins(_ stream: Stream) {}
    package func connected(_ stream: Stream) {}
    package func endNoticed(on stream: Stream) {}
    package func drained(_ stream: Stream) {}
    package func deadlineReached(on stream: Stream) { stream.close() }
    package func silence(of stream: Stream) -> ClientSilence { .no }
    package func stopping(_ stream: Stream) { stream.finish() }
}

/// One non-blocking socket on a loop: bytes in, bytes and ranges of files out.
///
/// Both accepted connections and those that the loop makes. Everything here belongs to the loop's thread; others hold
/// the ``token`` and use ``EventLoop/submit(_:)``.
package final class Stream {
    /// The name of a stream for other threads, which may outlive it.
    package struct Token: Sendable, Hashable {
        let slot: UInt32
        let generation: UInt32
        var raw: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
    }

    package let loop: EventLoop
    package let token: Token
    /// Receives the calls; may be replaced at any time (an upgrade).
    // Here and below: of the loop's thread alone, never accessed while an access is open.
    @exclusivity(unchecked) package var handler: (any StreamHandler)?
    let beganAt: Int64
    let isOutbound: Bool
    var client: ClientCounts.Client?
    /// Called when the stream is gone, after its handler, for the owner before an upgrade.
    var onEnd: (() -> Void)?
    @exclusivity(unchecked) package internal(set) var sentByteCount: Int64 = 0
    /// Whether to read the peer's last bytes after sending to it has failed: a server may answer and close before it
    /// has read a request's body.
    package var readsAfterFailedSend = false
    package private(set) lazy var peer = Socket.peer(of: socket)

    @exclusivity(unchecked) var channel: ByteChannel { didSet { setDirect() } }
    @exclusivity(unchecked) var output = OutputQueue()
    /// No bytes may be sent yet: the connection or its TLS is still being made.
    var isConnecting: Bool { didSet { setDirect() } }
    var hasBegunHandshake = false
    /// Whether bytes now go to the socket unencrypted.
    private(set) var isDirect: Bool
    /// The system would have had to wait; it reports when there is space.
    var isBlocked = false
    /// Bytes or an end may wait in the socket.
    var mayRead = false
    @exclusivity(unchecked) var isReadPaused = false
    /// The peer's end has been announced: read until it comes.
    var endIsComing = false
    var hasEnded = false
    var isClosed = false
    var isQueuedForTurn = false
    var isDrainedPending = false
    @exclusivity(unchecked) var finishing = Finishing.no
    /// Whether the sending side closes when everything is sent, or has closed.
    var halfClosing = HalfClosing.no
    /// The errno of a failed send, while the peer is still read.
    var sendFailure: Int32?
    var lingered = 0
    /// Bytes sent, and those acknowledged, when the peer's progress was last checked.
    var sentMark: Int64 = 0
    var acknowledgedMark: Int64 = 0

    enum Finishing { case no, afterOutput, lingering }
    enum HalfClosing { case no, afterOutput, done }

    init(_ socket: Int32, _ token: Token, _ loop: EventLoop, isConnecting: Bool) {
        channel = ByteChannel(socket: socket)
        self.token = token
        self.loop = loop
        beganAt = loop.now
        self.isConnecting = isConnecting
        isOutbound = isConnecting
        isDirect = !isConnecting
    }

    private func setDirect() { isDirect = !isConnecting && channel.session == nil }

    var socket: Int32 { channel.socket }
    var hasUnread: Bool { Socket.hasUnread(socket) }
    package var queuedByteCount: Int { output.byteCount }
    package var hasQueued: Bool { !output.isEmpty }
    package var isEnding: Bool { isClosed || finishing != .no }

    /// Calls the handler's `deadlineReached` after so many milliseconds, in place of any earlier deadline; `nil` for
    /// never.
    ///
    /// Has no effect on a stream that is finishing, which sets its own deadlines.
    package func setDeadline(_ milliseconds: Int64?) {
        guard !isEnding else { return }
        loop.setDeadline(
            of: self, milliseconds.map { loop.now + $0 } ?? DeadlineQueue.never)
    }

    /// Stops reading: TCP then holds the peer back.
    package func pauseReading() { isReadPaused = true }

    /// Stops reading, but still notices that the peer is gone; what the peer sends meanwhile waits in the system.
    package func pauseReadingButNotice() {
        isReadPaused = true
        if endIsComing { noticeEnd() }
    }

    package func resumeReading() {
        guard isReadPaused else { return }
        isReadPaused = false
        if mayRead || endIsComing { loop.queueTurn(self) }
    }

    /// Ends the stream at once; what has not been sent is lost.
    package func close() { end(failure: nil) }

    /// Like `close`, in a way that the peer cannot take for an orderly end.
    package func reset() {
        guard !isClosed else { return }
        Socket.resetOnClose(socket)
        close()
    }

    /// Closes the sending side when everything queued has been sent; reading continues.
    package func finishSending() {
        guard !isEnding, halfClosing == .no else { return }
        halfClosing = .afterOutput
        if output.isEmpty, !isConnecting { halfClose() }
    }

    func halfClose() {
        guard saidClosing() else { return }
        halfClosing = .done
        Socket.finishSending(socket)
    }

    func sendFailed(_ number: Int32) {
        guard !isClosed else { return }
        guard readsAfterFailedSend, finishing == .no, sendFailure == nil, !isConnecting else {
            end(failure: number)
            return
        }
        sendFailure = number
        output.removeAll()
        mayRead = true
        loop.queueTurn(self)
    }

    func end(failure: Int32?) {
        guard !isClosed else { return }
        isClosed = true
        // Only a client may announce an orderly end: its request had a length, while an answer that is cut must look
        // cut.
        if failure == nil, channel.session?.isClient == true { _ = channel.sayClosing() }
        output.removeAll()
        loop.remove(self)
        let told = handler
        handler = nil
        told?.closed(self, failure: failure)
        onEnd?()
        onEnd = nil
    }

    /// Ends the stream when all that is queued has been sent, or when the peer takes none of it
    /// (``LoopOptions/minimumProgress``).
    ///
    /// Then it lingers: for a short while it reads and drops what the peer still sends, so that a reset does not
    /// destroy the last answer on its way (RFC 9112, section 9.6).
    package func finish() {
        guard !isClosed, finishing == .no else { return }
        finishing = .afterOutput
        finishIfSent()
        guard finishing == .afterOutput, hasQueued, !isClosed else { return }
        beginProgress()
        loop.setDeadline(of: self, loop.now + loop.options.progressWindow)
    }

    func finishIfSent() {
        guard finishing == .afterOutput, output.isEmpty else { return }
        guard endEncryption() else { return }
        finishing = .lingering
        if hasEnded {
            close()
            return
        }
        Socket.finishSending(socket)
        isReadPaused = false
        loop.setDeadline(of: self, loop.now + loop.options.linger)
        if mayRead || endIsComing { loop.queueTurn(self) }
    }

    // MARK: Whether a stream's peer takes what is sent to it

    func beginProgress() {
        sentMark = sentByteCount
        acknowledgedMark = acknowledgedByteCount
    }

    /// Whether the peer has taken enough since the watch began, or since the last call.
    ///
    /// The system reports space only when a third of its buffer is free, which may be megabytes, so bytes that the
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
