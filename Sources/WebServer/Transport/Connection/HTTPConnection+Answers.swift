import Platform

// What happens to a request, and how its response becomes bytes.
extension HTTPConnection {
    static let connectionClose = Array("Connection: close\r\n\r\n".utf8)
    static let connectionKeepAlive = Array("Connection: keep-alive\r\n\r\n".utf8)
    static let connectionUpgrade = Array("Connection: Upgrade\r\n\r\n".utf8)
    static let continueHead = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
    static let lineEnd: [UInt8] = [13, 10]
    /// Parts of up to this many bytes are copied together: by measurement, a larger copy costs more than the system
    /// spends on two parts.
    private static let copiedByteCount = 4 << 10

    private enum Ready {
        case bytes([UInt8])
        case memory([UInt8], Range<Int>)
        case file(any ContentFile, Range<Int64>)
        case unverified(ObjectContent.Verification)
    }

    var exchange: Exchange {
        Exchange(loop: loop, stream: stream.token, number: requestNumber)
    }

    /// Obeys the handler's decision; `framing` belongs to the body, which has not been read.
    func perform(_ answer: consuming Answer, _ head: RequestHead, _ framing: BodyFraming) {
        switch consume answer {
        case .response(let response): respond(response, head, framing)
        case .refusal(let response):
            keepsAlive = false
            isRefused = true
            restsSince = loop.now
            respond(response, head, framing)
        case .readBody(let limit, let then):
            collect(framing, limit, Collecting(head, then))
        case .later(let within, let otherwise, let gone):
            phase = .waiting(
                Waiting(head: head, framing: framing, otherwise: otherwise, gone: gone))
            stream.setDeadline(within)
        case .soon(let within, let otherwise):
            phase = .waiting(
                Waiting(head: head, framing: framing, otherwise: otherwise, isUnderWay: true))
            stream.setDeadline(within)
        case .upgrade(let response, let make):
            append(response.bytes)
            append(loop.dateField)
            append(Self.connectionUpgrade)
            log?.status = response.status
            report()
            // Comes before the new handler is made, which may set its own deadline.
            stream.setDeadline(nil)
            handOver(make(stream))
        case .streaming(let make):
            let exchange = ExchangeStream(self, head, framing)
            phase = .streaming(exchange)
            exchange.begin(make(exchange))
        }
    }

    func handOver(_ handler: any StreamHandler) {
        flush()
        phase = .ending
        stream.handler = handler
        let (told, connection) = (context.handler, ConnectionID(stream.token, on: loop))
        stream.onEnd = { told.ended(connection) }
        // The bytes after the head follow when the current call is over; none may overtake them.
        stream.pauseReading()
        let (token, loop) = (stream.token, loop)
        loop.afterCall { [self] in
            guard let stream = loop.stream(token) else { return }
            stream.resumeReading()
            guard !input.isEmpty else { return }
            let bytes = input
            input = []
            stream.handler?.received(bytes.span, on: stream)
        }
    }

    private func respond(_ response: Response, _ head: RequestHead, _ framing: BodyFraming) {
        var dropping: BodyReader?
        if framing != .none {
            // A client that waits for a 100 may or may not send the body now: its end is in doubt.
            if !head.expectsContinue {
                // Too large to read just to drop it: the connection is closed instead.
                dropping = try? BodyReader(framing, limit: options.droppedBodyLimit)
            }
            if dropping == nil { keepsAlive = false }
        }
        if let verify = write(response, isHead: head.method == .head) {
            wait(for: verify, response, head, framing)
            return
        }
        guard keepsAlive else { return }
        if let dropping {
            phase = .dropping(dropping)
            restsSince = loop.now
            stream.setDeadline(loop.options.linger)
        } else {
            phase = .head
        }
    }

    /// Gives the response when another thread has read the object; other clients are served meanwhile.
    private func wait(
        for verify: ObjectContent.Verification, _ response: Response, _ head: RequestHead,
        _ framing: BodyFraming
    ) {
        let late = Answer.soon(within: options.verifyingDeadline) {
            PlainAnswer.response(
                503, "The content is still being read from a slow disk.", method: head.method,
                fields: [("Retry-After", "30")])
        }
        perform(late, head, framing)
        let exchange = exchange
        verify { exchange.answer(response) }
    }

    func answerLate(_ number: UInt32, _ answer: Answer) {
        guard number == requestNumber, case .waiting(let waiting) = phase, !stream.isEnding
        else { return }
        perform(answer, waiting.head, waiting.framing)
        processInput()
        flush()
        rest()
    }

    /// Writes a response.
    ///
    /// It gets the objects first: if one fails, nothing of the response is sent.
    /// - Returns: what must be verified first; then nothing was done.
    func write(_ response: Response, isHead: Bool) -> ObjectContent.Verification? {
        do throws(StoreError) {
            switch isHead ? .none : response.body {
            case .none:
                var head = response.head
                if !isHead, head.lacksLength { head.add("Content-Length", "0") }
                writeHead(head)
            case .piece(let piece):
                let ready = try ready(piece)
                if case .unverified(let verify) = ready { return verify }
                writeHead(response.head)
                write(ready)
            case .pieces(let pieces):
                var all: [Ready] = []
                for piece in pieces {
                    let ready = try ready(piece)
                    if case .unverified(let verify) = ready { return verify }
                    all.append(ready)
                }
                writeHead(response.head)
                for ready in all { write(ready) }
            }
            finishRecord()
        } catch {
            let failure: MessageFailure
            if response.mayVanish, error.code == .notFound {
                failure = MessageFailure(404, "it has just been removed")
            } else {
                loop.reportDamage(error)
                failure = MessageFailure(
                    500, "the stored content is missing or damaged; it is not served")
            }
            refuse(failure, isHead: isHead, isOfPage: response.head.isHTML)
            return nil
        }
        if !keepsAlive { finishAfterOutput() }
        return nil
    }

    private func ready(_ piece: Response.Piece) throws(StoreError) -> Ready {
        switch piece {
        case .bytes(let bytes): return .bytes(bytes)
        case .object(let object, let range, let size):
            switch try context.objects.content(of: object, size: size) {
            case .memory(let bytes):
                return .memory(bytes, Int(range.lowerBound)..<Int(range.upperBound))
            case .file(let open): return .file(open, range)
            case .unverified(let verify): return .unverified(verify)
            }
        }
    }

    private func write(_ ready: Ready) {
        switch ready {
        case .bytes(let bytes): append(bytes)
        case .memory(let bytes, let range): append(bytes, range)
        case .file(let object, let range):
            log?.byteCount += range.upperBound - range.lowerBound
            flush(more: true)
            stream.send(object, range)
        case .unverified: break  // Unreachable: everything is verified before anything is written.
        }
    }

    func writeHead(_ head: ResponseHead, hasDate: Bool = false) {
        log?.status = head.status
        append(head.written)
        if !head.object.isEmpty { append(head.object) }
        if !hasDate { append(loop.dateField) }
        if !keepsAlive {
            append(Self.connectionClose)
        } else if isHTTP10 {
            append(Self.connectionKeepAlive)
        } else {
            append(Self.lineEnd)
        }
    }

    /// Answers with an error of the transport's own and ends the connection.
    /// - Parameter isOfPage: whether a browser may show it as a page; it then asks again, since the error may be
    ///   temporary.
    func refuse(_ failure: MessageFailure, isHead: Bool = false, isOfPage: Bool = false) {
        keepsAlive = false
        if log == nil, context.log != nil { log = PendingRecord(from: stream.peer) }
        var head = ResponseHead(failure.status)
        let text = Array("\(failure.status) \(failure.sentence)\n".utf8)
        head.add("Content-Type", "text/plain; charset=utf-8")
        head.add("Content-Length", "\(text.count)")
        head.add("Cache-Control", "no-store")
        if isOfPage { head.add(PlainAnswer.askingAgain.name, PlainAnswer.askingAgain.value) }
        writeHead(head)
        if !isHead { append(text) }
        finishRecord()
        finishAfterOutput()
    }

    func finishAfterOutput() {
        phase = .ending
        flush()
        stream.finish()
    }

    // MARK: Gathering

    func append(_ bytes: [UInt8]) { append(bytes, 0..<bytes.count) }

    func append(_ bytes: [UInt8], _ range: Range<Int>) {
        bytes.withUnsafeBytes { append(UnsafeRawBufferPointer(rebasing: $0[range])) }
    }

    private func append(_ fields: ObjectFields) {
        if loop.sendBuffer.space < ObjectFields.byteCountMax { flush() }
        let before = loop.sendBuffer.count
        loop.sendBuffer.append(fields)
        log?.byteCount += Int64(loop.sendBuffer.count - before)
    }

    func append(_ part: UnsafeRawBufferPointer) {
        log?.byteCount += Int64(part.count)
        // A large part is not worth copying: it goes out with what was gathered before it.
        if part.count > Self.copiedByteCount {
            stream.send(loop.sendBuffer.bytes, part)
            loop.sendBuffer.clear()
        } else {
            if part.count > loop.sendBuffer.space { flush() }
            loop.sendBuffer.append(part)
        }
    }

    func flush(more: Bool = false) {
        guard !loop.sendBuffer.isEmpty else { return }
        stream.send(loop.sendBuffer.bytes, more: more)
        loop.sendBuffer.clear()
    }

    // MARK: Log

    struct PendingRecord {
        var method: String
        var target: String
        let client: SocketAddress?
        var began = SystemClock.nanoseconds
        var byteCount: Int64 = 0
        /// What the stream had sent before it.
        var sentBefore: Int64 = 0
        /// That of an answer whose head was written, while its pieces come or wait for the client.
        var status: Int?

        init(from client: SocketAddress?) {
            method = "-"
            target = "-"
            self.client = client
        }

        init(_ head: RequestHead, from client: SocketAddress?, after sentBefore: Int64) {
            self.client = client
            self.sentBefore = sentBefore
            target = head.text(head.target)
            let end = head.bytes.firstIndex(of: 32) ?? 0
            method = head.text(0..<end)
        }
    }

    /// Finishes the record of a client that is gone: it gets no more than was sent until now.
    func finishRecordOfGone() {
        guard let record = log else { return }
        log?.byteCount = min(record.byteCount, stream.sentByteCount - record.sentBefore)
        report()
    }

    /// The log's status for a client that left before it had an answer; no client ever gets it.
    private static let clientGoneStatus = 499

    /// Finishes the record of a whole answer, later if some of it still waits for the client.
    func finishRecord() {
        if !stream.hasQueued { report() }
    }

    func report() {
        guard let report = context.log, let record = log else { return }
        log = nil
        report(
            AccessRecord(
                method: record.method, target: record.target,
                status: record.status ?? Self.clientGoneStatus,
                byteCount: record.byteCount,
                nanoseconds: SystemClock.nanoseconds - record.began,
                client: record.client?.hostText ?? "-"))
    }
}
