import Platform

/// One request on its way to an upstream, and its answer on the way back.
///
/// The client's exchange owns it until the answer is complete or given up. Belongs to the loop's thread.
final class ProxyExchange: ExchangeStreamHandler {
    enum Phase {
        /// No connection yet: waits for addresses, or connects.
        case connecting
        /// The request is on its way; no final head has come.
        case head
        case body(BodyRest)
        case over
    }

    let client: ExchangeStream
    let pool: UpstreamPool
    let request: UpstreamRequest
    let route: ProxyRoute
    var options: ProxyOptions { pool.options }
    var phase = Phase.connecting
    var link: UpstreamLink?
    var isRequestComplete = false
    var isUpstreamPaused = false
    var isReusable = false
    var pendingHead: PendingHead?
    var scratch: [UInt8] = []
    var interimByteCount = 0
    private var isClientPaused = false
    private var waitsToContinue: Bool
    private var hasRepeated = false
    private var untried: ArraySlice<SocketAddress> = []
    private var hasTimedOut = false

    struct PendingHead {
        var head: ResponseHead
        var framing: BodyFraming
        var hasDate: Bool
    }

    /// Adds to the head of the final answer.
    let amend: (inout ResponseHead) -> Void

    init(
        _ client: ExchangeStream, _ route: ProxyRoute, _ upstream: Upstream,
        _ options: ProxyOptions, _ amend: @escaping (inout ResponseHead) -> Void
    ) {
        self.client = client
        self.amend = amend
        self.route = route
        pool = UpstreamPool.of(upstream, on: client.loop, options)
        request = UpstreamRequest(
            client.head, client.framing, route: route, peer: client.peer, options: options)
        waitsToContinue = request.expectsContinue
    }

    // MARK: The connection

    /// Starts; called once, before the client's body is read.
    func start() {
        client.setDeadline(nil)
        if let link = pool.take(isRepeatable: request.isRepeatable) {
            use(link)
            sendHead()
        } else {
            holdClient()
            findAddresses()
        }
    }

    private func findAddresses() {
        if let addresses = pool.upstream.addresses(for: client.loop) {
            begin(addresses)
        } else {
            pool.waiting.append(self)
        }
    }

    /// The look-up is over, with or without addresses.
    func resolved() {
        guard case .connecting = phase, link == nil else { return }
        findAddresses()
    }

    private func begin(_ addresses: [SocketAddress]) {
        guard !addresses.isEmpty else {
            pool.upstream.resolve()
            fail(502, "The name \(pool.upstream.origin.host) has no address.")
            return
        }
        untried = addresses[...]
        connectNext()
    }

    private func connectNext() {
        while let address = untried.popFirst() {
            guard client.loop.mayConnect || UpstreamPool.makeSpace(on: client.loop) else {
                return fail(
                    503, "Too many requests to other servers are under way; ask again in a moment.")
            }
            let link = UpstreamLink(address, pool)
            use(link)
            do throws(StoreError) {
                try link.connect(on: client.loop)
                link.stream?.setDeadline(options.connect)
                return
            } catch {
                // That address cannot be reached; the next one may be.
                drop()
            }
        }
        pool.upstream.resolve()
        let origin = pool.upstream.origin
        if hasTimedOut {
            fail(504, "The server \(origin) did not accept the connection in time.")
        } else {
            fail(502, "The server \(origin) cannot be reached; is it running?")
        }
    }

    private func use(_ link: UpstreamLink) {
        link.exchange = self
        self.link = link
    }

    func connected() {
        guard case .connecting = phase else { return }
        sendHead()
        releaseClient()
    }

    private func sendHead() {
        phase = .head
        link?.stream?.send(request.bytes)
        waitForHead()
    }

    private func waitForHead() {
        guard case .head = phase else { return }
        if isRequestComplete || isClientPaused {
            link?.stream?.setDeadline(options.head)
        } else {
            link?.stream?.setDeadline(waitsToContinue ? options.continueWait : nil)
        }
    }

    func upstreamDeadlineReached() {
        switch phase {
        case .connecting:
            hasTimedOut = true
            if link?.stream?.isInHandshake == true {
                let origin = pool.upstream.origin
                pool.upstream.resolve()
                fail(504, "The server \(origin) did not complete the TLS handshake in time.")
                return
            }
            drop()
            connectNext()
        case .head where waitsToContinue && !isRequestComplete && !isClientPaused:
            tellToContinue()
            waitForHead()
        case .head: fail(504, "The server \(pool.upstream.origin) did not answer in time.")
        case .body: cut()
        case .over: break
        }
    }

    func tellToContinue() {
        guard waitsToContinue else { return }
        waitsToContinue = false
        client.sendContinue()
    }

    /// The upstream closed its sending side, or the connection broke.
    func upstreamEnded(failure: Int32?) {
        switch phase {
        case .connecting:
            drop()
            connectNext()
        case .head: endedWithoutHead()
        case .body(.untilClose) where failure == nil: complete(isReusable: false)
        case .body: cut()
        case .over: break
        }
    }

    /// Handles a connection whose TLS handshake failed: the other addresses have the same certificate.
    ///
    /// But the name may by now mean another machine, so it is looked up again.
    func handshakeFailed(_ problem: TLSFailure) {
        let origin = pool.upstream.origin
        pool.upstream.resolve()
        fail(502, problem.sentence(origin.description, host: origin.host))
    }

    private func endedWithoutHead() {
        let origin = pool.upstream.origin
        guard let link, !link.hasAnswered else {
            fail(502, "The server \(origin) closed the connection inside the head of its answer.")
            return
        }
        // It may have closed the connection before it saw the request.
        guard link.isUsed, request.isRepeatable, !hasRepeated else {
            fail(502, "The server \(origin) closed the connection without an answer.")
            return
        }
        hasRepeated = true
        drop()
        phase = .connecting
        findAddresses()
    }

    // MARK: Ends

    /// Gives up the connection, but not the exchange.
    private func drop() {
        let last = link
        link = nil
        last?.close()
    }

    /// Answers with a sentence if nothing was sent; otherwise cuts the client's connection.
    func fail(_ status: Int, _ sentence: String) {
        phase = .over
        pendingHead = nil
        drop()
        client.fail(PlainAnswer.response(status, sentence, method: client.head.method))
    }

    /// Ends an answer that cannot be completed, so that the client does not take it for a whole one.
    func cut() {
        fail(502, "The server \(pool.upstream.origin) broke off its answer.")
    }

    func complete(isReusable: Bool) {
        phase = .over
        let last = link
        link = nil
        if let last {
            if isReusable, isRequestComplete, last.stream?.hasQueued == false {
                pool.give(last)
            } else {
                last.close()
            }
        }
        client.finish()
    }

    /// Gives both streams to a tunnel, because the upstream has changed the protocol.
    func becomeTunnel(_ response: ResponseHead, _ first: Span<UInt8>) {
        guard let upstream = link?.stream else { return }
        phase = .over
        link?.exchange = nil
        link = nil
        let tunnel = ProxyTunnel(upstream, options)
        client.upgrade(response) { tunnel.take(client: $0) }
        tunnel.begin(first)
    }

    // MARK: What the client tells

    func received(_ bytes: Span<UInt8>) {
        waitsToContinue = false
        guard let stream = link?.stream else { return }
        if case .chunked = client.framing {
            var chunk = ChunkedEncoder.sizeLine(bytes.count)
            chunk.append(bytes, 0..<bytes.count)
            chunk.append(contentsOf: HTTPConnection.lineEnd)
            stream.send(chunk)
        } else {
            bytes.withUnsafeBytes { stream.send($0, more: false) }
        }
        if stream.queuedByteCount > options.outputLimit { holdClient() }
        limitClient()
        waitForHead()
    }

    func receivedEnd() {
        isRequestComplete = true
        if case .chunked = client.framing { link?.stream?.send(ChunkedEncoder.end) }
        client.setDeadline(nil)
        waitForHead()
    }

    func drained() {
        limitClient()
        guard isUpstreamPaused, let stream = link?.stream else { return }
        isUpstreamPaused = false
        stream.setDeadline(options.stall)
        stream.resumeReading()
    }

    func clientEnded() {
        guard client.hasSpace else { return }
        gone()
        client.abandon()
    }

    func gone() {
        phase = .over
        drop()
    }

    func upstreamDrained() { releaseClient() }

    private func holdClient() {
        guard client.framing != .none, !isRequestComplete, !isClientPaused else { return }
        isClientPaused = true
        client.pauseBody()
        client.setDeadline(nil)
    }

    private func releaseClient() {
        guard isClientPaused else { return }
        isClientPaused = false
        client.resumeBody()
        limitClient()
        waitForHead()
    }

    /// Limits the time in which a client must send the body it promised.
    private func limitClient() {
        guard !isRequestComplete, !isClientPaused, client.hasSpace else { return }
        client.setDeadline(options.stall)
    }

    // MARK: The upstream's answer: heads, then one body

    func answered(_ bytes: Span<UInt8>) {
        switch phase {
        case .head:
            guard let link else { return }
            guard !link.input.isEmpty else {
                readHeads(bytes)
                return
            }
            link.input.append(bytes, 0..<bytes.count)
            // Taken out, so that putting back the rest makes no copy.
            let all = link.input
            link.input = []
            readHeads(all.span)
        case .body: readBody(bytes)
        case .connecting, .over: break
        }
    }

    /// Reads heads until the final one, then continues with the body.
    private func readHeads(_ bytes: Span<UInt8>) {
        var position = 0
        while case .head = phase, let link, position < bytes.count {
            let rest = bytes.extracting(position...)
            switch link.parser.parse(rest) {
            case .needMore:
                link.input.append(rest, 0..<rest.count)
                return
            case .failure(let failure):
                refuse(failure)
                return
            case .head(let consumed):
                position += consumed
                if link.parser.head.status < 200, !countInterim(consumed) { return }
                take(link.parser.head, rest, after: bytes.extracting(position...))
                link.parser.reset()
            }
        }
        if case .body = phase { readBody(bytes.extracting(position...)) }
    }

    /// Counts the bytes of an interim answer, to give up an upstream that sends nothing else.
    private func countInterim(_ count: Int) -> Bool {
        interimByteCount += count
        guard interimByteCount > UpstreamHeadParser.byteLimit else { return true }
        refuse(
            MessageFailure(
                502,
                "there are more than \(UpstreamHeadParser.byteLimit) bytes of interim answers (1xx) and no other"
            ))
        return false
    }

    /// Whether the browser is at an http address of this machine: no proxy in front says that it is at https.
    private var isClientPlain: Bool {
        let head = client.head
        guard !options.keepsSecureCookies, options.scheme == "http",
            let authority = head.authority ?? head.host,
            head.value(of: "x-forwarded-proto").map({ !head.matches($0, "https") }) ?? true
        else { return false }
        return HostPolicy.isLoopback(head.bytes[authority])
    }

    private func refuse(_ failure: MessageFailure) {
        fail(
            502,
            "The answer of the server \(pool.upstream.origin) is malformed: \(failure.sentence).")
    }

    /// Takes in a head; `bytes` begin with it, and `after` follows it.
    private func take(_ head: UpstreamHead, _ bytes: Span<UInt8>, after: Span<UInt8>) {
        guard head.status >= 200 else {
            switch head.status {
            case 100: tellToContinue()
            case 101: changeProtocol(head, bytes, after)
            // Others are hints that a proxy may leave out (RFC 9110, section 15.2).
            default: break
            }
            return
        }
        isReusable = head.isKeepAlive
        let framing = head.framing(toHead: request.isHead)
        phase = .body(BodyRest(framing))
        if framing == .untilClose { isReusable = false }
        var answer = UpstreamAnswer.head(head, bytes, by: route, isPlain: isClientPlain)
        amend(&answer)
        // With chunks, the client can distinguish the end from a cut.
        pendingHead = PendingHead(
            head: answer,
            framing: framing == .untilClose ? .chunked : framing, hasDate: head.hasDate)
    }

    /// Accepts a 101 only if it names a protocol that the client asked for.
    private func changeProtocol(
        _ head: UpstreamHead, _ bytes: Span<UInt8>, _ after: Span<UInt8>
    ) {
        guard !request.upgrade.isEmpty else {
            refuse(MessageFailure(502, "it changes the protocol without being asked"))
            return
        }
        guard let upgrade = head.upgrade, head.connection.upgrades,
            isAsked(bytes.extracting(upgrade))
        else {
            refuse(MessageFailure(502, "it changes to a protocol that was not asked for"))
            return
        }
        becomeTunnel(
            UpstreamAnswer.head(
                head, bytes, by: route, isPlain: isClientPlain, dropsDate: true), after)
    }

    private func isAsked(_ name: Span<UInt8>) -> Bool {
        let wanted = name.withUnsafeBufferPointer { $0.map { FieldText.lowercased($0) } }
        for element in request.upgrade[...].listElements()
        where element.map({ FieldText.lowercased($0) }) == wanted {
            return true
        }
        return false
    }

    // MARK: Body

    private func readBody(_ bytes: Span<UInt8>) {
        guard case .body(var rest) = phase else { return }
        scratch.removeAll(keepingCapacity: true)
        do throws(MessageFailure) {
            let used = try rest.read(bytes, decoded: &scratch)
            if rest.isChunked {
                deliver(scratch.span)
            } else {
                deliver(bytes.extracting(..<used))
            }
            guard !rest.isComplete else {
                // Bytes after the end belong to no request.
                complete(isReusable: isReusable && used == bytes.count)
                return
            }
            phase = .body(rest)
        } catch {
            refuse(error)
            return
        }
        client.flush()
        watch()
    }

    /// Queues a piece for the client; the caller flushes or finishes.
    private func deliver(_ bytes: Span<UInt8>) {
        if let head = pendingHead {
            pendingHead = nil
            client.put(head.head, head.framing, hasDate: head.hasDate)
        }
        client.put(bytes)
    }

    /// Pauses the upstream while the client does not read; otherwise sets its deadline.
    private func watch() {
        // Sending to the client may have found it gone.
        guard case .body = phase, let stream = link?.stream else { return }
        if client.hasSpace {
            stream.setDeadline(options.stall)
        } else {
            isUpstreamPaused = true
            stream.pauseReading()
            stream.setDeadline(nil)
        }
    }
}
