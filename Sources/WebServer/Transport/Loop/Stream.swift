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

    // MARK: How a stream's encryption begins and ends

    private static let plainRefusal = Array(
        ("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\n"
            + "Content-Length: 43\r\nConnection: close\r\n\r\n"
            + "400 this port speaks https only, not http.\n").utf8)

    /// Encrypts the bytes, if there is a context; the handshake begins with the connection, or on the serving side
    /// with the first bytes.
    /// - Parameter peer: the host that the peer must prove to be; `nil` on the serving side.
    /// - Returns: `false` if there is no memory.
    func encrypt(by context: TLSContext?, peer: String? = nil) -> Bool {
        guard let context else { return true }
        guard let session = TLSSession(context, socket, peer: peer) else { return false }
        channel.session = session
        isConnecting = true
        return true
    }

    var isInHandshake: Bool {
        isConnecting && (hasBegunHandshake || channel.session?.isClient == false)
    }

    func handshake() -> Bool {
        guard let session = channel.session else { return true }
        if session.isClient, !hasBegunHandshake {
            hasBegunHandshake = true
            handler?.handshakeBegins(self)
            guard !isClosed else { return false }
        }
        switch session.handshake() {
        case .done:
            // Bytes that came after the handshake may have been read with it.
            mayRead = true
            return true
        case .blocked: return false
        case .failed:
            if session.failure?.cause == .plainRequest, !session.isClient {
                refusePlainRequest()
            } else {
                end(failure: Socket.protocolFailure)
            }
            return false
        }
    }

    private func refusePlainRequest() {
        channel.session = nil
        isConnecting = false
        send(Self.plainRefusal)
        finish()
    }

    /// Tells the peer that nothing more comes, so that it can distinguish an end from a cut.
    /// - Returns: `false` if the system would have to wait; then it is repeated when there is space.
    func saidClosing() -> Bool {
        guard !channel.sayClosing() else { return true }
        isBlocked = true
        isDrainedPending = true
        return false
    }

    /// After the last bytes: announces the end, and leaves the socket to linger without TLS.
    /// - Returns: whether that is done, or the stream is not encrypted.
    func endEncryption() -> Bool {
        guard channel.session != nil else { return true }
        guard !isConnecting else {
            close()
            return false
        }
        guard saidClosing() else {
            loop.setDeadline(of: self, loop.now + loop.options.linger)
            return false
        }
        channel.session = nil
        return true
    }

    func take(_ event: Poller.Event) {
        if isConnecting {
            guard finishConnecting(event) else { return }
        }
        if event.isWritable, isBlocked { unblock() }
        if event.isReadable { mayRead = true }
        if event.isClosing {
            mayRead = true
            endIsComing = true
            noticeEnd()
        }
        turn()
    }

    private func finishConnecting(_ event: Poller.Event) -> Bool {
        guard event.isWritable || event.isClosing || isInHandshake else { return false }
        if !isInHandshake {
            let number = Socket.connectResult(socket)
            guard number == 0 else {
                end(failure: number)
                return false
            }
        }
        guard handshake() else { return false }
        isConnecting = false
        handler?.connected(self)
        return !isClosed
    }

    func turn() {
        if !output.isEmpty, !isBlocked, !isConnecting {
            flush()
            goOnIfSent()
        } else if output.isEmpty, isDrainedPending {
            goOnIfSent()
        }
        read()
    }

    /// Tells the handler of an end that comes while nothing is read.
    func noticeEnd() {
        guard isReadPaused, endIsComing, !hasEnded, finishing == .no, !isClosed else { return }
        loop.afterCall { [self] in
            guard isReadPaused, !hasEnded, !isClosed, finishing == .no else { return }
            handler?.endNoticed(on: self)
        }
    }

    private func unblock() {
        isBlocked = false
        // A read may have needed to write (a change of keys).
        if channel.session != nil { mayRead = true }
    }

    private func read() {
        var rounds = 0
        while mayRead, !isClosed, !isReadPaused, !hasEnded, !isConnecting {
            let isPlain = channel.session == nil
            // A record is a quarter of the buffer.
            guard rounds < (isPlain ? 4 : 16) else {
                loop.queueTurn(self)
                return
            }
            rounds += 1
            let buffer = loop.receiveBuffer
            switch channel.receive(buffer) {
            case .bytes(let count):
                // A short read has emptied the socket (epoll(7), question 9); an end that was announced has still to
                // be read.
                if isPlain, count < buffer.count, !endIsComing, sendFailure == nil {
                    mayRead = false
                }
                let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
                if finishing != .no {
                    drop(count)
                } else {
                    handler?.received(
                        bytes.assumingMemoryBound(to: UInt8.self).span, on: self)
                }
            case .blocked:
                mayRead = false
                if let sendFailure { end(failure: sendFailure) }
            case .end:
                mayRead = false
                hasEnded = true
                if finishing == .lingering {
                    close()
                } else if finishing == .no {
                    handler?.receivedEnd(on: self)
                }
            case .failed(let number): end(failure: number)
            }
        }
    }

    /// Counts what is dropped while lingering, to limit what is read to save the last answer.
    private func drop(_ count: Int) {
        lingered += count
        if lingered > loop.options.lingerByteCount { close() }
    }

    /// Whether bytes can still be sent; otherwise they are dropped.
    private var takesBytes: Bool { !isEnding && halfClosing == .no && sendFailure == nil }

    /// Sends bytes, and queues what the system does not take.
    package func send(_ bytes: [UInt8]) {
        guard takesBytes else { return }
        if output.isEmpty, isDirect, !isBlocked {
            let sent = bytes.withUnsafeBytes { push($0, more: false) }
            guard sent < bytes.count else { return }
            output.append(.bytes(bytes, from: sent))
            isDrainedPending = true
        } else {
            queue(.bytes(bytes, from: 0))
        }
    }

    /// - Parameter more: more follows at once; the system may wait for it to fill a packet.
    package func send(_ bytes: UnsafeRawBufferPointer, more: Bool) {
        guard takesBytes else { return }
        var sent = 0
        if output.isEmpty, isDirect, !isBlocked { sent = push(bytes, more: more) }
        guard sent < bytes.count, !isClosed else { return }
        queue(.bytes(Array(bytes[sent...]), from: 0), more: more)
    }

    private func queue(_ segment: OutputQueue.Segment, more: Bool = false) {
        let wasPending = isDrainedPending
        output.append(segment)
        isDrainedPending = true
        guard channel.session != nil, !more, !isBlocked, !isConnecting else { return }
        flush()
        // It went out at once, so no one waits for `drained`.
        if output.isEmpty { isDrainedPending = wasPending }
    }

    /// Like `send(_:more:)`, for two ranges of memory with one call.
    func send(_ first: UnsafeRawBufferPointer, _ second: UnsafeRawBufferPointer) {
        guard takesBytes else { return }
        var sent = 0
        if output.isEmpty, isDirect, !isBlocked {
            sent = taken(Socket.send(socket, first, second))
        }
        if sent < first.count {
            send(
                UnsafeRawBufferPointer(rebasing: first[sent...]), more: channel.session != nil)
            send(second, more: false)
        } else if sent < first.count + second.count {
            send(UnsafeRawBufferPointer(rebasing: second[(sent - first.count)...]), more: false)
        }
    }

    /// Sends a range of an object's file; cuts the stream if the file has become shorter.
    package func send(_ object: any ContentFile, _ range: Range<Int64>) {
        guard takesBytes, !range.isEmpty || channel.session != nil else { return }
        var start = range.lowerBound
        // Most often the system takes all of it, and nothing is queued.
        if output.isEmpty, !isBlocked, isDirect {
            let count = min(Int64(loop.options.sliceByteCount), Int64(range.count))
            let sent = Socket.sendFile(socket, object.raw, at: start, count: Int(count))
            if case .bytes(let sent) = sent {
                sentByteCount += Int64(sent)
                start += Int64(sent)
            } else if case .blocked = sent {
                isBlocked = true
            }
        }
        guard start < range.upperBound || channel.session != nil else { return }
        queue(.file(object, range: start..<range.upperBound))
        if !isBlocked, isDirect { flush() }
    }

    private func push(_ bytes: UnsafeRawBufferPointer, more: Bool) -> Int {
        var sent = 0
        while sent < bytes.count, !isBlocked {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
            sent += taken(channel.send(rest, more: more))
        }
        return sent
    }

    /// Takes in the result of a system call made within a handler's call.
    /// - Returns: how many bytes the system took; 0 if it would have to wait, or has failed.
    private func taken(_ transfer: Socket.Transfer) -> Int {
        switch transfer {
        case .bytes(let count):
            sentByteCount += Int64(count)
            return count
        case .blocked, .end: break
        case .failed(let number): loop.failLater(self, number)
        }
        isBlocked = true
        return 0
    }

    /// Sends what is queued until the queue is empty, the system would have to wait, or it is the turn of others.
    func flush() {
        var budget = Int64(loop.options.turnByteCount)
        while !output.isEmpty, !isBlocked, !isClosed, !isConnecting {
            guard budget > 0 else {
                loop.queueTurn(self)
                return
            }
            let before = sentByteCount
            if isDirect { sendFirst() } else { sendGathered() }
            budget -= sentByteCount - before
        }
    }

    /// Gives the system the first segment, as much of it as one call takes.
    private func sendFirst() {
        let transfer: Socket.Transfer
        switch output.head {
        case nil: return
        case .bytes(let bytes, let from):
            let more = output.hasMore
            transfer = bytes.withUnsafeBytes {
                Socket.send(socket, UnsafeRawBufferPointer(rebasing: $0[from...]), more: more)
            }
        case .file(let object, let range):
            let count = min(Int64(loop.options.sliceByteCount), Int64(range.count))
            transfer = Socket.sendFile(
                socket, object.raw, at: range.lowerBound, count: Int(count))
            if case .end = transfer {
                cut(object)
                return
            }
        }
        switch transfer {
        case .bytes(let count):
            sentByteCount += Int64(count)
            output.advance(count)
        case .blocked, .end: isBlocked = true
        case .failed(let number): sendFailed(number)
        }
    }

    /// Encrypts and sends the first segments, as many as fill four records of the maximum size.
    private func sendGathered() {
        if loop.gatherBuffer.isEmpty { loop.gatherBuffer = [UInt8](repeating: 0, count: 64 << 10) }
        switch loop.gatherBuffer.withUnsafeMutableBytes({ output.gather(into: $0) }) {
        case .shortened(let object): cut(object)
        case .bytes(let count):
            let sent = loop.gatherBuffer.withUnsafeBytes {
                push(UnsafeRawBufferPointer(rebasing: $0[..<count]), more: false)
            }
            output.advance(across: sent)
        }
    }

    private func cut(_ object: any ContentFile) {
        loop.reportDamage(object.shortened())
        end(failure: nil)
    }

    /// After a flush: tells the handler that there is space, or continues ending.
    func goOnIfSent() {
        guard !isClosed, output.isEmpty else { return }
        if halfClosing == .afterOutput { halfClose() }
        if finishing == .afterOutput {
            finishIfSent()
        } else if isDrainedPending {
            isDrainedPending = false
            handler?.drained(self)
        }
    }
}
