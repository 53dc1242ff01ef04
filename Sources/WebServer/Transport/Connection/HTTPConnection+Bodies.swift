// Requests with bodies, and what happens to a request.
extension HTTPConnection {
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

    private func collect(_ framing: BodyFraming, _ limit: Int, _ collecting: Collecting) {
        guard framing != .none else {
            perform(collecting.then(collecting.head, [], exchange), collecting.head, .none)
            return
        }
        do throws(MessageFailure) {
            let reader = try BodyReader(framing, limit: limit, budget: context.bodies)
            phase = .collecting(reader, collecting)
            beginProgress()
            if collecting.head.expectsContinue {
                append(Self.continueHead)
                flush()
            }
        } catch {
            refuse(error, isHead: collecting.head.method == .head)
        }
    }

    private func beginProgress() {
        progressMark = receivedByteCount
        stream.setDeadline(options.progressWindow)
    }

    /// - Returns: how many bytes belong to the body.
    func readBody(_ bytes: Span<UInt8>) -> Int {
        var isUnwanted = false
        do throws(MessageFailure) {
            switch phase {
            case .collecting(let reader, let collecting):
                let used = try reader.read(bytes)
                guard reader.isComplete else { return used }
                phase = .ending
                perform(
                    collecting.then(collecting.head, reader.content, exchange),
                    collecting.head, .none)
                return used
            case .dropping(let reader):
                isUnwanted = true
                let used = try reader.read(bytes)
                if reader.isComplete { phase = .head }
                return used
            default: return 0
            }
        } catch {
            // The answer to this unwanted body has been sent.
            phase = .ending
            if isUnwanted { finishAfterOutput() } else { refuse(error) }
            return bytes.count
        }
    }

    func answerLate(_ number: UInt32, _ answer: Answer) {
        guard number == requestNumber, case .waiting(let waiting) = phase, !stream.isEnding
        else { return }
        perform(answer, waiting.head, waiting.framing)
        processInput()
        flush()
        rest()
    }
}

// What a streamed exchange needs from its connection.
extension HTTPConnection {
    /// After a complete response: reads the next request, or ends.
    func endStreaming() {
        flush()
        guard !stream.isEnding, stream.handler === self else { return }
        guard keepsAlive else {
            finishAfterOutput()
            return
        }
        phase = .head
        continueReading()
    }

    func continueReading() {
        let (token, loop) = (stream.token, loop)
        loop.afterCall { [self] in
            guard loop.stream(token) != nil, stream.handler === self else { return }
            processInput()
            flush()
            rest()
        }
    }
}
