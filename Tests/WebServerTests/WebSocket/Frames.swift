import WebTestSupport

/// Frames as a careful or careless client would write them, byte by byte from RFC 6455, section 5.2.
enum Frames {
    static let mask: [UInt8] = [0x37, 0xFA, 0x21, 0x3D]

    /// A masked frame whose head is exactly what is asked for, right or wrong.
    static func client(
        _ opcode: UInt8, _ payload: [UInt8] = [], isFinal: Bool = true, reserved: UInt8 = 0,
        isMasked: Bool = true, lengthForm: Int? = nil
    ) -> [UInt8] {
        var bytes: [UInt8] = [(isFinal ? 0x80 : 0) | reserved << 4 | opcode]
        let form = lengthForm ?? (payload.count < 126 ? 7 : payload.count < 65536 ? 16 : 64)
        let maskBit: UInt8 = isMasked ? 0x80 : 0
        switch form {
        case 7: bytes.append(maskBit | UInt8(payload.count))
        case 16:
            bytes += [maskBit | 126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
        default:
            bytes.append(maskBit | 127)
            for place in (0..<8).reversed() {
                bytes.append(UInt8(truncatingIfNeeded: payload.count >> (8 * place)))
            }
        }
        guard isMasked else { return bytes + payload }
        bytes += mask
        for (index, byte) in payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
        return bytes
    }

    static func text(_ text: String, isFinal: Bool = true) -> [UInt8] {
        client(1, Array(text.utf8), isFinal: isFinal)
    }

    static func close(_ code: Int?, _ reason: [UInt8] = []) -> [UInt8] {
        guard let code else { return client(8) }
        return client(8, [UInt8(code >> 8), UInt8(code & 255)] + reason)
    }
}

/// A server's connection and what it did, fed in pieces of a given size.
struct Conversation {
    var connection: WebSocketConnection
    var events: [WebSocketConnection.Event] = []
    var sent: [UInt8] = []

    init(_ options: WebSocketConnection.Options = .init()) {
        connection = WebSocketConnection(options: options, now: .zero)
    }

    init(receiving bytes: [UInt8], pieces: Int = .max, limits: MessageDecoder.Limits = .init()) {
        var options = WebSocketConnection.Options()
        options.limits = limits
        self.init(options)
        receive(bytes, pieces: pieces)
    }

    mutating func receive(_ bytes: [UInt8], pieces: Int = .max, now: Duration = .zero) {
        var start = 0
        while start < bytes.count {
            let end = start + min(pieces, bytes.count - start)
            events += connection.receive(Array(bytes[start..<end]), now: now)
            start = end
        }
        drain()
    }

    mutating func drain() {
        connection.withOutput { bytes in
            sent += bytes
            return bytes.count
        }
    }

    var messages: [WebSocketMessage] {
        events.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    var end: CloseReason? {
        events.compactMap { if case .closed(let reason) = $0 { reason } else { nil } }.first
    }

    /// The code of the Close frame that the server sent.
    var sentCode: Int? {
        var outputs: [MessageDecoder.Output] = []
        var decoder = MessageDecoder()
        var mask = FrameMask()
        try? mask.masked(sent).withUnsafeBytes { try decoder.decode($0, into: &outputs) }
        for case .close(let code, _) in outputs { return Int(code.value) }
        return nil
    }
}
