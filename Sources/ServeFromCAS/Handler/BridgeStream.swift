import CASStore
import Synchronization

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
