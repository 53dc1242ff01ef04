package import Platform

/// Passes on a request's body and makes its response piece by piece (a proxy), on the loop's thread.
package protocol ExchangeStreamHandler: AnyObject {
    /// A piece of the request's body, decoded; it is gone after the call.
    func received(_ bytes: Span<UInt8>)
    /// The request's body is complete; also called when there is none.
    func receivedEnd()
    /// Everything sent has left: there is space again.
    func drained()
    /// The client sends nothing more after its complete request: it may be gone.
    ///
    /// May be called more than once. By default, the client still gets its response.
    func clientEnded()
    /// The client is gone, or its body was malformed: nothing more can be sent to it.
    func gone()
}

extension ExchangeStreamHandler {
    package func clientEnded() {}
}

/// The client's side of an exchange whose bodies flow piece by piece.
///
/// Back-pressure: when ``hasSpace`` is false, make no bytes until `drained`; pause the client with ``pauseBody()``.
package final class ExchangeStream {
    package let head: RequestHead
    package let framing: BodyFraming
    private let connection: HTTPConnection
    private var handler: (any ExchangeStreamHandler)?
    private var body: BodyRest
    private var scratch: [UInt8] = []
    private var isPaused = false
    private var hasBody: Bool
    private var responseFraming = BodyFraming.none
    private var hasHead = false
    private var isOver = false

    init(_ connection: HTTPConnection, _ head: RequestHead, _ framing: BodyFraming) {
        self.connection = connection
        loop = connection.loop
        self.head = head
        self.framing = framing
        body = BodyRest(framing)
        hasBody = framing != .none
    }

    package let loop: EventLoop
    package var peer: SocketAddress? { connection.stream.peer }
    /// Whether the client accepts more without memory growing.
    package var hasSpace: Bool {
        !isOver && connection.stream.queuedByteCount < connection.options.outputLimit
    }

    // MARK: For the handler

    package func pauseBody() {
        guard !isOver else { return }
        isPaused = true
        connection.stream.pauseReading()
    }

    package func resumeBody() {
        guard isPaused, !isOver else { return }
        isPaused = false
        connection.continueReading()
    }

    /// Tells a client that waits for a 100 to send its body.
    package func sendContinue() {
        guard !isOver, !hasHead, head.expectsContinue else { return }
        connection.stream.send(HTTPConnection.continueHead)
    }

    /// Queues the response's head, without Date, Connection and Transfer-Encoding; ``flush()`` sends it together with
    /// the next pieces.
    ///
    /// For `.length` the head holds Content-Length. `.chunked` becomes `.untilClose` for HTTP/1.0. Call ``flush()``
    /// or ``finish()`` before you return to the loop.
    /// - Parameter hasDate: whether the head already has a Date field.
    package func put(_ response: ResponseHead, _ framing: BodyFraming, hasDate: Bool = false) {
        guard !isOver, !hasHead else { return }
        hasHead = true
        responseFraming = framing == .chunked && connection.isHTTP10 ? .untilClose : framing
        if responseFraming == .untilClose { connection.keepsAlive = false }
        var response = response
        if responseFraming == .chunked { response.add("Transfer-Encoding", "chunked") }
        connection.writeHead(response, hasDate: hasDate)
    }

    package func put(_ bytes: Span<UInt8>) {
        guard !isOver, hasHead, !bytes.isEmpty else { return }
        if responseFraming == .chunked {
            connection.append(ChunkedEncoder.sizeLine(bytes.count))
            bytes.withUnsafeBytes { connection.append($0) }
            connection.append(HTTPConnection.lineEnd)
        } else {
            bytes.withUnsafeBytes { connection.append($0) }
        }
    }

    /// Whether nothing more can be sent: it is complete, cut, or the client is gone.
    package var hasEnded: Bool { isOver }

    /// Whether anything waits for the client in memory or in files: then make no more until `drained`.
    package var hasQueued: Bool { connection.stream.hasQueued }

    /// From this many bytes on, the system sends a piece directly from its file; smaller ones are gathered.
    private static let sentByteCount = 32 << 10

    /// Queues a piece of the response's body from a file; not chunked.
    ///
    /// If the file has become shorter, the connection is cut: nothing is made up.
    package func put(_ file: any ContentFile, _ range: Range<Int64>) {
        guard !isOver, hasHead, !range.isEmpty else { return }
        guard range.upperBound - range.lowerBound < Self.sentByteCount else {
            connection.log?.byteCount += range.upperBound - range.lowerBound
            connection.flush(more: true)
            connection.stream.send(file, range)
            return
        }
        let isWhole = withUnsafeTemporaryAllocation(
            byteCount: Int(range.upperBound - range.lowerBound), alignment: 1
        ) { buffer in
            guard Socket.readFile(file.raw, at: range.lowerBound, into: buffer) else {
                return false
            }
            connection.append(UnsafeRawBufferPointer(buffer))
            return true
        }
        guard isWhole else {
            cut(file.shortened())
            return
        }
    }

    /// Reports content that cannot be sent, and cuts the connection, because the answer has begun.
    package func cut(_ failure: StoreError) {
        guard !isOver else { return }
        loop.reportDamage(failure)
        abandon()
    }

    package func flush() {
        guard !isOver else { return }
        connection.flush()
        connection.rest()
    }

    package func finish() {
        guard !isOver, hasHead else { return }
        if responseFraming == .chunked { connection.append(ChunkedEncoder.end) }
        connection.finishRecord()
        over()
        // A body that is still coming cannot be separated from the next request.
        if hasBody { connection.keepsAlive = false }
        connection.endStreaming()
    }

    /// Answers with one complete response if no head was sent; otherwise cuts the connection.
    package func fail(_ response: Response) {
        guard !isOver else { return }
        over()
        guard !hasHead else {
            // Without a length, an orderly end would mean that the answer is whole.
            if responseFraming == .untilClose {
                connection.stream.reset()
            } else {
                connection.stream.close()
            }
            return
        }
        if hasBody { connection.keepsAlive = false }
        connection.phase = .head
        guard connection.write(response, isHead: head.method == .head) == nil else {
            // An object cannot report a failure; there is no time here to verify one.
            connection.stream.close()
            return
        }
        connection.endStreaming()
    }

    /// Ends the client's connection without an answer, or in the middle of one; the handler is not called.
    package func abandon() {
        guard !isOver else { return }
        over()
        connection.stream.close()
    }

    /// Sends a 101 head and gives the client's stream to another handler (a tunnel).
    package func upgrade(_ response: ResponseHead, _ make: @escaping (Stream) -> any StreamHandler)
    {
        guard !isOver, !hasHead else { return }
        over()
        connection.perform(.upgrade(response, make), head, .none)
    }

    /// Calls the handler's `gone` and closes after so many milliseconds; `nil` for never.
    ///
    /// While the client reads too slowly, the client's own deadline applies instead; a deadline for the other side
    /// belongs to the outbound stream.
    package func setDeadline(_ milliseconds: Int64?) {
        guard !isOver else { return }
        connection.stream.setDeadline(milliseconds)
    }

    // MARK: For the connection

    func begin(_ handler: any ExchangeStreamHandler) {
        guard !isOver else { return }
        self.handler = handler
        if !hasBody { handler.receivedEnd() }
    }

    func read(_ bytes: Span<UInt8>) -> Int {
        guard hasBody, !isPaused, !isOver else { return 0 }
        do throws(MessageFailure) {
            scratch.removeAll(keepingCapacity: true)
            let used = try body.read(bytes, decoded: &scratch)
            if !body.isChunked {
                handler?.received(bytes.extracting(..<used))
            } else if !scratch.isEmpty {
                handler?.received(scratch.span)
            }
            if body.isComplete { endBody() }
            return used
        } catch {
            let told = handler
            let answered = hasHead
            over()
            told?.gone()
            if answered { connection.stream.close() } else { connection.refuse(error) }
            return bytes.count
        }
    }

    private func endBody() {
        hasBody = false
        handler?.receivedEnd()
    }

    private func over() {
        isOver = true
        handler = nil
    }

    func drained() { handler?.drained() }

    func clientEnded() {
        // A body that is not complete never will be. The handler decides whether to serve a client that only listens.
        if hasBody {
            connection.stream.close()
        } else {
            connection.keepsAlive = false
            handler?.clientEnded()
        }
    }

    func endNoticed() { if !hasBody { handler?.clientEnded() } }

    func clientGone() {
        let told = handler
        over()
        told?.gone()
    }

    var awaitsBody: Bool { hasBody && !isPaused }

    /// Resumes reading, or only watches for the end, as the body needs.
    func decideReading() {
        if awaitsBody {
            connection.stream.resumeReading()
        } else {
            connection.stream.pauseReadingButNotice()
        }
    }
}
