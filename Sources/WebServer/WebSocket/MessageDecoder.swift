/// A complete message of a WebSocket connection.
package struct WebSocketMessage: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        case text
        case binary
    }

    package var kind: Kind
    package var bytes: [UInt8]

    package init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }

    package var text: String { String(decoding: bytes, as: UTF8.self) }
}

/// Reads frames from bytes that arrive in any pieces, and assembles messages (RFC 6455, sections 5 and 8.1).
///
/// Each byte of a payload is copied once, from the receive buffer into its message, and unmasked there. After an
/// error the decoder accepts nothing more.
package struct MessageDecoder: Sendable {
    package enum Output: Sendable, Hashable {
        case message(WebSocketMessage)
        case ping([UInt8])
        case pong([UInt8])
        /// `.absent` if the frame had no code.
        case close(CloseCode, String)
    }

    package struct Limits: Sendable {
        /// The bytes of a message's payload, all fragments taken together.
        package var messageByteCount = 16 << 20
        /// The frames of one message; this ends an endless run of empty fragments.
        package var fragmentCount = 1 << 17

        package init() {}
    }

    /// What a message may have before it counts in the budget: with as many sessions as a bridge has, 4 MiB.
    static let freeByteCount = 16 << 10

    package var limits: Limits
    /// Shared by what all connections of the server hold.
    private let budget: BodyBudget?
    /// What the message takes of it.
    private var share: BudgetShare?
    private var headBytes: [UInt8] = []
    /// The frame whose payload is being read, and how much of it has been read.
    private var frame: FrameHeader?
    private var frameRead = 0
    /// The kind of the message that has begun; `nil` between messages.
    private var kind: WebSocketMessage.Kind?
    private var message: [UInt8] = []
    private var fragments = 0
    private var utf8 = UTF8Check()
    private var control: [UInt8] = []

    package init(limits: Limits = Limits(), budget: BodyBudget? = nil) {
        self.limits = limits
        self.budget = budget
    }

    /// Takes the next bytes of the connection and appends what they complete to `outputs`.
    /// - Throws: the violation; `outputs` then holds everything before it.
    package mutating func decode(
        _ bytes: UnsafeRawBufferPointer, into outputs: inout [Output]
    ) throws(WebSocketViolation) {
        var rest = bytes
        while true {
            if frame == nil {
                guard let header = try nextHeader(&rest) else { return }
                try begin(header)
            }
            guard let frame else { return }
            let count = min(rest.count, frame.payloadCount - frameRead)
            let piece = UnsafeRawBufferPointer(rebasing: rest[..<count])
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            try take(piece, of: frame)
            frameRead += count
            guard frameRead == frame.payloadCount else { return }
            try end(frame, &outputs)
            self.frame = nil
        }
    }

    /// The next head, from the bytes kept and those that follow; `nil` if more are needed.
    private mutating func nextHeader(
        _ rest: inout UnsafeRawBufferPointer
    ) throws(WebSocketViolation) -> FrameHeader? {
        if headBytes.isEmpty {
            if let (header, count) = try FrameHeader.parse(rest) {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                return header
            }
            headBytes.append(contentsOf: rest)
            return nil
        }
        let kept = headBytes.count
        headBytes.append(contentsOf: rest.prefix(FrameHeader.byteCountMax - kept))
        let parsed = try headBytes.withUnsafeBufferPointer { (all) throws(WebSocketViolation) in
            try FrameHeader.parse(UnsafeRawBufferPointer(all))
        }
        guard let (header, count) = parsed else { return nil }
        rest = UnsafeRawBufferPointer(rebasing: rest[(count - kept)...])
        headBytes.removeAll(keepingCapacity: true)
        return header
    }

    /// Judges a frame by its head and the message it belongs to.
    private mutating func begin(_ header: FrameHeader) throws(WebSocketViolation) {
        frame = header
        frameRead = 0
        switch header.opcode {
        case .continuation:
            guard kind != nil else {
                throw WebSocketViolation(.protocolError, "a continuation without a message")
            }
        case .text, .binary:
            guard kind == nil else {
                throw WebSocketViolation(.protocolError, "a message inside another")
            }
            kind = header.opcode == .text ? .text : .binary
            fragments = 0
            utf8 = UTF8Check()
        case .close, .ping, .pong:
            control = []
            return
        }
        fragments += 1
        guard header.payloadCount <= limits.messageByteCount - message.count,
            fragments <= limits.fragmentCount
        else {
            throw WebSocketViolation(
                .tooLarge,
                "a message is over \(limits.messageByteCount) bytes or in too many pieces")
        }
        // One allocation for the announced length, but bounded: the sender has not sent it yet.
        if message.isEmpty {
            message.reserveCapacity(min(header.payloadCount, 1 << 20))
        }
    }

    private mutating func take(
        _ piece: UnsafeRawBufferPointer, of frame: FrameHeader
    ) throws(WebSocketViolation) {
        guard !piece.isEmpty else { return }
        if frame.opcode.isControl {
            Self.append(piece, to: &control, frame.mask, offset: frameRead)
            return
        }
        try reserve(message.count + piece.count)
        let start = message.count
        Self.append(piece, to: &message, frame.mask, offset: frameRead)
        guard kind == .text else { return }
        var check = utf8
        let isSound = message.withUnsafeBytes { all in
            check.accept(UnsafeRawBufferPointer(rebasing: all[start...]))
        }
        utf8 = check
        guard isSound else { throw WebSocketViolation(.notUTF8, "a text is not UTF-8") }
    }

    private mutating func reserve(_ count: Int) throws(WebSocketViolation) {
        guard let budget, count > Self.freeByteCount else { return }
        let share = share ?? BudgetShare(budget)
        self.share = share
        guard share.grow(to: count) else {
            throw WebSocketViolation(
                .tryAgainLater, "the server holds too many messages; send it again later")
        }
    }

    private static func append(
        _ piece: UnsafeRawBufferPointer, to target: inout [UInt8], _ mask: UInt32, offset: Int
    ) {
        let start = target.count
        target.append(contentsOf: piece.assumingMemoryBound(to: UInt8.self))
        target.withUnsafeMutableBytes { all in
            Masking.apply(
                mask, offset: offset, to: UnsafeMutableRawBufferPointer(rebasing: all[start...]))
        }
    }

    private mutating func end(
        _ frame: FrameHeader, _ outputs: inout [Output]
    ) throws(WebSocketViolation) {
        switch frame.opcode {
        case .ping: outputs.append(.ping(control))
        case .pong: outputs.append(.pong(control))
        case .close: outputs.append(try Self.close(control))
        case .continuation, .text, .binary:
            guard frame.isFinal, let kind else { return }
            guard kind == .binary || utf8.isComplete else {
                throw WebSocketViolation(.notUTF8, "a text ends inside a character")
            }
            outputs.append(.message(WebSocketMessage(kind, message)))
            self.kind = nil
            message = []
            share = nil
        }
    }

    /// Reads a Close frame's payload: nothing, or a code and a reason (RFC 6455, section 5.5.1).
    private static func close(_ payload: [UInt8]) throws(WebSocketViolation) -> Output {
        if payload.isEmpty { return .close(.absent, "") }
        guard payload.count >= 2 else {
            throw WebSocketViolation(.protocolError, "a close code of one byte")
        }
        let code = CloseCode(UInt16(payload[0]) << 8 | UInt16(payload[1]))
        guard code.isSendable else {
            throw WebSocketViolation(.protocolError, "close code \(code) may not be sent")
        }
        guard let text = String(validating: payload[2...], as: UTF8.self) else {
            throw WebSocketViolation(.notUTF8, "a close reason is not UTF-8")
        }
        return .close(code, text)
    }
}

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

/// The masking of a client's payloads (RFC 6455, section 5.3).
package enum Masking {
    /// Masks or unmasks `bytes` in place, eight at a time.
    ///
    /// `key` is the masking key as it is in memory; `offset` is the position of the first byte in the frame's
    /// payload.
    package static func apply(
        _ key: UInt32, offset: Int, to bytes: UnsafeMutableRawBufferPointer
    ) {
        let turned = rotated(key, by: offset & 3)
        let word = UInt64(turned) << 32 | UInt64(turned)
        let wordsEnd = bytes.count & ~7
        var position = 0
        while position < wordsEnd {
            let value = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            bytes.storeBytes(of: value ^ word, toByteOffset: position, as: UInt64.self)
            position += 8
        }
        guard position < bytes.count else { return }
        withUnsafeBytes(of: turned) { keyBytes in
            while position < bytes.count {
                bytes[position] ^= keyBytes[position & 3]
                position += 1
            }
        }
    }

    /// The key whose first byte in memory is the byte of `key` at this position.
    private static func rotated(_ key: UInt32, by count: Int) -> UInt32 {
        let little = UInt32(littleEndian: key)
        let shift = UInt32(count * 8)
        let turned = shift == 0 ? little : little >> shift | little << (32 - shift)
        return turned.littleEndian
    }
}
