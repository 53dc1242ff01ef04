package import WebServer

/// The other end of a server's WebSocket, made of a server's end: the frames of the two differ by the
/// mask alone (RFC 6455, section 5.1).
package struct WebSocketClient {
    private var socket: WebSocketConnection
    private var sending = FrameMask()
    private var receiving = FrameMask()
    private var output: [UInt8] = []

    package init(now: Duration) { socket = WebSocketConnection(now: now) }

    package var outputCount: Int { output.count }

    package mutating func send(
        _ kind: WebSocketMessage.Kind, _ payload: [UInt8], _ more: ArraySlice<UInt8> = []
    ) {
        socket.send(kind, head: payload, payload: more)
        takeOutput()
    }

    package mutating func receive(_ bytes: [UInt8], now: Duration) -> [WebSocketConnection.Event] {
        let events = socket.receive(receiving.masked(bytes), now: now)
        takeOutput()
        return events
    }

    /// Passes the bytes to send to `body` and drops as many as it returns.
    package mutating func withOutput(_ body: (UnsafeRawBufferPointer) -> Int) {
        guard !output.isEmpty else { return }
        output.removeFirst(output.withUnsafeBytes(body))
    }

    private mutating func takeOutput() {
        var bytes: [UInt8] = []
        socket.withOutput {
            bytes = Array($0); return $0.count
        }
        output += sending.masked(bytes)
    }
}

/// Masks the frames of a stream, which comes in any pieces.
package struct FrameMask {
    private static let key: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]
    /// The bytes of a head that is not complete.
    private var head: [UInt8] = []
    private var payloadLeft = 0
    private var place = 0

    package init() {}

    package mutating func masked(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for byte in bytes {
            guard payloadLeft == 0 else {
                result.append(byte ^ Self.key[place & 3])
                (payloadLeft, place) = (payloadLeft - 1, place + 1)
                continue
            }
            head.append(byte)
            guard let count = Self.payloadCount(head) else { continue }
            precondition(head[1] & 0x80 == 0, "a server masks no frame")
            head[1] |= 0x80
            result += head + Self.key
            (head, payloadLeft, place) = ([], count, 0)
        }
        return result
    }

    /// What a head says; `nil` if it is not complete.
    private static func payloadCount(_ head: [UInt8]) -> Int? {
        guard head.count >= 2 else { return nil }
        let short = Int(head[1])
        let extra = short == 126 ? 2 : short == 127 ? 8 : 0
        guard head.count == 2 + extra else { return nil }
        return extra == 0 ? short : head[2...].reduce(0) { $0 << 8 | Int($1) }
    }
}
