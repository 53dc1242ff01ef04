import Platform

/// One client's connection: requests in, answers out, in order, one at a time.
final class HTTPConnection: StreamHandler {
    enum Phase {
        /// Between requests, or within a head.
        case head
        case collecting(BodyReader, Collecting)
        /// A body that nobody wants is being read and dropped.
        case dropping(BodyReader)
        indirect case waiting(Waiting)
        /// Bodies flow through.
        case streaming(ExchangeStream)
        case ending
    }

    /// What a body is collected for; a class, so that a phase, read many times for each request, is one word.
    final class Collecting {
        let head: RequestHead
        let then: (RequestHead, [UInt8], Exchange) -> Answer

        init(_ head: RequestHead, _ then: @escaping (RequestHead, [UInt8], Exchange) -> Answer) {
            self.head = head
            self.then = then
        }
    }

    struct Waiting {
        var head: RequestHead
        var framing: BodyFraming
        var otherwise: () -> Response
        var gone: (@Sendable () -> Void)?
        /// Whether an answer is being prepared, which a client also gets after it has closed its sending side.
        var isUnderWay = false
    }

    private final class PartialHead {
        var parser: RequestParser
        var held: BudgetShare?
        init(_ parser: consuming RequestParser) { self.parser = parser }
    }

    // A cycle with the stream's handler; it ends when the stream ends or is handed over.
    let stream: Stream
    let context: ConnectionContext
    // Only the loop's thread uses these, and it never begins one access to them within another. A check at run time
    // would cost a tenth of an answer.
    @exclusivity(unchecked) var phase = Phase.head
    /// Bytes received and not used yet: part of a head, or requests behind one that waits.
    @exclusivity(unchecked) var input: [UInt8] = []
    @exclusivity(unchecked) var requestNumber: UInt32 = 0
    @exclusivity(unchecked) var keepsAlive = true
    /// Since when the client is waited for: its next request, the rest of a body.
    @exclusivity(unchecked) var restsSince: Int64 = 0
    /// Whether its client may not ask, and has been told so.
    var isRefused = false
    var isHTTP10 = false
    /// Bytes received when a body's progress was last checked.
    var progressMark: Int64 = 0
    @exclusivity(unchecked) var receivedByteCount: Int64 = 0
    @exclusivity(unchecked) var isWriteStalled = false
    @exclusivity(unchecked) var log: PendingRecord?
    @exclusivity(unchecked) private var partial: PartialHead?
    @exclusivity(unchecked) private var hasEnded = false

    init(_ stream: Stream, _ context: ConnectionContext) {
        self.stream = stream
        self.context = context
        stream.setDeadline(context.options.headDeadline)
    }

    var loop: EventLoop { stream.loop }
    var options: ConnectionOptions { context.options }
    /// The client of a request on this connection; costs a system call once.
    func client(of head: RequestHead) -> SocketAddress? {
        context.forwarded.client(of: head, from: stream.peer)
    }

    // MARK: What the stream tells

    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        receivedByteCount += Int64(bytes.count)
        if input.isEmpty {
            let used = process(bytes)
            if used < bytes.count, !stream.isEnding {
                bytes.extracting(used...).withUnsafeBufferPointer {
                    input.append(contentsOf: $0)
                }
            }
        } else {
            bytes.withUnsafeBufferPointer { input.append(contentsOf: $0) }
            processInput()
        }
        flush()
        rest()
    }

    func processInput() {
        guard !input.isEmpty else { return }
        // Taken out, so that a handler that calls back finds no array in use.
        let bytes = input
        input = []
        let used = process(bytes.span)
        guard !stream.isEnding, used < bytes.count else { return }
        input = used == 0 ? bytes : Array(bytes[used...])
    }

    func receivedEnd(on stream: Stream) {
        hasEnded = true
        switch phase {
        case .waiting(let waiting) where waiting.isUnderWay: stream.pauseReading()
        case .waiting(let waiting):
            phase = .ending
            waiting.gone?()
            stream.close()
        case .streaming(let exchange):
            exchange.clientEnded()
        default:
            // Complete requests are answered; an incomplete one never will be complete.
            finishAfterOutput()
        }
    }

    func endNoticed(on stream: Stream) {
        // Nobody would read a late answer; that a response in flight is lost only shows when sending fails.
        switch phase {
        case .waiting(let waiting) where waiting.isUnderWay: stream.pauseReading()
        case .waiting: stream.close()
        case .streaming(let exchange): exchange.endNoticed()
        default: break
        }
    }

    func drained(_ stream: Stream) {
        isWriteStalled = false
        if case .streaming(let exchange) = phase {
            stream.setDeadline(nil)
            exchange.drained()
        } else {
            if log?.status != nil { report() }
            processInput()
        }
        flush()
        rest()
    }

    func closed(_ stream: Stream, failure: Int32?) {
        let last = phase
        phase = .ending
        finishRecordOfGone()
        switch last {
        case .waiting(let waiting): waiting.gone?()
        case .streaming(let exchange): exchange.clientGone()
        default: break
        }
        if requestNumber > 0 { context.handler.ended(ConnectionID(stream.token, on: loop)) }
    }

    // MARK: Requests

    private func process(_ bytes: Span<UInt8>) -> Int {
        var position = 0
        while position < bytes.count, !stream.isEnding, stream.handler === self {
            // A client that does not read its answers gets no more of them.
            if stream.hasQueued, !isStreaming { return position }
            let rest = bytes.extracting(position...)
            let used: Int
            switch phase {
            case .head: used = readHead(rest)
            case .collecting, .dropping: used = readBody(rest)
            case .streaming(let exchange): used = exchange.read(rest)
            case .waiting: return position
            case .ending: return bytes.count
            }
            if used == 0 { return position }
            position += used
        }
        return position
    }

    private var isStreaming: Bool {
        if case .streaming = phase { true } else { false }
    }

    private func readHead(_ bytes: Span<UInt8>) -> Int {
        if let partial {
            let outcome = partial.parser.parse(bytes)
            if outcome == .needMore { return hold(partial, bytes.count) }
            self.partial = nil
            return take(outcome, partial.parser.head, bytes.count, held: partial.held)
        }
        context.parser.reset()
        let outcome = context.parser.parse(bytes)
        guard outcome != .needMore else {
            let partial = PartialHead(context.parser)
            self.partial = partial
            context.parser = RequestParser(limits: options.parser)
            // The first head's deadline has run since the connection began.
            if requestNumber > 0 { stream.setDeadline(options.headDeadline) }
            return hold(partial, bytes.count)
        }
        return take(outcome, context.parser.head, bytes.count)
    }

    /// Waits for the rest of a head, unless it is long and there is no space for it.
    /// - Returns: how many bytes were used.
    private func hold(_ partial: PartialHead, _ count: Int) -> Int {
        guard !hold(count, &partial.held) else { return 0 }
        self.partial = nil
        refuse(Self.tooManyLong)
        return count
    }

    /// Takes a long head's share of the budget; `false` if there is no more.
    private func hold(_ count: Int, _ held: inout BudgetShare?) -> Bool {
        guard count > options.parser.head else { return true }
        let share = held ?? BudgetShare(context.bodies)
        held = share
        return share.grow(to: count)
    }

    private static let tooManyLong = MessageFailure(
        503, "the server holds too many long requests; send it again later")

    private func take(
        _ outcome: RequestParser.Outcome, _ head: RequestHead, _ count: Int,
        held: BudgetShare? = nil
    ) -> Int {
        var (head, held) = (head, held)
        switch outcome {
        case .needMore: return 0
        case .failure(let failure):
            refuse(failure, isHead: head.method == .head)
            return count
        case .head(let consumed, let framing):
            guard hold(consumed, &held) else {
                refuse(Self.tooManyLong, isHead: head.method == .head)
                return count
            }
            // The bytes received after a long head are no part of it.
            if consumed > options.parser.head { head.held = held }
            requestNumber &+= 1
            isHTTP10 = head.minorVersion == 0
            keepsAlive = head.isKeepAlive && !loop.isStopping
            if context.log != nil {
                log = PendingRecord(head, from: client(of: head), after: stream.sentByteCount)
            }
            perform(context.handler.answer(head, exchange), head, framing)
            return consumed
        }
    }

    // MARK: Deadlines

    func deadlineReached(on stream: Stream) {
        switch phase {
        case _ where stream.hasQueued: goOn(stream.hasProgressed())
        case .head:
            if partial != nil {
                refuse(MessageFailure(408, "the request took too long"))
                flush()
            } else {
                stream.finish()
            }
        case .dropping:
            // The answer was sent long ago.
            stream.close()
        case .collecting:
            let isEnough = receivedByteCount - progressMark >= options.minimumProgress
            progressMark = receivedByteCount
            goOn(isEnough)
        case .waiting(let waiting):
            answerLate(requestNumber, .response(waiting.otherwise()))
        case .streaming, .ending: stream.close()
        }
    }

    /// Cuts a client that is too slow to be worth its memory.
    private func goOn(_ hasProgressed: Bool) {
        guard hasProgressed else {
            stream.close()
            return
        }
        stream.setDeadline(options.progressWindow)
    }

    /// When nothing more can be done now: sets what the connection waits for, and until when.
    func rest() {
        guard !stream.isEnding, stream.handler === self else { return }
        if stream.hasQueued {
            if !isWriteStalled {
                isWriteStalled = true
                stream.beginProgress()
                stream.setDeadline(options.progressWindow)
            }
            if !isStreaming {
                stream.pauseReading()
                return
            }
        }
        switch phase {
        case .head:
            if loop.isStopping, partial == nil {
                stream.finish()
                return
            }
            if hasEnded {
                phase = .ending
                stream.finish()
                return
            }
            stream.resumeReading()
            guard partial == nil, requestNumber > 0 else { return }
            restsSince = loop.now
            stream.setDeadline(options.idle)
        case .waiting: stream.pauseReadingButNotice()
        case .streaming(let exchange):
            restsSince = loop.now
            exchange.decideReading()
        case .collecting:
            restsSince = loop.now
            stream.resumeReading()
        case .dropping: stream.resumeReading()
        case .ending: break
        }
    }

    func silence(of stream: Stream) -> ClientSilence {
        if isRefused { return .answered(since: restsSince) }
        guard !stream.isEnding, !stream.hasQueued else { return .no }
        switch phase {
        case .head where requestNumber == 0: return .beforeFirst
        case .head, .collecting: return .between(since: restsSince)
        case .streaming(let exchange) where exchange.awaitsBody: return .between(since: restsSince)
        case .dropping: return .answered(since: restsSince)
        case .waiting, .streaming, .ending: return .no
        }
    }

    func stopping(_ stream: Stream) {
        switch phase {
        case .head where partial == nil && input.isEmpty && !stream.hasQueued: stream.finish()
        default: keepsAlive = false
        }
    }

    // MARK: Requests with bodies

    func collect(_ framing: BodyFraming, _ limit: Int, _ collecting: Collecting) {
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

    // MARK: What a streamed exchange needs from its connection

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
