package import WebServer

/// What a numbered frame of the bridge carries.
///
/// A slice, so that a payload stays in the WebSocket's message.
package enum BridgeContent: Sendable, Hashable {
    /// Well-formed UTF-8.
    case text(ArraySlice<UInt8>)
    case binary(ArraySlice<UInt8>)
    /// From the server to the page; the payload is JSON.
    case event(name: String, ArraySlice<UInt8>)

    package var payload: ArraySlice<UInt8> {
        switch self {
        case .text(let payload), .binary(let payload), .event(_, let payload): payload
        }
    }

    /// Whether the frame goes into a binary message of a WebSocket.
    var isBinary: Bool { if case .binary = self { true } else { false } }
}

/// A frame of the bridge protocol (docs/bridge-protocol.md, Frames).
package enum BridgeFrame: Sendable, Hashable {
    case hello(session: BridgeSessionID?, received: UInt64)
    case welcome(session: BridgeSessionID, received: UInt64)
    /// `mayRepeat`: an earlier session sent it too.
    case numbered(
        UInt64, acknowledged: UInt64, BridgeContent, mayRepeat: Bool = false)
    case acknowledgement(UInt64)
    case probe
    case end

    /// The protocol's version.
    static let version = 1

    /// The largest number up to which a script counts exactly.
    static let numberMax: UInt64 = 1 << 53 - 1

    /// Whether the frame goes into a binary message of a WebSocket.
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

    /// The payload; empty for most frames.
    package var payload: ArraySlice<UInt8> {
        if case .numbered(_, _, let content, _) = self { content.payload } else { [] }
    }

    /// The whole frame.
    package var bytes: [UInt8] { head + payload }
}

/// Received bytes that break the bridge protocol, or that nobody can take: a WebSocket closes with the
/// code, a request gets a status.
package typealias BridgeViolation = WebSocketViolation
