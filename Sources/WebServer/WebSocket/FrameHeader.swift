/// What a frame carries (RFC 6455, section 5.2).
package enum Opcode: UInt8, Sendable, CaseIterable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Whether the frame may come between the fragments of a message.
    package var isControl: Bool { rawValue >= 8 }
}

/// One of the two ends of a WebSocket connection.
///
/// A client masks its frames, a server does not (RFC 6455, section 5.1).
package enum WebSocketRole: Sendable {
    case server, client
}

/// The head of a frame: everything before its payload (RFC 6455, section 5.2).
package struct FrameHeader: Sendable, Hashable {
    /// The bytes of the longest head: two, a 64-bit length and a mask.
    package static let byteCountMax = 14
    /// The longest payload of a control frame.
    package static let controlPayloadMax = 125

    package var isFinal: Bool
    package var opcode: Opcode
    package var payloadCount: Int
    /// The masking key as it is in memory; `nil` in a server's frame.
    package var mask: UInt32?

    package init(
        _ opcode: Opcode, isFinal: Bool = true, payloadCount: Int, mask: UInt32? = nil
    ) {
        self.opcode = opcode
        self.isFinal = isFinal
        self.payloadCount = payloadCount
        self.mask = mask
    }

    /// Reads the head at the start of `bytes`; `nil` if it is not complete.
    ///
    /// The first two bytes are judged as soon as they arrive.
    /// - Returns: the head and how many bytes it takes.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, at receiver: WebSocketRole
    ) throws(WebSocketViolation) -> (header: FrameHeader, byteCount: Int)? {
        guard bytes.count >= 2 else { return nil }
        let first = bytes[0]
        let second = bytes[1]
        guard first & 0x70 == 0 else {
            throw WebSocketViolation(.protocolError, "a reserved bit is set")
        }
        guard let opcode = Opcode(rawValue: first & 0x0F) else {
            throw WebSocketViolation(.protocolError, "reserved opcode \(first & 0x0F)")
        }
        let isMasked = second & 0x80 != 0
        guard isMasked == (receiver == .server) else {
            throw WebSocketViolation(
                .protocolError, isMasked ? "a server's frame is masked" : "a frame is not masked")
        }
        let isFinal = first & 0x80 != 0
        let short = Int(second & 0x7F)
        if opcode.isControl {
            guard isFinal else {
                throw WebSocketViolation(.protocolError, "a control frame is fragmented")
            }
            guard short <= controlPayloadMax else {
                throw WebSocketViolation(.protocolError, "a control frame is over 125 bytes")
            }
        }
        let lengthEnd = short < 126 ? 2 : short == 126 ? 4 : 10
        let end = lengthEnd + (isMasked ? 4 : 0)
        guard bytes.count >= lengthEnd else { return nil }
        let count = try length(short, bytes)
        guard bytes.count >= end else { return nil }
        let mask =
            isMasked ? bytes.loadUnaligned(fromByteOffset: lengthEnd, as: UInt32.self) : nil
        return (FrameHeader(opcode, isFinal: isFinal, payloadCount: count, mask: mask), end)
    }

    /// The payload's length, which must be in the shortest of its three forms.
    private static func length(
        _ short: Int, _ bytes: UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> Int {
        let length: UInt64
        let least: UInt64
        switch short {
        case 126:
            let field = bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self)
            length = UInt64(UInt16(bigEndian: field))
            least = 126
        case 127:
            length = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt64.self))
            least = 65536
        default:
            return short
        }
        guard length >= least else {
            throw WebSocketViolation(.protocolError, "a length is longer than it needs to be")
        }
        guard length <= UInt64(Int64.max) else {
            throw WebSocketViolation(.protocolError, "a length's highest bit is set")
        }
        return Int(length)
    }

    /// Appends the head to `output`.
    package func append(to output: inout [UInt8]) {
        output.append((isFinal ? 0x80 : 0) | opcode.rawValue)
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        switch payloadCount {
        case ..<126:
            output.append(maskBit | UInt8(payloadCount))
        case ..<65536:
            output.append(maskBit | 126)
            output.append(UInt8(payloadCount >> 8))
            output.append(UInt8(payloadCount & 0xFF))
        default:
            output.append(maskBit | 127)
            for shift in stride(from: 56, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: payloadCount >> shift))
            }
        }
        if let mask {
            withUnsafeBytes(of: mask) { output.append(contentsOf: $0) }
        }
    }
}
