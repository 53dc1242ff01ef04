import Platform

/// Decodes a chunked body (RFC 9112, section 7.1), as strictly as the head is parsed.
///
/// Reads, bounds and drops chunk extensions and trailers. For one thread at a time.
package struct ChunkedDecoder: Sendable {
    private enum Phase: Sendable {
        case size, extensions, sizeEnd, content, contentEnd(Int), trailer, trailerEnd, done
    }

    private var phase = Phase.size
    private var size: Int64 = 0
    private var digits = 0
    private var rest: Int64 = 0
    private var overhead = 0
    private var lineLength = 0
    private static let overheadLimit = 8192

    package init() {}

    package var isDone: Bool {
        if case .done = phase { true } else { false }
    }

    /// Continues reading; appends at most `limit` bytes of content to `content`.
    /// - Returns: how many of `bytes` were used: all, or fewer when the body ended within them or `content` is full.
    /// - Throws: 400 for anything malformed, 431 for trailers that are too large.
    package mutating func decode(
        _ bytes: Span<UInt8>, into content: inout [UInt8], limit: Int
    ) throws(MessageFailure) -> Int {
        var position = 0
        var space = limit
        while position < bytes.count {
            switch phase {
            case .done: return position
            case .content:
                let count = Int(min(rest, Int64(bytes.count - position), Int64(space)))
                guard count > 0 else { return position }
                bytes.withUnsafeBufferPointer {
                    content.append(contentsOf: $0[position..<position + count])
                }
                position += count
                space -= count
                rest -= Int64(count)
                if rest == 0 { phase = .contentEnd(0) }
            default:
                try step(bytes[position])
                position += 1
            }
        }
        return position
    }

    private mutating func step(_ byte: UInt8) throws(MessageFailure) {
        switch phase {
        case .size: try readSize(byte)
        case .extensions:
            try countOverhead()
            if byte == 13 {
                phase = .sizeEnd
            } else if !ByteClass.isValue(byte) {
                throw MessageFailure(400, "a chunk's extension holds a control character")
            }
        case .sizeEnd:
            guard byte == 10 else { throw MessageFailure(400, "a chunk's size has no line end") }
            (rest, size, digits) = (size, 0, 0)
            lineLength = 0
            phase = rest > 0 ? .content : .trailer
        case .contentEnd(let count):
            guard byte == (count == 0 ? 13 : 10) else {
                throw MessageFailure(400, "a chunk is longer than its size")
            }
            phase = count == 0 ? .contentEnd(1) : .size
        case .trailer:
            try countOverhead()
            if byte == 13 {
                phase = .trailerEnd
            } else {
                guard ByteClass.isValue(byte) else {
                    throw MessageFailure(400, "a trailer holds a control character")
                }
                lineLength += 1
            }
        case .trailerEnd:
            guard byte == 10 else { throw MessageFailure(400, "a trailer has no line end") }
            phase = lineLength == 0 ? .done : .trailer
            lineLength = 0
        case .content, .done: break
        }
    }

    private mutating func readSize(_ byte: UInt8) throws(MessageFailure) {
        if let digit = Hex.value(ofEitherCase: byte) {
            digits += 1
            guard digits <= 15 else { throw MessageFailure(413, "a chunk is too large") }
            size = size << 4 | Int64(digit)
            return
        }
        guard digits > 0 else { throw MessageFailure(400, "a chunk has no size") }
        switch byte {
        case 13: phase = .sizeEnd
        case 59: phase = .extensions
        default: throw MessageFailure(400, "a chunk's size is not a hexadecimal number")
        }
    }

    private mutating func countOverhead() throws(MessageFailure) {
        overhead += 1
        guard overhead <= Self.overheadLimit else {
            throw MessageFailure(431, "extensions and trailers of chunks are over their limit")
        }
    }
}

/// The bytes around the pieces of a chunked body (RFC 9112, section 7.1).
enum ChunkedEncoder {
    static let end = Array("0\r\n\r\n".utf8)

    /// The line before a piece of `count` bytes; a line end follows the piece.
    static func sizeLine(_ count: Int) -> [UInt8] {
        Array("\(String(count, radix: 16))\r\n".utf8)
    }
}
