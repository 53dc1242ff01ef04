/// What happens to a stream; every call comes on its loop's thread.
package protocol StreamHandler: AnyObject {
    /// An outbound connection has been made, and begins its TLS handshake.
    func handshakeBegins(_ stream: Stream)
    /// An outbound connection has been made, with TLS where it is wanted, and takes bytes.
    func connected(_ stream: Stream)
    /// Bytes have come; they are gone after the call.
    func received(_ bytes: Span<UInt8>, on stream: Stream)
    /// The peer sends nothing more. It may still read.
    func receivedEnd(on stream: Stream)
    /// The peer sends nothing more, but there may be bytes before its end: reading is paused.
    func endNoticed(on stream: Stream)
    /// What was queued has been sent: there is room again.
    func drained(_ stream: Stream)
    /// The deadline has come; it is cleared before the call.
    func deadlineReached(on stream: Stream)
    /// The server is about to stop: finish, soon.
    func stopping(_ stream: Stream)
    /// The stream is gone; nothing comes after this.
    ///
    /// `failure` is an errno, `nil` for an orderly end.
    func closed(_ stream: Stream, failure: Int32?)
}

extension StreamHandler {
    package func handshakeBegins(_ stream: Stream) {}
    package func connected(_ stream: Stream) {}
    package func endNoticed(on stream: Stream) {}
    package func drained(_ stream: Stream) {}
    package func deadlineReached(on stream: Stream) { stream.close() }
    package func stopping(_ stream: Stream) { stream.finish() }
}

/// One non-blocking socket on a loop: bytes in, bytes and ranges of files out.
///
/// The same for both directions: connections that were accepted and connections that were made.
/// Everything here belongs to the loop's thread; others hold the ``token`` and go through
/// ``EventLoop/submit(_:)``.
package final class Stream {
    /// The name of a stream that other threads may keep: it outlives the stream harmlessly.
    package struct Token: Sendable, Hashable {
        let slot: UInt32
        let generation: UInt32
        var raw: UInt64 { UInt64(generation) << 32 | UInt64(slot) }
    }

    package let loop: EventLoop
    package let token: Token
    /// Who is told; may be replaced at any time (an upgrade).
    // Here and below: of the loop's thread alone, never accessed while an access is open.
    @exclusivity(unchecked) package var handler: (any StreamHandler)?
    /// Called when the stream is gone, after its handler: for whoever had it before an upgrade.
    var onEnd: (() -> Void)?
    /// All bytes that were handed to the system so far.
    @exclusivity(unchecked) package internal(set) var sentByteCount: Int64 = 0
    /// Whether what the peer said last is still read when sending to it has failed: a server may
    /// answer and close before it has read a request's body.
    package var readsAfterFailedSend = false
    /// Who is at the other end.
    package private(set) lazy var peer = Socket.peer(of: socket)

    /// How bytes come and go.
    @exclusivity(unchecked) var channel: ByteChannel { didSet { setDirect() } }
    @exclusivity(unchecked) var output = OutputQueue()
    /// No bytes may leave yet: the connection or its TLS is still being made.
    var isConnecting: Bool { didSet { setDirect() } }
    /// Whether an outbound connection is there and its TLS handshake has begun.
    var hasBegunHandshake = false
    /// Whether bytes go to the socket as they are, now.
    private(set) var isDirect: Bool
    /// The system said that it would have to wait; it will tell when there is room.
    var isBlocked = false
    /// Bytes or an end may wait in the socket.
    var mayRead = false
    @exclusivity(unchecked) var isReadPaused = false
    /// The peer's end has been seen coming: read until it is there.
    var endIsComing = false
    var hasEnded = false
    var isClosed = false
    var isQueuedForTurn = false
    /// Whether `drained` is owed.
    var owesDrained = false
    @exclusivity(unchecked) var finishing = Finishing.no
    /// Whether the sending side closes when all is sent, or has.
    var halfClosing = HalfClosing.no
    /// The errno of a send that failed while its peer is still read.
    var sendFailure: Int32?
    var lingered = 0
    /// Bytes sent, and those acknowledged, when the peer's progress was last looked at.
    var sentMark: Int64 = 0
    var acknowledgedMark: Int64 = 0

    enum Finishing { case no, afterOutput, lingering }
    enum HalfClosing { case no, afterOutput, done }

    init(_ socket: Int32, _ token: Token, _ loop: EventLoop, isConnecting: Bool) {
        channel = ByteChannel(socket: socket)
        self.token = token
        self.loop = loop
        self.isConnecting = isConnecting
        isDirect = !isConnecting
    }

    private func setDirect() { isDirect = !isConnecting && channel.session == nil }

    var socket: Int32 { channel.socket }
    /// Bytes in memory that wait to be sent.
    package var queuedByteCount: Int { output.byteCount }
    /// Whether anything waits to be sent.
    package var hasQueued: Bool { !output.isEmpty }
    /// Whether it is closed or about to be.
    package var isEnding: Bool { isClosed || finishing != .no }

    /// Calls the handler's `deadlineReached` in so many milliseconds, instead of any earlier plan;
    /// `nil` for never.
    ///
    /// Without effect on a stream that finishes, whose deadlines are its own.
    package func setDeadline(_ milliseconds: Int64?) {
        guard !isEnding else { return }
        loop.setDeadline(
            of: self, milliseconds.map { loop.now + $0 } ?? DeadlineQueue.never)
    }

    /// Stops reading: the peer is held back by TCP.
    package func pauseReading() { isReadPaused = true }

    /// Stops reading, but still notices when the peer is gone.
    ///
    /// What it sends meanwhile waits in the system.
    package func pauseReadingButNotice() {
        isReadPaused = true
        if endIsComing { noticeEnd() }
    }

    /// Reads on, on the loop's next turn.
    package func resumeReading() {
        guard isReadPaused else { return }
        isReadPaused = false
        if mayRead || endIsComing { loop.queueTurn(self) }
    }

    /// Ends the stream at once; what was not sent is lost.
    package func close() { end(failure: nil) }

    /// As `close`, in a way that the peer cannot take for an orderly end.
    package func reset() {
        guard !isClosed else { return }
        Socket.resetOnClose(socket)
        close()
    }

    /// Closes the sending side when all that is queued has been sent; reading goes on.
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

    /// Sending has failed: reads what is left, if that is wanted, and ends.
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
        // Only an asking side may say that it ends in order: what it asked had a length, while an
        // answer that is cut must look cut.
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
    /// Then it lingers: what the peer still sends is read and dropped for a short while, so that a
    /// reset does not destroy the last answer on its way (RFC 9112, section 9.6).
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
}
