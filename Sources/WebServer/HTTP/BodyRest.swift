/// Separates a body from what follows it (RFC 9112, sections 6.3 and 7.1); for one thread at a time.
package enum BodyRest: Sendable {
    case length(Int64)
    case chunked(ChunkedDecoder)
    case untilClose

    package init(_ framing: BodyFraming) {
        switch framing {
        case .none: self = .length(0)
        case .length(let count): self = .length(count)
        case .chunked: self = .chunked(ChunkedDecoder())
        case .untilClose: self = .untilClose
        }
    }

    package var isComplete: Bool {
        switch self {
        case .length(let count): count == 0
        case .chunked(let decoder): decoder.isDone
        case .untilClose: false
        }
    }

    /// Whether the content read differs from the bytes received because it is decoded.
    var isChunked: Bool {
        if case .chunked = self { true } else { false }
    }

    /// Takes the bytes that belong to the body; appends the content of chunks, at most `limit` bytes of it, to
    /// `decoded`.
    /// - Returns: how many of `bytes` were used, from the first.
    /// - Throws: 400 and 431 as ``ChunkedDecoder/decode(_:into:limit:)``.
    mutating func read(
        _ bytes: Span<UInt8>, decoded: inout [UInt8], limit: Int = .max
    ) throws(MessageFailure) -> Int {
        switch self {
        case .length(let count):
            let used = Int(min(count, Int64(bytes.count)))
            self = .length(count - Int64(used))
            return used
        case .chunked(var decoder):
            let used = try decoder.decode(bytes, into: &decoded, limit: limit)
            self = .chunked(decoder)
            return used
        case .untilClose: return bytes.count
        }
    }
}
