import Synchronization

/// How the end of a body is found (RFC 9112, section 6.3).
package enum BodyFraming: Sendable, Hashable {
    case none
    /// Exactly this many bytes, more than 0.
    case length(Int64)
    case chunked
    /// The body ends with the connection; only for an answer that gives no other end.
    case untilClose
}

/// What the fields of a request's or answer's head say of its body (RFC 9112, section 6).
struct FramingFields: Sendable {
    private(set) var length: Int64?
    private var hasCodings = false
    private var isMalformed = false
    private var chunked = 0
    private var endsChunked = false
    private var hasOthers = false

    mutating func note(
        _ bytes: Span<UInt8>, _ field: RequestHead.Field
    ) throws(MessageFailure) {
        switch field.name.count {
        case 14 where RequestHead.matches(bytes, field.name, "content-length"):
            try noteLength(bytes, field.value)
        case 17 where RequestHead.matches(bytes, field.name, "transfer-encoding"):
            noteCodings(bytes, field.value)
        default: break
        }
    }

    private mutating func noteLength(
        _ bytes: Span<UInt8>, _ value: Range<Int>
    ) throws(MessageFailure) {
        guard !value.isEmpty else { throw MessageFailure(400, "Content-Length is not a number") }
        var number: Int64 = 0
        for position in value {
            let digit = bytes[position] &- 48
            guard digit <= 9 else { throw MessageFailure(400, "Content-Length is not a number") }
            let (product, over) = number.multipliedReportingOverflow(by: 10)
            let (sum, overSum) = product.addingReportingOverflow(Int64(digit))
            guard !over, !overSum else {
                throw MessageFailure(400, "Content-Length is too large")
            }
            number = sum
        }
        guard length == nil || length == number else {
            throw MessageFailure(400, "two Content-Length fields differ")
        }
        length = number
    }

    /// A list of codings: tokens between commas, none of them empty.
    private mutating func noteCodings(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        hasCodings = true
        var elements = ListElements(value)
        while let coding = elements.next(bytes) {
            for position in coding where !ByteClass.isToken(bytes[position]) { isMalformed = true }
            if coding.isEmpty {
                isMalformed = true
            } else if RequestHead.matches(bytes, coding, "chunked") {
                chunked += 1
                endsChunked = true
            } else {
                hasOthers = true
                endsChunked = false
            }
        }
    }

    func framing(minorVersion: Int) throws(MessageFailure) -> BodyFraming? {
        guard hasCodings else { return length.map { $0 > 0 ? .length($0) : .none } }
        guard length == nil else {
            throw MessageFailure(400, "Content-Length and Transfer-Encoding contradict each other")
        }
        guard minorVersion == 1 else {
            throw MessageFailure(400, "HTTP/1.0 has no Transfer-Encoding")
        }
        guard !isMalformed, chunked <= 1, chunked == 0 || endsChunked else {
            throw MessageFailure(400, "Transfer-Encoding is malformed")
        }
        guard chunked == 1, !hasOthers else {
            throw MessageFailure(501, "the only transfer coding accepted here is chunked")
        }
        return .chunked
    }
}

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

/// Collects the body of a request in memory, up to a limit; for one thread at a time.
package final class BodyReader {
    @exclusivity(unchecked) package private(set) var content: [UInt8] = []
    private let limit: Int
    private let budget: BodyBudget?
    @exclusivity(unchecked) private var rest: BodyRest
    @exclusivity(unchecked) private var held = 0

    /// - Parameter budget: shared by the bodies of all connections.
    /// - Throws: 413 if the length in the head is over the limit.
    package init(
        _ framing: BodyFraming, limit: Int, budget: BodyBudget? = nil
    ) throws(MessageFailure) {
        self.limit = limit
        self.budget = budget
        rest = BodyRest(framing)
        if case .length(let count) = framing, count > Int64(limit) { throw Self.tooLarge(limit) }
    }

    package var isComplete: Bool { rest.isComplete }

    /// - Returns: how many of `bytes` belong to the body.
    /// - Throws: 400 for malformed chunks, 413 if the body grows over the limit.
    package func read(_ bytes: Span<UInt8>) throws(MessageFailure) -> Int {
        // One byte more than allowed, to notice that there is more.
        let space = limit - content.count + 1
        let used = try rest.read(bytes, decoded: &content, limit: space)
        let before = held
        held = rest.isChunked ? content.count : content.count + used
        if let budget, !budget.take(held - before) {
            held = before
            content = []
            throw MessageFailure(503, "the server holds too many bodies; send it again later")
        }
        if !rest.isChunked { content.append(bytes, 0..<used) }
        guard content.count <= limit else { throw Self.tooLarge(limit) }
        return used
    }

    deinit { budget?.giveBack(held) }

    private static func tooLarge(_ limit: Int) -> MessageFailure {
        MessageFailure(413, "the body is over \(limit) bytes")
    }
}

/// The memory that all connections of a server may use together for bodies, for heads that cookies make long, and for
/// WebSocket messages under way.
package final class BodyBudget: Sendable {
    private let limit: Int
    private let held = Atomic<Int>(0)

    package init(_ limit: Int) { self.limit = limit }

    /// Takes bytes, all or none; `false` if there are not so many left.
    func take(_ count: Int) -> Bool {
        guard held.add(count, ordering: .relaxed).newValue > limit else { return true }
        giveBack(count)
        return false
    }

    func giveBack(_ count: Int) { held.subtract(count, ordering: .relaxed) }
}

/// What a long head, or a long message under way, takes of the budget; returned when nothing references it.
final class BudgetShare: Sendable {
    private let budget: BodyBudget
    private let held = Atomic<Int>(0)

    init(_ budget: BodyBudget) { self.budget = budget }

    /// Whether it may have so many bytes; called only by the thread that reads them.
    func grow(to count: Int) -> Bool {
        let more = count - held.load(ordering: .relaxed)
        guard more > 0 else { return true }
        guard budget.take(more) else { return false }
        held.store(count, ordering: .relaxed)
        return true
    }

    deinit { budget.giveBack(held.load(ordering: .relaxed)) }
}
