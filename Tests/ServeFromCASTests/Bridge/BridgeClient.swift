import CASStore

@testable import ServeFromCAS

/// The page's end of a session, as the script in a browser has it.
///
/// A value without I/O: the caller connects, sends `greeting`, gives every frame it receives to
/// `receive` and sends what `nextFrame` gives.
struct BridgeClient: Sendable {
    enum Event: Sendable, Hashable {
        /// Connected; `resumed` is false for a new session, also when an old one was lost.
        case opened(resumed: Bool)
        case message(BridgeContent)
    }

    private let limits = BridgeLimits()
    private(set) var session: BridgeSessionID?
    private var queue = BridgeQueue(limits: BridgeLimits())
    /// The last number of this session whose message an earlier session has sent, too.
    private var repeated: UInt64 = 0
    private var isLinked = false

    /// The first frame of each link.
    var greeting: BridgeFrame { .hello(session: session, received: queue.received) }

    /// The last number received, which a GET tells.
    var received: UInt64 { queue.received }

    /// Messages that the server has not acknowledged.
    var queuedCount: Int { queue.unacknowledged.count }

    /// Queues a message; throws `.queueFull` or `.tooLarge`.
    mutating func send(_ content: BridgeContent) throws(StoreError) { try queue.enqueue(content) }

    /// The link has broken.
    mutating func disconnect() { isLinked = false }

    /// The next frame for the link; `nil` before the welcome or if there is none.
    mutating func nextFrame(now: Duration) -> BridgeFrame? {
        guard isLinked, let frame = queue.nextFrame(now: now) else { return nil }
        guard case .numbered(let sequence, let acknowledged, let content, _) = frame else {
            return frame
        }
        return .numbered(
            sequence, acknowledged: acknowledged, content, mayRepeat: sequence <= repeated)
    }

    /// Takes a frame from the server; a message counts as taken when this returns.
    mutating func receive(_ frame: BridgeFrame, now: Duration) throws(BridgeViolation) -> [Event] {
        switch frame {
        case .welcome(let session, let received):
            let isResumed = session == self.session
            if isResumed {
                try queue.relink(received: received, now: now)
            } else {
                try begin(session)
            }
            isLinked = true
            return [.opened(resumed: isResumed)]
        case .acknowledgement(let number):
            try queue.acknowledge(number)
            return []
        case .numbered(let sequence, let acknowledged, let content, _):
            let new = try queue.accept(sequence, acknowledged: acknowledged, content, now: now)
            guard let new else { return [] }
            if queue.take(byteCount: new.payload.count) { queue.probe(now: now) }
            return [.message(new)]
        case .hello, .probe, .end:
            throw BridgeViolation(.protocolError, "a frame that only a page sends")
        }
    }

    /// Begins a session; what the old one did not acknowledge goes into it, marked if it was sent.
    private mutating func begin(_ id: BridgeSessionID) throws(BridgeViolation) {
        var next = BridgeQueue(limits: limits)
        for content in queue.unacknowledged {
            do throws(StoreError) {
                try next.enqueue(content)
            } catch {
                throw BridgeViolation(.policy, error.message)
            }
        }
        repeated = max(repeated, queue.everSent, queue.acknowledged) - queue.acknowledged
        queue = next
        session = id
    }
}
