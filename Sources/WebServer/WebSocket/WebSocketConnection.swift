/// A server's end of a WebSocket connection after its handshake, without I/O (RFC 6455).
///
/// The owner passes in the bytes received and the time, and gets back events and bytes to send. Times are durations
/// on one monotonic clock of the owner's. Not for use by two threads at once.
package struct WebSocketConnection: Sendable {
    package enum Event: Sendable, Hashable {
        case message(WebSocketMessage)
        /// The last event: send what `withOutput` passes on, then close the stream.
        case closed(CloseReason)
    }

    package struct Options: Sendable {
        package var limits = MessageDecoder.Limits()
        package var pingInterval = Duration.seconds(30)
        /// How long the answer to a ping or a Close frame may take.
        package var answerTimeout = Duration.seconds(10)
        /// Above this many bytes of unsent output, pongs wait: then only the newest ping is answered (RFC 6455,
        /// section 5.5.3).
        package var pongBacklog = 64 << 10
        /// Where messages under way count; `nil` for one that is not shared with other connections.
        package var budget: BodyBudget?

        package init() {}
    }

    package enum State: Sendable, Hashable {
        case open
        case closing
        /// Nothing more is received or sent, except output not yet drained.
        case closed
    }

    package private(set) var state = State.open
    private let options: Options
    private var decoder: MessageDecoder
    private var output = OutputBuffer()
    private var pendingPong: [UInt8]?
    private var lastReceived: Duration
    private var pingSent: Duration?
    private var closeSent: Duration?

    package init(options: Options = Options(), now: Duration) {
        self.options = options
        decoder = MessageDecoder(limits: options.limits, budget: options.budget)
        lastReceived = now
    }

    package var outputCount: Int { output.count }

    /// The most bytes of a message that begins from now on.
    package var messageByteCountMax: Int {
        get { decoder.limits.messageByteCount }
        set { decoder.limits.messageByteCount = newValue }
    }

    /// Whether to close the stream now: the connection is closed and its output is sent.
    package var isFinished: Bool { state == .closed && output.count == 0 }

    // MARK: Receiving

    package mutating func receive(_ bytes: UnsafeRawBufferPointer, now: Duration) -> [Event] {
        guard state != .closed, !bytes.isEmpty else { return [] }
        lastReceived = now
        pingSent = nil
        var outputs: [MessageDecoder.Output] = []
        var violation: WebSocketViolation?
        do throws(WebSocketViolation) {
            try decoder.decode(bytes, into: &outputs)
        } catch {
            violation = error
        }
        var events: [Event] = []
        for output in outputs where state != .closed {
            handle(output, &events, now)
        }
        if let violation, state != .closed { fail(violation, &events) }
        return events
    }

    package mutating func receiveEnd() -> [Event] {
        guard state != .closed else { return [] }
        state = .closed
        return [.closed(CloseReason(.abnormal, isClean: false))]
    }

    private mutating func handle(
        _ output: MessageDecoder.Output, _ events: inout [Event], _ now: Duration
    ) {
        switch output {
        case .message(let message):
            events.append(.message(message))
        case .pong: break
        case .ping(let payload):
            guard state == .open else { return }
            if self.output.count > options.pongBacklog {
                pendingPong = payload
            } else {
                self.output.append(.pong, payload)
            }
        case .close(let code, let text):
            if state == .open { appendClose(code, "") }
            state = .closed
            events.append(.closed(CloseReason(code, text, isClean: true)))
        }
    }

    /// Ends the connection because the other side broke the protocol (RFC 6455, section 7.1.7).
    private mutating func fail(_ violation: WebSocketViolation, _ events: inout [Event]) {
        if state == .open { appendClose(violation.code, violation.message) }
        state = .closed
        // What came of a message is not needed while the output drains.
        decoder = MessageDecoder(limits: options.limits)
        events.append(.closed(CloseReason(violation.code, violation.message, isClean: false)))
    }

    // MARK: Sending

    /// Queues a message of two parts, `head` and `payload`, in one frame; drops it unless the connection is open.
    ///
    /// There is no limit here: check `outputCount` first.
    package mutating func send(
        _ kind: WebSocketMessage.Kind, head: [UInt8], payload: ArraySlice<UInt8>
    ) {
        guard state == .open else { return }
        output.append(kind == .text ? .text : .binary, head, payload)
    }

    /// Starts the closing handshake; messages received before its end are still delivered.
    package mutating func close(_ code: CloseCode = .normal, _ text: String = "", now: Duration) {
        guard state == .open else { return }
        appendClose(code, text)
        state = .closing
        closeSent = now
    }

    /// Passes the bytes to send to `body` and drops as many as it returns.
    package mutating func withOutput(_ body: (UnsafeRawBufferPointer) -> Int) {
        output.drain(body)
        if let payload = pendingPong, state == .open, output.count <= options.pongBacklog {
            pendingPong = nil
            output.append(.pong, payload)
        }
    }

    private mutating func appendClose(_ code: CloseCode, _ text: String) {
        guard code != .absent else { return output.append(.close, []) }
        output.append(
            .close, [UInt8(code.value >> 8), UInt8(code.value & 0xFF)] + Self.reason(text))
    }

    /// At most 123 bytes of a text, whole characters.
    private static func reason(_ text: String) -> [UInt8] {
        var bytes: [UInt8] = []
        for scalar in text.unicodeScalars {
            let more = Array(String(scalar).utf8)
            if bytes.count + more.count > FrameHeader.controlPayloadMax - 2 { break }
            bytes += more
        }
        return bytes
    }

    // MARK: Time

    /// When `advance` has something to do; `nil` once closed.
    package var nextDeadline: Duration? {
        switch state {
        case .closed: return nil
        case .closing: return (closeSent ?? lastReceived) + options.answerTimeout
        case .open:
            if let pingSent { return pingSent + options.answerTimeout }
            return lastReceived + options.pingInterval
        }
    }

    /// Does what is due: pings after silence, ends after a ping or a Close without an answer.
    package mutating func advance(to now: Duration) -> [Event] {
        guard let deadline = nextDeadline, now >= deadline else { return [] }
        if state == .open, pingSent == nil {
            output.append(.ping, [])
            pingSent = now
            return []
        }
        state = .closed
        return [.closed(CloseReason(.abnormal, "no answer in time", isClean: false))]
    }
}

/// Frames waiting to be sent, as the bytes of the stream.
struct OutputBuffer: Sendable {
    private var bytes: [UInt8] = []
    private var sent = 0

    var count: Int { bytes.count - sent }

    mutating func append(
        _ opcode: Opcode, _ payload: [UInt8], _ more: ArraySlice<UInt8> = []
    ) {
        FrameHeader.append(opcode, payloadCount: payload.count + more.count, to: &bytes)
        bytes.append(contentsOf: payload)
        bytes.append(contentsOf: more)
    }

    /// Passes the unsent bytes to `body` and drops as many as it returns.
    mutating func drain(_ body: (UnsafeRawBufferPointer) -> Int) {
        guard count > 0 else { return }
        let done = bytes.withUnsafeBytes { all in
            body(UnsafeRawBufferPointer(rebasing: all[sent...]))
        }
        precondition(done >= 0 && done <= count, "more was sent than there is")
        sent += done
        if sent == bytes.count {
            // A buffer that grew large is released; a small one is used again.
            if bytes.capacity > 256 << 10 {
                bytes = []
            } else {
                bytes.removeAll(keepingCapacity: true)
            }
            sent = 0
        } else if sent > 1 << 20, sent > bytes.count / 2 {
            bytes.removeFirst(sent)
            sent = 0
        }
    }
}
