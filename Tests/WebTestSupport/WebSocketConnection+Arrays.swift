package import WebServer

extension WebSocketConnection {
    /// Takes the next bytes of the stream.
    package mutating func receive(_ bytes: [UInt8], now: Duration) -> [Event] {
        bytes.withUnsafeBytes { receive($0, now: now) }
    }

    package mutating func send(_ kind: WebSocketMessage.Kind, _ payload: [UInt8]) {
        send(kind, head: payload, payload: [])
    }
}
