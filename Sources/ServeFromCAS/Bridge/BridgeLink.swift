import CASStore
package import WebServer

/// A page's WebSocket, from the bytes of the stream to the bridge and back.
///
/// Owned by the connection's event loop, which passes in bytes and times and sends what `withOutput` passes out. Not
/// thread-safe, except that any thread may call `wake`; the owner then soon calls `pump`.
package struct BridgeLink: Sendable {
    private enum Phase: Sendable {
        case greeting
        case linked(BridgeSessionID, ticket: UInt64)
        case over
    }

    package static let replacedCode = CloseCode(4001)

    private let bridge: Bridge
    private let wake: @Sendable () -> Void
    private var socket: WebSocketConnection
    private var phase = Phase.greeting
    private var greetingDeadline: Duration
    private var lookAgain: Duration?
    private let outputCount = 256 << 10

    package init(
        bridge: Bridge, now: Duration, budget: BodyBudget? = nil,
        wake: @escaping @Sendable () -> Void
    ) {
        self.bridge = bridge
        self.wake = wake
        var options = WebSocketConnection.Options()
        // Sessions are few, connections without one are not: these hold no more than a greeting.
        options.limits.messageByteCount = BridgeLimits.greetingByteCount
        options.budget = budget
        socket = WebSocketConnection(options: options, now: now)
        greetingDeadline = now + options.answerTimeout
    }

    package var session: BridgeSessionID? {
        if case .linked(let session, _) = phase { session } else { nil }
    }

    package var isFinished: Bool { socket.isFinished }

    package var outputByteCount: Int { socket.outputCount }

    package mutating func receive(_ bytes: UnsafeRawBufferPointer, now: Duration) {
        handle(socket.receive(bytes, now: now), now)
        pump(now: now)
    }

    package mutating func receiveEnd(now: Duration) { handle(socket.receiveEnd(), now) }

    /// Closes the link; the session continues with the next one.
    package mutating func close(_ code: CloseCode, _ text: String, now: Duration) {
        socket.close(code, text, now: now)
        unlink(now)
    }

    /// Passes the bytes to send to `body`, drops as many as it returns, and refills from the queue.
    package mutating func withOutput(now: Duration, _ body: (UnsafeRawBufferPointer) -> Int) {
        socket.withOutput(body)
        if socket.outputCount < outputCount / 2 { pump(now: now) }
    }

    package mutating func pump(now: Duration) {
        guard case .linked(let session, let ticket) = phase else { return }
        let space = outputCount - socket.outputCount
        guard space > 0 else { return }
        switch bridge.takeFrames(for: session, ticket: ticket, space: space, now: now) {
        case .frames(let frames, let lookAgain):
            for frame in frames { send(frame) }
            self.lookAgain = lookAgain
        case .replaced:
            phase = .over
            socket.close(Self.replacedCode, "the page has connected again", now: now)
        case .ended:
            phase = .over
            socket.close(.normal, "the session has ended", now: now)
        }
    }

    package var nextDeadline: Duration? {
        guard let deadline = socket.nextDeadline else { return nil }
        switch phase {
        case .greeting: return min(deadline, greetingDeadline)
        case .linked: return lookAgain.map { min(deadline, $0) } ?? deadline
        case .over: return deadline
        }
    }

    package mutating func advance(to now: Duration) {
        if case .greeting = phase, now >= greetingDeadline {
            phase = .over
            socket.close(.policy, "no greeting in time", now: now)
        }
        handle(socket.advance(to: now), now)
        pump(now: now)
    }

    private mutating func send(_ frame: BridgeFrame) {
        socket.send(frame.isBinary ? .binary : .text, head: frame.head, payload: frame.payload)
    }

    private mutating func handle(_ events: [WebSocketConnection.Event], _ now: Duration) {
        for event in events {
            switch event {
            case .message(let message): handle(message, now)
            case .closed: unlink(now)
            }
        }
    }

    private mutating func handle(_ message: WebSocketMessage, _ now: Duration) {
        do throws(BridgeViolation) {
            let frame = try BridgeFrame(message.bytes[...], isBinary: message.kind == .binary)
            switch phase {
            case .greeting: try greet(frame, now)
            case .linked(let session, _):
                if case .taken = try bridge.accept(frame, from: session, now: now) { return }
                phase = .over
                socket.close(.normal, now: now)
            case .over: break
            }
        } catch {
            socket.close(error.code, error.message, now: now)
            unlink(now)
        }
    }

    private mutating func greet(_ frame: BridgeFrame, _ now: Duration) throws(BridgeViolation) {
        guard case .hello(let wanted, let received) = frame else {
            throw BridgeViolation(.protocolError, "the first frame is not a greeting")
        }
        let greeting = try bridge.greet(wanted, received: received, wake: wake, now: now)
        phase = .linked(greeting.session, ticket: greeting.ticket)
        // A payload and its header line.
        socket.messageByteCountMax = bridge.limits.messageByteCount + 256
        send(.welcome(session: greeting.session, received: greeting.received))
    }

    private mutating func unlink(_ now: Duration) {
        if case .linked(let session, let ticket) = phase {
            bridge.unlink(session, ticket: ticket, now: now)
        }
        phase = .over
    }
}
