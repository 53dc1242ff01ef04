/// Collects the body of a request in memory, up to a limit.
package struct BodyReader: Sendable {
    /// The body so far.
    package private(set) var content: [UInt8] = []
    private let limit: Int
    private var rest: Int64
    private var chunks: ChunkedDecoder?

    /// - Throws: 413 when the length that the head names is over the limit.
    package init(_ framing: BodyFraming, limit: Int) throws(RequestFailure) {
        self.limit = limit
        switch framing {
        case .none: rest = 0
        case .length(let count):
            guard count <= Int64(limit) else { throw Self.tooLarge(limit) }
            rest = count
        case .chunked:
            rest = 0
            chunks = ChunkedDecoder()
        }
    }

    /// Whether all of it is here.
    package var isComplete: Bool { chunks?.isDone ?? (rest == 0) }

    /// Takes what belongs to the body.
    /// - Returns: how many of `bytes` that is.
    /// - Throws: 400 for malformed chunks, 413 when it grows over the limit.
    package mutating func read(_ bytes: Span<UInt8>) throws(RequestFailure) -> Int {
        if chunks != nil {
            // One byte more than allowed, to see that there is more.
            let room = limit - content.count + 1
            let used = try chunks?.decode(bytes, into: &content, limit: room) ?? 0
            guard content.count <= limit else { throw Self.tooLarge(limit) }
            return used
        }
        let count = Int(min(rest, Int64(bytes.count)))
        bytes.withUnsafeBufferPointer { content.append(contentsOf: $0[..<count]) }
        rest -= Int64(count)
        return count
    }

    private static func tooLarge(_ limit: Int) -> RequestFailure {
        RequestFailure(413, "the body is over \(limit) bytes")
    }
}
