/// What a frame carries (RFC 6455, section 5.2).
package enum Opcode: UInt8, Sendable, CaseIterable {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    package var isControl: Bool { rawValue >= 8 }
}

/// The head of a client's frame: everything before its payload (RFC 6455, section 5.2).
struct FrameHeader: Sendable {
    /// The bytes of the longest head: two, a 64-bit length and a mask.
    static let byteCountMax = 14
    static let controlPayloadMax = 125

    var opcode: Opcode
    var isFinal: Bool
    var payloadCount: Int
    /// The masking key as it is in memory.
    var mask: UInt32

    /// Reads the head at the start of `bytes`; `nil` if it is not complete.
    ///
    /// The first two bytes are judged as soon as they arrive.
    /// - Returns: the head and how many bytes it takes.
    static func parse(
        _ bytes: UnsafeRawBufferPointer
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
        // A client masks its frames, a server does not (RFC 6455, section 5.1).
        guard second & 0x80 != 0 else {
            throw WebSocketViolation(.protocolError, "a frame is not masked")
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
        let end = lengthEnd + 4
        guard bytes.count >= lengthEnd else { return nil }
        let count = try length(short, bytes)
        guard bytes.count >= end else { return nil }
        let mask = bytes.loadUnaligned(fromByteOffset: lengthEnd, as: UInt32.self)
        return (
            FrameHeader(opcode: opcode, isFinal: isFinal, payloadCount: count, mask: mask), end
        )
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

    static func append(_ opcode: Opcode, payloadCount: Int, to output: inout [UInt8]) {
        output.append(0x80 | opcode.rawValue)
        switch payloadCount {
        case ..<126:
            output.append(UInt8(payloadCount))
        case ..<65536:
            output.append(126)
            output.append(UInt8(payloadCount >> 8))
            output.append(UInt8(payloadCount & 0xFF))
        default:
            output.append(127)
            for shift in stride(from: 56, through: 0, by: -8) {
                output.append(UInt8(truncatingIfNeeded: payloadCount >> shift))
            }
        }
    }
}
