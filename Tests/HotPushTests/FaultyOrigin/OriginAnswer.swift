/// The head and body with which a ``FaultyOrigin`` answers.
///
/// Right by RFC 9110 unless the fault says else.
struct OriginAnswer {
    /// With its empty line.
    private(set) var head: ArraySlice<UInt8> = []
    private(set) var body: [UInt8] = []

    private var status = 200
    private var fields: [(String, String)] = []

    init(_ request: OriginRequest, _ content: Content?, _ fault: Fault) {
        fields = [("Date", "Sun, 06 Nov 2094 08:49:37 GMT"), ("Server", "FaultyOrigin")]
        choose(request, content, fault)
        var length = body.count
        if case .announce(let more) = fault { length += more }
        if case .chunked = fault {
            fields.append(("Transfer-Encoding", "chunked"))
        } else if status != 304 {
            fields.append(("Content-Length", "\(length)"))
        }
        if request.method == "HEAD" { body = [] }
        var text = "HTTP/1.1 \(status) Said\r\n"
        for (name, value) in fields { text += "\(name): \(value)\r\n" }
        head = Array((text + "\r\n").utf8)[...]
    }

    private mutating func choose(_ request: OriginRequest, _ content: Content?, _ fault: Fault) {
        switch fault {
        case .status(let status, let retryAfter):
            say(status, "trouble")
            if let retryAfter { fields.append(("Retry-After", retryAfter)) }
        case .redirect(let target, let status):
            say(status, "elsewhere")
            fields.append(("Location", target))
        case .page:
            say(200, "<!DOCTYPE html><title>Welcome</title><p>Please log in.")
            fields.append(("Content-Type", "text/html"))
        case .unsatisfiable(let total):
            say(416, "")
            if let total { fields.append(("Content-Range", "bytes */\(total)")) }
        default:
            guard var content else { return say(404, "not found") }
            if case .tag(let tag) = fault { content.tag = tag }
            represent(request, content, fault)
        }
    }

    private mutating func say(_ status: Int, _ text: String) {
        self.status = status
        body = Array(text.utf8)
    }

    private mutating func represent(_ request: OriginRequest, _ content: Content, _ fault: Fault) {
        fields.append(("Content-Type", content.type))
        fields.append(("Accept-Ranges", "bytes"))
        if let tag = content.tag { fields.append(("ETag", tag)) }
        if let date = content.lastModified { fields.append(("Last-Modified", date)) }
        let asked = request["if-none-match"]?.split(separator: ", ").map { String($0) }
        if let tag = content.tag, asked?.contains(tag) == true {
            status = 304
            return
        }
        body = content.bytes
        if case .gzip = fault {
            body = Gzip.encoded(body)
            fields.append(("Content-Encoding", "gzip"))
            return
        }
        if case .wrongBytes = fault { body = body.map { ~$0 } }
        if case .ignoreRange = fault { return }
        guard var range = Self.range(request, content) else { return }
        guard range.lowerBound < body.count else {
            say(416, "")
            fields.append(("Content-Range", "bytes */\(content.bytes.count)"))
            return
        }
        if case .shiftRange(let distance) = fault {
            range = min(max(range.lowerBound + distance, 0), body.count - 1)..<body.count
        }
        if case .less(let most) = fault { range = range.prefix(most) }
        var total = "\(body.count)"
        if case .total(let other) = fault { total = other }
        status = 206
        body = Array(body[range])
        let value = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(total)"
        switch fault {
        case .anonymousRange: break
        case .multipart: divide(value, content)
        default: fields.append(("Content-Range", value))
        }
    }

    private mutating func divide(_ range: String, _ content: Content) {
        fields.removeAll { $0.0 == "Content-Type" }
        fields.append(("Content-Type", "multipart/byteranges; boundary=PART"))
        let start = "--PART\r\nContent-Type: \(content.type)\r\nContent-Range: \(range)\r\n\r\n"
        body = Array(start.utf8) + body + Array("\r\n--PART--\r\n".utf8)
    }

    /// The range that was asked for; nil if none was, or the validator of `If-Range` is another
    /// (RFC 9110, section 13.1.5) or the range is not one.
    private static func range(_ request: OriginRequest, _ content: Content) -> Range<Int>? {
        guard let value = request["range"], value.hasPrefix("bytes=") else { return nil }
        if let condition = request["if-range"] {
            let isStrong = content.tag?.hasPrefix("W/") == false && condition == content.tag
            guard isStrong || condition == content.lastModified else { return nil }
        }
        let ends = value.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Int(ends[0]) else { return nil }
        let count = content.bytes.count
        guard first < count else { return first..<Int.max }
        guard let last = Int(ends[1]) else { return ends[1].isEmpty ? first..<count : nil }
        return last >= first ? first..<min(last + 1, count) : nil
    }
}
