@testable import ServeFromCAS
@testable import WebServer

// What a proxied server answers: heads. The first byte of an input says how the rest is cut; the verdict
// must be the same as for the whole, and nothing may be passed on that a client could read otherwise.

extension FuzzTarget {
    static let answers = FuzzTarget(
        name: "answers",
        words: [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.0 200\r\n", "HTTP/1.1 101 Switching Protocols\r\n",
            "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 304 Not Modified\r\n", "\r\n", "\r\n\r\n",
            "\r\n ", "Content-Length: ", "Transfer-Encoding: chunked\r\n", "gzip, chunked",
            "Connection: close\r\n", "Connection: keep-alive, Upgrade\r\n",
            "Upgrade: websocket\r\n",
            "Date: ", "Set-Cookie: ", "9223372036854775807", "999999999999999999",
        ]
    ) { input in
        guard let first = input.first else { return }
        let bytes = Array(input[1...])
        let whole = try verdict(bytes, pieces: .max >> 1)
        try hold(try verdict(bytes, pieces: Int(first) + 1) == whole, "cuts change the verdict")
        if case .head(let facts) = whole {
            let again = try verdict(Array(bytes[..<facts.consumed]), pieces: .max >> 1)
            try hold(again == whole, "what stands behind a head changes it")
        }
    }
}

/// What the proxy makes of an answer's beginning.
private enum Verdict: Equatable {
    case needMore
    case refused(String)
    case head(HeadFacts)
}

/// A head by value, to compare two.
private struct HeadFacts: Equatable {
    var consumed: Int
    var status: Int
    var minorVersion: Int
    var reason: Range<Int>
    var fields: [RequestHead.Field]
    var length: Int64?
    var isChunked: Bool
    var isKeepAlive: Bool
    var isUpgrade: Bool
}

/// Gives the parser `pieces` bytes more at a time, from the beginning as it wants them.
private func verdict(_ bytes: [UInt8], pieces: Int) throws -> Verdict {
    var parser = UpstreamHeadParser()
    var end = 0
    while end < bytes.count {
        end = pieces >= bytes.count - end ? bytes.count : end + pieces
        switch parser.parse(bytes.span.extracting(0..<end)) {
        case .needMore: continue
        case .failure(let failure):
            try hold(!failure.sentence.isEmpty, "a refusal without a sentence")
            return .refused(failure.sentence)
        case .head(let consumed):
            try hold(consumed > 0 && consumed <= end, "a head beyond its bytes")
            return .head(try facts(parser.head, bytes, consumed))
        }
    }
    return .needMore
}

private func facts(_ head: UpstreamHead, _ bytes: [UInt8], _ consumed: Int) throws -> HeadFacts {
    try hold((100...599).contains(head.status), "the status \(head.status)")
    try hold(head.minorVersion == 0 || head.minorVersion == 1, "another version")
    try hold(head.fields.count <= UpstreamHeadParser.fieldLimit, "fields over their limit")
    let whole = 0..<consumed
    func text(_ part: Range<Int>) throws -> ArraySlice<UInt8> {
        try hold(
            whole.lowerBound <= part.lowerBound && part.upperBound <= whole.upperBound,
            "a part outside the head")
        let text = bytes[part]
        try hold(!text.contains { $0 == 0 || $0 == 10 || $0 == 13 }, "a control in a part")
        return text
    }
    _ = try text(head.reason)
    var lengths: Set<[UInt8]> = []
    var codings = 0
    for field in head.fields {
        let name = String(decoding: try text(field.name), as: UTF8.self).lowercased()
        let value = try text(field.value)
        try hold(!name.isEmpty, "a field without a name")
        if name == "content-length" { lengths.insert(Array(value)) }
        if name == "transfer-encoding" { codings += 1 }
    }
    try hold(lengths.isEmpty || codings == 0, "two ways to find the body's end")
    try hold(codings <= 1, "two Transfer-Encoding fields")
    try hold(lengths.isEmpty == (head.length == nil), "a length from nowhere")
    if let length = head.length { try hold(length >= 0, "the length \(length)") }
    for option in head.connection.named { _ = try text(option) }
    if let upgrade = head.upgrade { _ = try text(upgrade) }
    var isChunked = false
    if case .chunked = head.framing(toHead: false) { isChunked = true }
    try hold(!isChunked || codings == 1, "chunks that nobody announced")
    return HeadFacts(
        consumed: consumed, status: head.status, minorVersion: head.minorVersion,
        reason: head.reason, fields: head.fields, length: head.length, isChunked: isChunked,
        isKeepAlive: head.isKeepAlive, isUpgrade: head.connection.upgrades)
}
