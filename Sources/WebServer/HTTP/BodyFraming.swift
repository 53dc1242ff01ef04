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
