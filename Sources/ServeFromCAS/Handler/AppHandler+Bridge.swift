import CASStore
import Synchronization

// The bridge over this server's connections.
extension AppHandler {
    func answerBridge(_ head: RequestHead, _ exchange: Exchange) -> Answer {
        if head.value(of: "castree-refused") != nil, isOwn(head) {
            // By a proxy that leaves each address a part of the sessions: that is not the version's fault either.
            starts.note(.refused)
            return .plain(503, "A proxy refuses this page a session; try again later.", head.method)
        }
        if WebSocketHandshake.isAsked(for: head) {
            return openSocket(head, exchange, isOwn(head))
        }
        // In browsers from before 2023, no field of a GET identifies our own pages; but it names a living session.
        guard isOwn(head, hasSecret: bridge.knowsSession(of: head)) else {
            return .plain(403, "Only this server's pages may use the bridge.", head.method)
        }
        holdPage(of: head, exchange)
        guard head.method == .post else { return answerBridge(head, [], exchange) }
        // Only a living session may send a large body; beginning one takes little.
        let query = BridgeQuery(head)
        if !query.isEmpty, !bridge.knowsSession(of: head) {
            return .response(bridge.refusal(of: query))
        }
        let limit = query.isEmpty ? BridgeLimits.greetingByteCount : BridgeLimits.postByteCount
        return .readBody(limit: limit) { head, body, exchange in
            self.answerBridge(head, body, exchange)
        }
    }

    /// A page that sends something is alive, so its version stays pinned.
    private func holdPage(of head: RequestHead, _ exchange: Exchange) {
        let session = BridgeQuery(head).session
        // A page that has gone may ask once more, but is no longer to be pinned.
        guard session == nil || bridge.knowsSession(of: head) else { return }
        if let session, pins.withLock({ $0.knows(session: session.description) }) {
            // Known for certain.
        } else if PinRequest.isOfPage(head) {
            _ = version(of: head, exchange)
        }
        guard let session else { return }
        let query = BridgeQuery(head)
        hold(session, exchange.connection, saying: query)
        guard !query.paths.isEmpty else { return }
        pins.withLock {
            $0.goes(
                session: session.description, paths: query.paths, isKept: query.isKept,
                now: SystemClock.now)
        }
    }

    private func answerBridge(
        _ head: RequestHead, _ body: [UInt8], _ exchange: Exchange
    ) -> Answer {
        let bridge = bridge
        let held = HeldPoll()
        let answer = bridge.answer(to: head, body: body, now: SystemClock.now) {
            exchange.loop.submit { _ in
                guard let poll = held.poll,
                    let response = bridge.answer(to: poll, now: self.pollTime(poll))
                else { return }
                self.pins.withLock { $0.polls[poll.ticket] = nil }
                exchange.answer(response)
            }
        }
        switch answer {
        case .response(let response): return .response(response)
        case .hold(let poll):
            let name = poll.session.description
            let browser =
                pins.withLock { $0.browser(ofSession: name) } ?? browser(of: head, exchange)
            guard pins.withLock({ $0.beginPoll(of: browser, ticket: poll.ticket) }) else {
                var response = finalAnswer(to: poll)
                response.head.add("Retry-After", "2")
                return .response(response)
            }
            held.poll = poll
            let left = bridge.nextDeadline(of: poll) - pollTime(poll)
            return .later(
                within: max(0, left.milliseconds),
                otherwise: {
                    self.pins.withLock { $0.polls[poll.ticket] = nil }
                    return self.finalAnswer(to: poll)
                },
                gone: {
                    self.pins.withLock { $0.polls[poll.ticket] = nil }
                    bridge.unlink(poll.session, ticket: poll.ticket, now: SystemClock.now)
                })
        }
    }

    private func finalAnswer(to poll: BridgePoll) -> Response {
        bridge.answer(to: poll, now: max(SystemClock.now, poll.deadline))
            ?? PlainAnswer.response(410, "The session has ended.", method: .get)
    }

    /// The time used to judge held requests: when the server stops, all of them are due.
    private func pollTime(_ poll: BridgePoll) -> Duration {
        let now = SystemClock.now
        return isStopping.load(ordering: .acquiring) ? max(now, poll.deadline) : now
    }

    func endPolls() {
        isStopping.store(true, ordering: .releasing)
        bridge.wakeAll()
    }

    /// The poll that a wake is for; `@unchecked Sendable`: only the loop's thread sets and reads it.
    private final class HeldPoll: @unchecked Sendable {
        var poll: BridgePoll?
    }

    private func openSocket(
        _ head: RequestHead, _ exchange: Exchange, _ isOwn: Bool
    ) -> Answer {
        do throws(StoreError) {
            switch try WebSocketHandshake.answer(to: head, isAllowedOrigin: isOwn) {
            case .refused(let response): return .response(response)
            case .accepted(let response):
                // The socket is one of the page's connections, and lives as long as the page.
                if PinRequest.isOfPage(head) { _ = version(of: head, exchange) }
                let (query, budget) = (BridgeQuery(head), exchange.bodies)
                return .upgrade(response) { stream in
                    BridgeStream(stream, self, saying: query, budget: budget)
                }
            }
        } catch {
            notice(error.message)
            return .plain(500, error.message, head.method)
        }
    }
}

extension Duration {
    /// Whole milliseconds, rounded up, so that what is due then is really due.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}

/// A page's WebSocket on a loop: moves bytes and time between the stream and the bridge.
final class BridgeStream: StreamHandler {
    private let handler: AppHandler
    private var link: BridgeLink
    private let connection: ConnectionID
    private let query: BridgeQuery
    private var isHolding = false
    private let beganAt: Int64
    /// Bytes that may wait in the stream; the rest waits in the session's queue.
    private static let queuedMax = 256 << 10

    init(
        _ stream: Stream, _ handler: AppHandler, saying query: BridgeQuery, budget: BodyBudget?
    ) {
        self.handler = handler
        self.query = query
        connection = ConnectionID(stream.token, on: stream.loop)
        beganAt = stream.loop.now
        let (loop, token) = (stream.loop, stream.token)
        link = BridgeLink(bridge: handler.bridge, now: SystemClock.now, budget: budget) {
            loop.submit { loop in
                guard let stream = loop.stream(token),
                    let bridge = stream.handler as? BridgeStream
                else { return }
                bridge.pump(stream)
            }
        }
        schedule(stream)
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) {
        let now = SystemClock.now
        bytes.withUnsafeBytes { link.receive($0, now: now) }
        if !isHolding, let session = link.session {
            isHolding = true
            handler.hold(session, connection, saying: query)
        }
        send(stream)
    }

    func receivedEnd(on stream: Stream) {
        link.receiveEnd(now: SystemClock.now)
        send(stream)
        stream.finish()
    }

    func drained(_ stream: Stream) {
        stream.resumeReading()
        pump(stream)
    }

    func deadlineReached(on stream: Stream) {
        link.advance(to: SystemClock.now)
        send(stream)
    }

    /// Connections without a session may be closed for others: sessions are few, such connections unlimited.
    func silence(of stream: Stream) -> ClientSilence {
        link.session == nil ? .answered(since: beganAt) : .no
    }

    func stopping(_ stream: Stream) {
        link.close(CloseCode(1001), "the server stops", now: SystemClock.now)
        send(stream)
    }

    func closed(_ stream: Stream, failure: Int32?) {
        // The page may live on and connect again; it reports its own end.
        link.receiveEnd(now: SystemClock.now)
    }

    private func pump(_ stream: Stream) {
        link.pump(now: SystemClock.now)
        send(stream)
    }

    private func send(_ stream: Stream) {
        let now = SystemClock.now
        while link.outputByteCount > 0, stream.queuedByteCount < Self.queuedMax, !stream.isEnding {
            link.withOutput(now: now) { bytes in
                stream.send(bytes, more: false)
                return bytes.count
            }
        }
        // The server does not read from a page that takes nothing.
        if stream.queuedByteCount >= Self.queuedMax { stream.pauseReading() }
        if link.isFinished, link.outputByteCount == 0 {
            stream.finish()
            return
        }
        schedule(stream)
    }

    private func schedule(_ stream: Stream) {
        guard !stream.isEnding else { return }
        stream.setDeadline(
            link.nextDeadline.map { max(0, ($0 - SystemClock.now).milliseconds) })
    }
}
