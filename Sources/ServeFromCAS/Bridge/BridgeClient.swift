package import CASStore

/// The page's end of a session, for clients written in Swift.
///
/// A value without I/O: the caller connects, sends `greeting`, gives every frame it receives to
/// `receive` and sends what `nextFrame` gives.
package struct BridgeClient: Sendable {
    package enum Event: Sendable, Hashable {
        /// Connected; `resumed` is false for a new session, also when an old one was lost.
        case opened(resumed: Bool)
        case message(BridgeContent)
    }

    private let limits: BridgeLimits
    package private(set) var session: BridgeSessionID?
    private var channel: BridgeChannel
    private var isLinked = false

    package init(limits: BridgeLimits = BridgeLimits()) {
        self.limits = limits
        channel = BridgeChannel(limits: limits)
    }

    /// The first frame of each link.
    package var greeting: BridgeFrame { .hello(session: session, received: channel.received) }

    /// The last number received, which a GET tells.
    package var received: UInt64 { channel.received }

    /// Messages that the server has not acknowledged.
    package var queuedCount: Int { channel.queuedCount }

    /// Queues a message; throws `.queueFull` or `.tooLarge`.
    package mutating func send(_ content: BridgeContent) throws(StoreError) {
        try channel.enqueue(content)
    }

    /// The link has broken.
    package mutating func disconnect() { isLinked = false }

    /// The next frame for the link; `nil` before the welcome or if there is none.
    package mutating func nextFrame(now: Duration) -> BridgeFrame? {
        isLinked ? channel.nextFrame(now: now) : nil
    }

    /// When `nextFrame` has an acknowledgement to send.
    package var nextDeadline: Duration? { isLinked ? channel.acknowledgementDue : nil }

    /// Takes a frame from the server; a message counts as taken when this returns.
    package mutating func receive(
        _ frame: BridgeFrame, now: Duration
    ) throws(BridgeViolation) -> [Event] {
        switch frame {
        case .welcome(let session, let received):
            let isResumed = session == self.session
            if isResumed {
                try channel.relink(received: received, now: now)
            } else {
                try begin(session)
            }
            isLinked = true
            return [.opened(resumed: isResumed)]
        case .acknowledgement(let number):
            try channel.acknowledge(number)
            return []
        case .numbered(let sequence, let acknowledged, let content, _):
            let new = try channel.accept(sequence, acknowledged: acknowledged, content, now: now)
            guard let new else { return [] }
            if channel.take(byteCount: new.payload.count) { channel.probe(now: now) }
            return [.message(new)]
        case .hello, .probe, .end:
            throw BridgeViolation(.protocolError, "a frame that only a page sends")
        }
    }

    /// Begins a session; what the old one did not acknowledge goes into it, marked.
    private mutating func begin(_ id: BridgeSessionID) throws(BridgeViolation) {
        var next = BridgeChannel(limits: limits)
        for (content, wasSent) in channel.unacknowledged {
            do throws(StoreError) {
                try next.enqueue(content, mayRepeat: wasSent)
            } catch {
                throw BridgeViolation(.policy, error.message)
            }
        }
        channel = next
        session = id
    }
}
