import CASStore
import VersionTree
package import WebServer

/// A GET of the bridge that is waiting for something to send.
package struct BridgePoll: Sendable, Hashable {
    package let session: BridgeSessionID
    let ticket: UInt64
    package let deadline: Duration
}

package enum BridgeAnswer: Sendable {
    case response(Response)
    /// Keep it until it is woken or due, then call `answer(to:now:)`.
    case hold(BridgePoll)
}

// The bridge over requests (docs/bridge-protocol.md, "Over requests"). The caller has already decided whether the
// request's origin is allowed.
extension Bridge {
    /// Answers GET and POST at the bridge's address, except requests for a WebSocket.
    ///
    /// `body` is the whole body of a POST. Any thread may call `wake` when a held GET should be checked.
    package func answer(
        to head: RequestHead, body: [UInt8], now: Duration, wake: @escaping @Sendable () -> Void
    ) -> BridgeAnswer {
        do throws(BridgeViolation) {
            switch head.method {
            case .get: return try poll(BridgeQuery(head), wake, now)
            case .post: return .response(try post(BridgeQuery(head), body, now))
            default:
                var refusal = ResponseHead(405)
                refusal.add("Allow", "GET, POST")
                return .response(refusal.explained("the bridge takes GET and POST"))
            }
        } catch {
            return .response(error.response)
        }
    }

    /// Answers a held GET that was woken or is due; `nil` if there is nothing to send yet.
    package func answer(to poll: BridgePoll, now: Duration) -> Response? {
        switch takeFrames(for: poll.session, ticket: poll.ticket, space: 1 << 20, now: now) {
        case .ended: return BridgeViolation.noSession.response
        case .replaced: return Self.batch([])
        case .frames(let frames, _):
            guard !frames.isEmpty || now >= poll.deadline else { return nil }
            unlink(poll.session, ticket: poll.ticket, now: now)
            return Self.batch(frames)
        }
    }

    package func nextDeadline(of poll: BridgePoll) -> Duration {
        locked { state, _ in
            guard let due = state.sessions[poll.session]?.queue.acknowledgementDue else {
                return poll.deadline
            }
            return min(due, poll.deadline)
        }
    }

    /// Answers a POST whose query names no living session, without reading its body.
    func refusal(of query: BridgeQuery) -> Response {
        (query.session == nil ? BridgeViolation.badSession : BridgeViolation.noSession).response
    }

    /// Whether a request names a living session: the secret of a client without an Origin.
    package func knowsSession(of head: RequestHead) -> Bool {
        guard let session = BridgeQuery(head).session else { return false }
        return locked { state, _ in state.sessions[session] != nil }
    }

    private func poll(
        _ query: BridgeQuery, _ wake: @escaping @Sendable () -> Void, _ now: Duration
    ) throws(BridgeViolation) -> BridgeAnswer {
        guard let session = query.session, let received = query.acknowledged else {
            throw BridgeViolation(.protocolError, "GET of the bridge needs session and ack")
        }
        let ticket = try locked { (state, after) throws(BridgeViolation) -> UInt64 in
            guard var entry = state.sessions[session] else { throw BridgeViolation.noSession }
            // If the browser repeats an older GET, acknowledgements do not go back.
            let from = max(received, entry.queue.acknowledged)
            try entry.queue.rewind(to: from)
            try entry.queue.acknowledge(from)
            if let replaced = entry.wake { after.wakes.append(replaced) }
            let ticket = state.sessions.link(&entry, wake, now)
            state.sessions[session] = entry
            return ticket
        }
        let poll = BridgePoll(
            session: session, ticket: ticket, deadline: now + BridgeLimits.pollHold)
        guard let response = answer(to: poll, now: now) else { return .hold(poll) }
        return .response(response)
    }

    private func post(
        _ query: BridgeQuery, _ body: [UInt8], _ now: Duration
    ) throws(BridgeViolation) -> Response {
        guard body.count <= BridgeLimits.postByteCount else {
            throw BridgeViolation(.tooLarge, "a batch is over \(BridgeLimits.postByteCount) bytes")
        }
        let frames = try BridgeBatch.frames(body[...])
        guard query.isEmpty else { return try take(frames, query, now) }
        guard frames.count == 1, case .hello(let wanted, let received) = frames[0] else {
            throw BridgeViolation(.protocolError, "POST without a session needs one greeting")
        }
        let greeting = try greet(wanted, received: received, wake: nil, now: now)
        return Self.batch([.welcome(session: greeting.session, received: greeting.received)])
    }

    private func take(
        _ frames: [BridgeFrame], _ query: BridgeQuery, _ now: Duration
    ) throws(BridgeViolation) -> Response {
        guard let session = query.session else { throw BridgeViolation.badSession }
        for frame in frames {
            switch try accept(frame, from: session, now: now) {
            case .taken: continue
            case .ended: return Self.batch([])
            case .unknown: throw BridgeViolation.noSession
            }
        }
        let answer = locked { state, _ -> BridgeFrame? in
            if state.sessions[session]?.unlinkedSince != nil {
                state.sessions[session]?.unlinkedSince = now
            }
            return state.sessions[session]?.queue.acknowledgement()
        }
        guard let answer else { throw BridgeViolation.noSession }
        return Self.batch([answer])
    }

    private static func batch(_ frames: [BridgeFrame]) -> Response {
        ResponseHead(200).carrying(BridgeBatch.bytes(frames), "application/octet-stream")
    }
}

extension BridgeViolation {
    fileprivate static let badSession = BridgeViolation(
        .protocolError, "a session is 32 hexadecimal digits")
    fileprivate static let noSession = BridgeViolation(.noSession, "there is no such session")

    fileprivate var response: Response {
        let status =
            switch code {
            case .noSession: 410
            case .tryAgainLater: 503
            case .tooLarge: 413
            case .serverFailure: 500
            default: 400
            }
        return ResponseHead(status).explained(message)
    }
}

extension CloseCode {
    /// The server has failed (RFC 6455, section 7.4.1; registered with IANA).
    static let serverFailure = Self(1011)
    /// Only over requests: 410.
    fileprivate static let noSession = Self(4410)
}

struct BridgeQuery: Sendable {
    private(set) var isEmpty = true
    private(set) var session: BridgeSessionID?
    private(set) var acknowledged: UInt64?
    /// What the page reports about its own version.
    private(set) var word: PageWord?
    /// The paths of a page that goes away, and of its frames.
    private(set) var paths: [[UInt8]] = []
    var address: [UInt8]? { origin ?? paths.first }
    private var origin: [UInt8]?
    /// Whether the browser keeps the leaving page in its back/forward cache.
    private(set) var isKept = false
    private(set) var hasWorker = false
    /// Whether the page says that no worker can have shown it.
    private(set) var isFromNetwork = false
    /// Whether the page is in a frame of another origin's page.
    private(set) var isEmbedded = false
    /// The later version that the page may also belong to.
    private(set) var successor: VersionName?
    /// Whether the page was already reloaded because of what it reports.
    private(set) var isAgain = false

    init(_ head: RequestHead) {
        guard let query = head.query else { return }
        for part in head.bytes[query].split(separator: 38) {
            isEmpty = false
            let text = String(decoding: part, as: UTF8.self)
            if text.hasPrefix("session=") { session = BridgeSessionID(String(text.dropFirst(8))) }
            if text.hasPrefix(PageWord.parameter) {
                word = PageWord(String(text.dropFirst(PageWord.parameter.count)))
            }
            if text.hasPrefix("as=") { successor = PageWord(String(text.dropFirst(3))).version }
            if part.elementsEqual("kept=1".utf8) { isKept = true }
            if part.elementsEqual("worker=1".utf8) { hasWorker = true }
            if part.elementsEqual("worker=0".utf8) { isFromNetwork = true }
            if part.elementsEqual("shell=1".utf8) { isEmbedded = true }
            if part.elementsEqual("again=1".utf8) { isAgain = true }
            if text.hasPrefix("page=") { paths.append(Self.path(part.dropFirst(5))) }
            if text.hasPrefix("from=") { origin = Self.path(part.dropFirst(5)) }
            if text.hasPrefix("ack=") {
                // An invalid number counts as absent.
                acknowledged = try? BridgeFrame.number(part.dropFirst(4))
            }
        }
    }

    /// Undecodable text matches no path of a load.
    private static func path(_ text: ArraySlice<UInt8>) -> [UInt8] {
        PercentEncoding.decoded(text) ?? Array(text)
    }
}
