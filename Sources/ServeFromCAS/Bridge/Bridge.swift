public import CASStore
import StrictJSON
import Synchronization
import VersionTree
package import WebServer

/// The app's end of the conversation with its pages.
///
/// Every message has a number, is acknowledged, and is sent again after a broken connection. None is lost or
/// delivered twice, and their order is kept (docs/bridge-protocol.md). Thread-safe; no call waits for a page.
public final class Bridge: Sendable {
    struct State: Sendable {
        var sessions: BridgeSessions
        var inbox: [BridgeMessage] = []
        var inboxStart = 0
        var inboxBytes = 0
        var readers: [UInt64: CheckedContinuation<Void, Never>] = [:]
        var cancelledReaders: Set<UInt64> = []
        var lastReader: UInt64 = 0
        var isFinished = false
    }

    /// What to call once the lock is released.
    struct Aftermath: Sendable {
        var wakes: [@Sendable () -> Void] = []
        var changes: [BridgeSessionChange] = []
        var readers: [CheckedContinuation<Void, Never>] = []
    }

    /// The limits of this bridge.
    public let limits: BridgeLimits
    let keepsMessages: Bool
    private let onSessionChange: @Sendable (BridgeSessionChange) -> Void
    private let state: Mutex<State>

    /// Makes a bridge without pages.
    ///
    /// The thread that noticed a change calls `onSessionChange`, which must return soon. If nobody reads
    /// ``messages``, set `keepsMessages` to false: messages from pages are then acknowledged and dropped.
    public init(
        limits: BridgeLimits = BridgeLimits(), keepsMessages: Bool = true,
        onSessionChange: @escaping @Sendable (BridgeSessionChange) -> Void = { _ in }
    ) {
        self.limits = limits
        self.keepsMessages = keepsMessages
        self.onSessionChange = onSessionChange
        state = Mutex(State(sessions: BridgeSessions(limits: limits)))
    }

    /// The pages that have a session, connected or not.
    public var sessions: [BridgeSessionID] { state.withLock { Array($0.sessions.all.keys) } }

    /// The messages of all pages, each page's in order.
    ///
    /// Taking a message acknowledges it. With several readers, only one gets it. The sequence ends when `finish` is
    /// called or the reading task is cancelled.
    public var messages: some AsyncSequence<BridgeMessage, Never> & Sendable {
        BridgeMessages(bridge: self)
    }

    // MARK: Sending

    /// Sends text to every page, or to one.
    /// - Returns: the number of pages it goes to; 0 if there are none.
    /// - Throws: `.tooLarge` over the limit; `.queueFull` if a page does not take its messages (then no page gets
    ///   it); `.notFound` if the session has ended.
    @discardableResult
    public func send(
        _ text: String, to session: BridgeSessionID? = nil
    ) throws(StoreError) -> Int {
        try send(.text(Array(text.utf8)[...]), to: session)
    }

    /// Sends bytes to every page, or to one; otherwise like text.
    @discardableResult
    public func send(
        _ bytes: [UInt8], to session: BridgeSessionID? = nil
    ) throws(StoreError) -> Int {
        try send(.binary(bytes[...]), to: session)
    }

    private func send(
        _ content: BridgeContent, to session: BridgeSessionID?
    ) throws(StoreError) -> Int {
        try BridgeQueue.check(content, limits)
        return try locked { (state, after) throws(StoreError) in
            if let session {
                guard state.sessions[session] != nil else {
                    throw StoreError(.notFound, "the page's session has ended")
                }
                try state.enqueue(content, for: session, &after)
                return 1
            }
            try state.makeSpace(for: content.payload.count, &after)
            for id in state.sessions.all.keys { try state.enqueue(content, for: id, &after) }
            return state.sessions.all.count
        }
    }

    /// Sends an event to every page, or to one.
    ///
    /// This never fails: progress that finds no space is dropped, and other events are few.
    public func announce(_ event: BridgeEvent, to session: BridgeSessionID? = nil) {
        let payload = event.payload
        locked { state, after in
            for id in session.map({ [$0] }) ?? Array(state.sessions.all.keys) {
                state.sessions[id]?.queue.enqueueEvent(
                    event.name, payload, replaces: event.replaces)
                state.wake(id, &after)
            }
        }
    }

    /// Gives a page the server's token, as a query, which the script stores without telling any listener.
    func give(token: String, to session: BridgeSessionID) {
        let payload = JSONWriter.document { $0.member("token", token) }
        locked { state, after in
            state.sessions[session]?.queue.enqueueEvent("token", payload, replaces: false)
            state.wake(session, &after)
        }
    }

    // MARK: Receiving

    /// The next message, if there is one; for callers that do not wait.
    public func takeMessage() -> BridgeMessage? {
        locked { state, after in state.takeMessage(&after) }
    }

    /// Ends `messages` once the messages already here have been taken.
    public func finish() {
        locked { state, after in
            state.isFinished = true
            state.wakeReaders(&after)
        }
    }

    func wakeAll() {
        locked { state, after in
            for id in Array(state.sessions.all.keys) { state.wake(id, &after) }
        }
    }

    // MARK: Beneath

    /// Calls `body` with exclusive access to the state, then the calls that `body` left behind, even if it throws.
    func locked<R: Sendable, E: Error>(
        _ body: (inout State, inout Aftermath) throws(E) -> R
    ) throws(E) -> R {
        let (result, after) = state.withLock { state in
            var after = Aftermath()
            let result = Result { () throws(E) in try body(&state, &after) }
            return (result, after)
        }
        for wake in after.wakes { wake() }
        for change in after.changes { onSessionChange(change) }
        for reader in after.readers { reader.resume() }
        return try result.get()
    }

    // The parts of a bridge that every transport uses: greeting, sending frames, taking frames.

    enum Acceptance: Sendable {
        case taken
        case ended
        case unknown
    }

    enum Outgoing: Sendable {
        /// In order, and when to look again even if `wake` is not called.
        case frames([BridgeFrame], lookAgain: Duration?)
        /// A newer link has taken over.
        case replaced
        case ended
    }

    func greet(
        _ session: BridgeSessionID?, received: UInt64, wake: (@Sendable () -> Void)?, now: Duration
    ) throws(BridgeViolation) -> BridgeSessions.Greeting {
        try locked { (state, after) throws(BridgeViolation) in
            let greeting = try state.sessions.greet(
                session, received: received, wake: wake, now: now, &after.changes)
            if let replaced = greeting.replaced { after.wakes.append(replaced) }
            return greeting
        }
    }

    func accept(
        _ frame: BridgeFrame, from id: BridgeSessionID, now: Duration
    ) throws(BridgeViolation) -> Acceptance {
        try locked { (state, after) throws(BridgeViolation) in
            guard state.sessions[id] != nil else { return .unknown }
            switch frame {
            case .acknowledgement(let number):
                try state.sessions[id]?.queue.acknowledge(number)
                // The window may have opened.
                if state.sessions[id]?.queue.canSend == true { state.wake(id, &after) }
            case .probe:
                state.sessions[id]?.queue.probe(now: now)
                state.wake(id, &after)
            case .end:
                after.changes += state.sessions.end(id)
                return .ended
            case .numbered(let sequence, let acknowledged, let content, let mayRepeat):
                let cost = content.payload.count + BridgeLimits.messageOverhead
                guard !keepsMessages || state.inboxBytes + cost <= limits.inboxByteCount else {
                    throw BridgeViolation(.tryAgainLater, "the app does not take its messages")
                }
                let new = try state.sessions[id]?.queue.accept(
                    sequence, acknowledged: acknowledged, content, now: now)
                if state.sessions[id]?.queue.canSend == true { state.wake(id, &after) }
                guard let new else { break }
                guard keepsMessages else {
                    // No reader will take it, so it counts as taken.
                    let isDue = state.sessions[id]?.queue.take(byteCount: new.payload.count)
                    if isDue == true { state.wake(id, &after) }
                    break
                }
                guard let message = BridgeMessage(id, new, mayRepeat) else { break }
                state.inbox.append(message)
                state.inboxBytes += cost
                state.wakeReaders(&after)
            case .hello, .welcome:
                throw BridgeViolation(.protocolError, "a greeting in mid-conversation")
            }
            return .taken
        }
    }

    /// Takes what may be sent to a page on the link with this ticket, about `space` bytes at most.
    func takeFrames(
        for id: BridgeSessionID, ticket: UInt64, space: Int, now: Duration
    ) -> Outgoing {
        locked { state, _ in
            guard let session = state.sessions[id] else { return .ended }
            guard session.ticket == ticket else { return .replaced }
            state.sessions[id]?.isWoken = false
            var frames: [BridgeFrame] = []
            var byteCount = 0
            while byteCount < space {
                guard let frame = state.sessions[id]?.queue.nextFrame(now: now) else { break }
                byteCount += frame.payload.count + 32
                frames.append(frame)
            }
            return .frames(
                frames, lookAgain: state.sessions[id]?.queue.acknowledgementDue)
        }
    }

    func unlink(_ id: BridgeSessionID, ticket: UInt64, now: Duration) {
        locked { state, _ in state.sessions.unlink(id, ticket: ticket, now: now) }
    }

    func absent(for time: Duration, now: Duration) -> Set<String> {
        let all = locked { state, _ in state.sessions.all }
        let absent = all.filter { $0.value.unlinkedSince.map { $0 + time <= now } ?? false }
        return Set(absent.keys.map(\.description))
    }

    package var nextDeadline: Duration? { locked { state, _ in state.sessions.nextExpiry } }

    package func advance(to now: Duration) {
        locked { state, after in after.changes += state.sessions.expire(now: now) }
    }
}

extension Bridge.State {
    mutating func enqueue(
        _ content: BridgeContent, for id: BridgeSessionID, _ after: inout Bridge.Aftermath
    ) throws(StoreError) {
        guard var session = sessions[id] else { return }
        try session.queue.enqueue(content)
        sessions[id] = session
        wake(id, &after)
    }

    /// Checks that a message for all pages fits every queue; drops disconnected pages with a full one.
    mutating func makeSpace(
        for byteCount: Int, _ after: inout Bridge.Aftermath
    ) throws(StoreError) {
        for (id, session) in sessions.all where !session.queue.hasSpace(for: byteCount) {
            guard session.wake == nil else {
                throw StoreError(.queueFull, "a page does not take its messages; try again later")
            }
            after.changes += sessions.end(id)
        }
    }

    mutating func wake(_ id: BridgeSessionID, _ after: inout Bridge.Aftermath) {
        guard let session = sessions[id], let wake = session.wake, !session.isWoken else { return }
        sessions[id]?.isWoken = true
        after.wakes.append(wake)
    }

    mutating func wakeReaders(_ after: inout Bridge.Aftermath) {
        after.readers += readers.values
        readers.removeAll()
    }

    mutating func takeMessage(_ after: inout Bridge.Aftermath) -> BridgeMessage? {
        guard inboxStart < inbox.count else { return nil }
        let message = inbox[inboxStart]
        inboxStart += 1
        if inboxStart == inbox.count {
            inbox.removeAll(keepingCapacity: true)
            inboxStart = 0
        } else if inboxStart >= 1024 {
            inbox.removeFirst(inboxStart)
            inboxStart = 0
        }
        inboxBytes -= message.bytes.count + BridgeLimits.messageOverhead
        let isDue = sessions[message.session]?.queue.take(byteCount: message.bytes.count)
        if isDue == true { wake(message.session, &after) }
        return message
    }
}

extension BridgeMessage {
    /// `nil` for an event, which only a server sends.
    init?(_ session: BridgeSessionID, _ content: BridgeContent, _ mayRepeat: Bool) {
        switch content {
        // Copies, because a slice would keep the whole batch alive, perhaps megabytes.
        case .text(let payload): self.content = .text(Array(payload)[...])
        case .binary(let payload): self.content = .binary(Array(payload)[...])
        case .event: return nil
        }
        self.session = session
        self.mayRepeat = mayRepeat
    }
}

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
