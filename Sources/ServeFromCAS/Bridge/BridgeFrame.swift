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

    // MARK: Reading frames and batches of frames (docs/bridge-protocol.md)

    /// The longest header line: W with its session and a number, and some space.
    private static let headByteCountMax = 128

    package init(
        _ bytes: ArraySlice<UInt8>, isBinary: Bool
    ) throws(BridgeViolation) {
        let head = bytes.prefix(Self.headByteCountMax)
        let lineEnd = head.firstIndex(of: 10)
        guard lineEnd != nil || bytes.count <= Self.headByteCountMax else {
            throw BridgeViolation(.protocolError, "a frame's header is too long")
        }
        let fields = bytes[bytes.startIndex..<(lineEnd ?? bytes.endIndex)]
            .split(separator: 32, omittingEmptySubsequences: false)
        let payload = lineEnd.map { bytes[($0 + 1)...] } ?? []
        let kind = fields[0].count == 1 ? fields[0].first : nil
        guard (kind == 66) == isBinary else {
            throw BridgeViolation(.unsupported, "a frame is in the wrong kind of message")
        }
        let isNumbered = kind == 77 || kind == 66 || kind == 69
        guard isNumbered == (lineEnd != nil) || payload.isEmpty else {
            throw BridgeViolation(.protocolError, "a frame has a payload where none belongs")
        }
        switch (kind, fields.count) {
        case (72, 3) where Self.isVersion(fields[1]) && fields[2].elementsEqual([45]):
            self = .hello(session: nil, received: 0)
        case (72, 4) where Self.isVersion(fields[1]):
            self = .hello(
                session: try Self.session(fields[2]), received: try Self.number(fields[3]))
        case (72, 3...):
            throw BridgeViolation(.unsupported, "this server speaks bridge protocol 1")
        case (87, 4) where Self.isVersion(fields[1]):
            self = .welcome(
                session: try Self.session(fields[2]), received: try Self.number(fields[3]))
        case (65, 2): self = .acknowledgement(try Self.number(fields[1]))
        case (80, 1): self = .probe
        case (67, 1): self = .end
        case (77, 3), (77, 4), (66, 3), (66, 4), (69, 4):
            guard lineEnd != nil else {
                throw BridgeViolation(.protocolError, "a message without a payload's line")
            }
            self = try Self.numbered(fields, payload)
        default: throw BridgeViolation(.protocolError, "an unknown frame")
        }
    }

    private static func numbered(
        _ fields: [ArraySlice<UInt8>], _ payload: ArraySlice<UInt8>
    ) throws(BridgeViolation) -> BridgeFrame {
        let sequence = try number(fields[1])
        let acknowledged = try number(fields[2])
        guard sequence > 0 else { throw BridgeViolation(.protocolError, "a message numbered 0") }
        if fields[0].first == 69 {
            let name = String(decoding: fields[3], as: UTF8.self)
            return .numbered(
                sequence, acknowledged: acknowledged, .event(name: name, payload))
        }
        let mayRepeat = fields.count == 4
        guard !mayRepeat || fields[3].elementsEqual("again".utf8) else {
            throw BridgeViolation(.protocolError, "a message with an unknown mark")
        }
        return .numbered(
            sequence, acknowledged: acknowledged,
            fields[0].first == 66 ? .binary(payload) : .text(payload), mayRepeat: mayRepeat)
    }

    private static func isVersion(_ field: ArraySlice<UInt8>) -> Bool {
        field.elementsEqual([49])
    }

    private static func session(
        _ field: ArraySlice<UInt8>
    ) throws(BridgeViolation) -> BridgeSessionID {
        guard let session = BridgeSessionID(String(decoding: field, as: UTF8.self)) else {
            throw BridgeViolation(.protocolError, "a session is not 32 hexadecimal digits")
        }
        return session
    }

    /// A decimal number without leading zeros, at most 2^53 - 1.
    static func number(_ field: ArraySlice<UInt8>) throws(BridgeViolation) -> UInt64 {
        guard !field.isEmpty, field.count <= 16, field.count == 1 || field.first != 48 else {
            throw BridgeViolation(.protocolError, "a number is empty, too long or begins with 0")
        }
        guard field.allSatisfy({ (48...57).contains($0) }),
            let value = UInt64(String(decoding: field, as: UTF8.self))
        else {
            throw BridgeViolation(.protocolError, "a number has other characters than digits")
        }
        guard value <= numberMax else {
            throw BridgeViolation(.protocolError, "a number is over 2^53 - 1")
        }
        return value
    }
}

/// Received bytes that break the bridge protocol or exceed its limits: a WebSocket closes with the code, a request
/// gets a status.
package typealias BridgeViolation = WebSocketViolation

/// Frames as the body of a request or an answer, each preceded by its length in bytes and a line feed.
package enum BridgeBatch {
    package static func bytes(_ frames: [BridgeFrame]) -> [UInt8] {
        var body: [UInt8] = []
        for frame in frames {
            let (head, payload) = (frame.head, frame.payload)
            body.append(contentsOf: "\(head.count + payload.count)\n".utf8)
            body.append(contentsOf: head)
            body.append(contentsOf: payload)
        }
        return body
    }

    /// Reads a whole batch, checking that texts are UTF-8, as a WebSocket does itself.
    package static func frames(
        _ body: ArraySlice<UInt8>
    ) throws(BridgeViolation) -> [BridgeFrame] {
        var frames: [BridgeFrame] = []
        var rest = body
        while !rest.isEmpty {
            guard let lineEnd = rest.prefix(17).firstIndex(of: 10) else {
                throw BridgeViolation(.protocolError, "a frame without its length")
            }
            let count = Int(try BridgeFrame.number(rest[rest.startIndex..<lineEnd]))
            let start = lineEnd + 1
            guard count > 0, count <= rest.endIndex - start else {
                throw BridgeViolation(.protocolError, "a frame is cut")
            }
            let bytes = rest[start..<start + count]
            let isBinary = bytes.first == 66
            if !isBinary, String(validating: bytes, as: UTF8.self) == nil {
                throw BridgeViolation(.notUTF8, "a text is not UTF-8")
            }
            frames.append(try BridgeFrame(bytes, isBinary: isBinary))
            rest = rest[(start + count)...]
        }
        return frames
    }
}
