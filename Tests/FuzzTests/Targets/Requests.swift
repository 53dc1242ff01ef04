@testable import ServeFromCAS
@testable import WebServer

// What a connection receives: heads of requests and their bodies. The first byte of an input says how
// the rest is cut; the verdict must be the same as for the whole, and everything a head names must lie
// within it.

extension FuzzTarget {
    /// Reads what has come of a head, as ``RequestParser/parse(_:)`` does; the head is the parser's.
    typealias HeadReading =
        @Sendable (inout RequestParser, Span<UInt8>) -> RequestParser.Outcome

    static let requests = requests { $0.parse($1) }

    static func requests(_ reading: @escaping HeadReading) -> FuzzTarget {
        FuzzTarget(name: "requests", words: requestWords) { try checkRequests($0, reading) }
    }

    private static let requestWords = [
        "GET ", "POST ", "HEAD ", "OPTIONS * ", " HTTP/1.1\r\n", " HTTP/1.0\r\n",
        " HTTP/2.0\r\n", "\r\n",
        "\r\n\r\n", "Host: a\r\n", "Content-Length: ", "Transfer-Encoding: chunked\r\n",
        "gzip, chunked",
        "Connection: close\r\n", "Expect: 100-continue\r\n", "Cookie: ", "Range: bytes=",
        "http://",
        "https://", "[::1]:80", "0\r\n\r\n", "%00", "%2e%2e/", "ffffffffffffffff",
        "9223372036854775807",
    ]

    private static func checkRequests(_ input: [UInt8], _ reading: HeadReading) throws {
        guard let first = input.first else { return }
        let bytes = input[1...]
        let whole = try verdict(bytes, pieces: .max >> 1, reading)
        let cut = try verdict(bytes, pieces: Int(first) + 1, reading)
        try hold(whole == cut, "cuts change the verdict")
        for head in whole.heads {
            // A URL-scheme handler's head goes the same way back in.
            var parser = RequestParser()
            guard case .head(let consumed, let framing) = reading(&parser, head.bytes.span) else {
                throw Complaint(description: "an accepted head is refused the second time")
            }
            try hold(consumed == head.bytes.count && framing == head.framing, "another head")
        }
    }
}

/// What a connection makes of its bytes.
private struct Verdict: Equatable {
    var heads: [RequestHeadFacts] = []
    var bodies: [[UInt8]] = []
    var refusal: MessageFailure?
    /// Bytes that belong to complete requests.
    var consumed = 0
}

/// A head by value, to compare two.
private struct RequestHeadFacts: Equatable {
    var bytes: [UInt8]
    var method: Method
    var path: Range<Int>
    var query: Range<Int>?
    var authority: Range<Int>?
    var minorVersion: Int
    var fields: [RequestHead.Field]
    var framing: BodyFraming
}

private let bodyLimit = 4096

/// Reads one pipelined request after the other, given `pieces` bytes at a time.
private func verdict(
    _ bytes: ArraySlice<UInt8>, pieces: Int, _ reading: FuzzTarget.HeadReading
) throws -> Verdict {
    let all = Array(bytes)
    var verdict = Verdict()
    var start = 0
    while start < all.count, verdict.refusal == nil {
        guard let used = try request(all, from: start, pieces: pieces, reading, &verdict) else {
            break
        }
        try hold(used > start, "a request of no bytes")
        start = used
        verdict.consumed = used
    }
    return verdict
}

/// Reads one request; where it ends, or `nil` if it is refused or not complete.
private func request(
    _ all: [UInt8], from start: Int, pieces: Int, _ reading: FuzzTarget.HeadReading,
    _ verdict: inout Verdict
) throws -> Int? {
    var parser = RequestParser()
    var outcome = RequestParser.Outcome.needMore
    var end = start
    while outcome == .needMore, end < all.count {
        end = min(end + pieces, all.count)
        outcome = reading(&parser, all.span.extracting(start..<end))
    }
    switch outcome {
    case .needMore: return nil
    case .failure(let failure):
        try check(failure)
        verdict.refusal = failure
        return nil
    case .head(let consumed, let framing):
        try hold(consumed > 0 && start + consumed <= end, "a head beyond its bytes")
        try check(parser.head)
        let head = parser.head
        verdict.heads.append(
            RequestHeadFacts(
                bytes: head.bytes, method: head.method, path: head.path, query: head.query,
                authority: head.authority, minorVersion: head.minorVersion, fields: head.fields,
                framing: framing))
        return try body(all, from: start + consumed, framing, pieces: pieces, &verdict)
    }
}

private func body(
    _ all: [UInt8], from start: Int, _ framing: BodyFraming, pieces: Int, _ verdict: inout Verdict
) throws -> Int? {
    var position = start
    do {
        let reader = try BodyReader(framing, limit: bodyLimit)
        while !reader.isComplete, position < all.count {
            let end = pieces >= all.count - position ? all.count : position + pieces
            let used = try reader.read(all.span.extracting(position..<end))
            try hold(used > 0 || reader.isComplete, "the body stands still")
            position += used
            try hold(reader.content.count <= bodyLimit, "a body over its limit")
        }
        guard reader.isComplete else { return nil }
        verdict.bodies.append(reader.content)
        return position
    } catch let error as MessageFailure {
        try check(error)
        verdict.refusal = error
        return nil
    }
}

private func check(_ failure: MessageFailure) throws {
    try hold(
        [400, 405, 411, 413, 414, 417, 421, 426, 431, 501, 505].contains(failure.status),
        "a refusal with \(failure.status)")
    try hold(!failure.sentence.isEmpty, "a refusal without a sentence")
}

/// Nothing that two readers could take differently is left in what was accepted.
private func check(_ head: RequestHead) throws {
    let bytes = head.bytes
    for index in bytes.indices {
        if bytes[index] == 10 { try hold(index > 0 && bytes[index - 1] == 13, "a bare LF") }
        if bytes[index] == 13 {
            try hold(index + 1 < bytes.count && bytes[index + 1] == 10, "a bare CR")
        }
        try hold(bytes[index] != 0, "a NUL")
    }
    let whole = bytes.indices
    func within(_ part: Range<Int>) -> Bool {
        whole.lowerBound <= part.lowerBound && part.upperBound <= whole.upperBound
    }
    try hold(!head.path.isEmpty && within(head.path), "a path outside the head")
    if let query = head.query { try hold(within(query), "a query outside the head") }
    if let authority = head.authority { try hold(within(authority), "an authority outside") }
    try hold(within(head.target), "a target outside the head")
    try hold(head.minorVersion == 0 || head.minorVersion == 1, "another version")
    try hold(head.fields.count <= 100, "fields over their limit")
    var lengths = 0
    var codings = 0
    var hosts = 0
    for field in head.fields {
        try hold(within(field.name) && within(field.value), "a field outside the head")
        try hold(!field.name.isEmpty, "a field without a name")
        try hold(!bytes[field.value].contains(10), "a value over two lines")
        if head.matches(field.name, "content-length") { lengths += 1 }
        if head.matches(field.name, "transfer-encoding") { codings += 1 }
        if head.matches(field.name, "host") { hosts += 1 }
    }
    try hold(lengths == 0 || codings == 0, "two ways to find the body's end")
    try hold(hosts <= 1, "two hosts")
    try hold(hosts == 1 || head.minorVersion == 0, "HTTP/1.1 without a host")
}
