package import WebServer

/// What a numbered frame of the bridge carries; a slice, so that a payload stays in the WebSocket's message.
package enum BridgeContent: Sendable, Hashable {
    case text(ArraySlice<UInt8>)
    case binary(ArraySlice<UInt8>)
    /// From the server to the page; the payload is JSON.
    case event(name: String, ArraySlice<UInt8>)

    package var payload: ArraySlice<UInt8> {
        switch self {
        case .text(let payload), .binary(let payload), .event(_, let payload): payload
        }
    }

    var isBinary: Bool { if case .binary = self { true } else { false } }
}

/// A frame of the bridge protocol (docs/bridge-protocol.md, Frames).
package enum BridgeFrame: Sendable, Hashable {
    case hello(session: BridgeSessionID?, received: UInt64)
    case welcome(session: BridgeSessionID, received: UInt64)
    /// `mayRepeat`: an earlier session also sent it.
    case numbered(
        UInt64, acknowledged: UInt64, BridgeContent, mayRepeat: Bool = false)
    case acknowledgement(UInt64)
    case probe
    case end

    static let version = 1

    /// The largest number up to which a script counts exactly.
    static let numberMax: UInt64 = 1 << 53 - 1

    var isBinary: Bool {
        if case .numbered(_, _, let content, _) = self { content.isBinary } else { false }
    }

    /// The header line, with its line feed if there is a payload.
    package var head: [UInt8] {
        switch self {
        case .hello(let session?, let received): Array("H 1 \(session) \(received)".utf8)
        case .hello(nil, _): Array("H 1 -".utf8)
        case .welcome(let session, let received): Array("W 1 \(session) \(received)".utf8)
        case .acknowledgement(let number): Array("A \(number)".utf8)
        case .probe: [80]
        case .end: [67]
        case .numbered(let sequence, let acknowledged, let content, let mayRepeat):
            switch content {
            case .text: Array("M \(sequence) \(acknowledged)\(mayRepeat ? " again" : "")\n".utf8)
            case .binary: Array("B \(sequence) \(acknowledged)\(mayRepeat ? " again" : "")\n".utf8)
            case .event(let name, _): Array("E \(sequence) \(acknowledged) \(name)\n".utf8)
            }
        }
    }

    package var payload: ArraySlice<UInt8> {
        if case .numbered(_, _, let content, _) = self { content.payload } else { [] }
    }

    package var bytes: [UInt8] { head + payload }
}

/// Received bytes that break the bridge protocol or exceed its limits: a WebSocket closes with the code, a request
/// gets a status.
package typealias BridgeViolation = WebSocketViolation
