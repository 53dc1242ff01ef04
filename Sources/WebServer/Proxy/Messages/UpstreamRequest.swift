/// The request that the upstream gets: written from the parsed head, never copied.
struct UpstreamRequest {
    /// The head, with the empty line that ends it.
    let bytes: [UInt8]
    let isHead: Bool
    /// Whether sending it twice has no more effect than sending it once, and all of it is here (RFC 9110, section
    /// 9.2.2).
    let isRepeatable: Bool
    /// The protocols that the client wants to change to; empty for none.
    let upgrade: [UInt8]
    let expectsContinue: Bool

    init(
        _ head: RequestHead, _ framing: BodyFraming, route: ProxyRoute, peer: SocketAddress?,
        options: ProxyOptions
    ) {
        isHead = head.method == .head
        expectsContinue = framing != .none && head.expectsContinue
        upgrade = Self.upgrade(head, framing)
        isRepeatable = framing == .none && upgrade.isEmpty && Self.isIdempotent(head.method)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(head.bytes.count + 256)
        let source = head.bytes.span
        // The method is the first word of the request line.
        var end = 0
        while end < source.count, source[end] != 32 { end += 1 }
        bytes.append(source, 0..<end)
        bytes.append(32)
        route.appendTarget(of: head, to: &bytes)
        bytes.append(" HTTP/1.1\r\n")
        bytes.append("Host", route.origin.authority.utf8)
        Self.appendFields(of: head, source, to: &bytes)
        Self.appendForwarded(head, peer, options, to: &bytes)
        if expectsContinue { bytes.append("Expect: 100-continue\r\n") }
        Self.appendFraming(head, framing, to: &bytes)
        if !upgrade.isEmpty {
            bytes.append("Connection: Upgrade\r\n")
            bytes.append("Upgrade", upgrade)
        }
        bytes.append("\r\n")
        self.bytes = bytes
    }

    private static func isIdempotent(_ method: Method) -> Bool {
        switch method {
        case .get, .head, .options, .put, .delete, .trace: true
        case .post, .patch, .connect, .other: false
        }
    }

    /// The Upgrade field, but not for HTTP/2, by which the upstream would get requests that no route has seen.
    private static func upgrade(_ head: RequestHead, _ framing: BodyFraming) -> [UInt8] {
        guard framing == .none, head.minorVersion == 1,
            let first = head.value(of: "upgrade"), head.lists("upgrade", in: "connection")
        else { return [] }
        let values = head.values(of: "upgrade")
        guard values.count == 1, !first.isEmpty else { return [] }
        for element in head.bytes[first].listElements() {
            let lower = element.map { FieldText.lowercased($0) }
            if lower.starts(with: "h2".utf8) || lower.starts(with: "http".utf8) { return [] }
        }
        return Array(head.bytes[first])
    }

    private static func appendFields(
        of head: RequestHead, _ source: Span<UInt8>, to bytes: inout [UInt8]
    ) {
        var connection = ConnectionField()
        for field in head.fields where head.matches(field.name, "connection") {
            connection.note(source, field.value)
        }
        for field in head.fields {
            let name = field.name
            if FieldName.isHopByHop(source, name) { continue }
            if name.count == 4, FieldName.matches(source, name, "host") { continue }
            if name.count == 6, FieldName.matches(source, name, "expect") { continue }
            // An upstream may trust them, whoever sent them.
            if FieldName.isForwarded(source, name) { continue }
            if FieldName.isNamed(source, name, in: connection.named) { continue }
            let value = head.bytes[field.value]
            if OwnSecrets.mayStand(in: value) {
                appendWithoutSecrets(source, name, value, to: &bytes)
                continue
            }
            bytes.append(source, field)
        }
    }

    private static func appendWithoutSecrets(
        _ source: Span<UInt8>, _ name: Range<Int>, _ value: ArraySlice<UInt8>,
        to bytes: inout [UInt8]
    ) {
        var kept = Array(value)
        if FieldName.matches(source, name, "cookie") {
            kept = OwnSecrets.withoutCookies(value)
            if kept.isEmpty { return }
        } else {
            kept = OwnSecrets.withoutParameters(ofAddressesIn: value)
            // What is left of it is in no address.
            if OwnSecrets.hasToken(kept[...]) { return }
        }
        bytes.append(source, name)
        bytes.append(": ")
        bytes.append(contentsOf: kept)
        bytes.append("\r\n")
    }

    private static func appendForwarded(
        _ head: RequestHead, _ peer: SocketAddress?, _ options: ProxyOptions,
        to bytes: inout [UInt8]
    ) {
        bytes.append("X-Forwarded-For", (peer?.hostText ?? "").utf8)
        bytes.append("X-Forwarded-Proto", options.scheme.utf8)
        if let host = head.authority ?? head.value(of: "host") {
            bytes.append("X-Forwarded-Host", head.bytes[host])
        }
    }

    /// Appends exactly one way to mark the body's end.
    private static func appendFraming(
        _ head: RequestHead, _ framing: BodyFraming, to bytes: inout [UInt8]
    ) {
        switch framing {
        case .length(let count): bytes.append("Content-Length", String(count).utf8)
        case .chunked: bytes.append("Transfer-Encoding: chunked\r\n")
        case .none, .untilClose:
            // RFC 9110, section 8.6: without a body, a method that expects one says so.
            switch head.method {
            case .post, .put, .patch: bytes.append("Content-Length: 0\r\n")
            default:
                if head.value(of: "content-length") != nil {
                    bytes.append("Content-Length: 0\r\n")
                }
            }
        }
    }
}

/// Removes the server's own cookies and parameters from what an upstream gets.
///
/// The token gives anyone access to this server, and an upstream does not need it. All their names begin with
/// `castree_`.
package enum OwnSecrets {
    private static let prefix = Array("castree_".utf8)

    /// Whether a value may contain one; nearly none does.
    static func mayStand(in value: ArraySlice<UInt8>) -> Bool {
        var rest = value
        while let position = rest.firstIndex(of: prefix[0]) {
            rest = rest[position...]
            if rest.starts(with: prefix) { return true }
            rest = rest.dropFirst()
        }
        return false
    }

    /// Whether a value contains the name of a token, encoded in whichever way.
    static func hasToken(_ value: ArraySlice<UInt8>) -> Bool {
        let name = Array("castree_token_".utf8)
        return value.indices.contains { value[$0...].starts(with: name) }
    }

    /// The Cookie field without our cookies; empty if none is left.
    static func withoutCookies(_ value: ArraySlice<UInt8>) -> [UInt8] {
        var kept: [UInt8] = []
        for pair in value.split(separator: 59) {
            let cookie = pair.drop { $0 == 32 || $0 == 9 }
            if cookie.isEmpty || cookie.starts(with: prefix) { continue }
            if !kept.isEmpty { kept += [59, 32] }
            kept += cookie
        }
        return kept
    }

    /// A query without our parameters; empty if none is left.
    package static func withoutParameters(_ query: ArraySlice<UInt8>) -> [UInt8] {
        let kept = query.split(separator: 38, omittingEmptySubsequences: false).filter {
            !$0.starts(with: prefix)
        }
        return Array(kept.joined(separator: [38]))
    }

    /// A field, such as Referer or htmx's HX-Current-URL, without our parameters in the addresses that it contains.
    static func withoutParameters(ofAddressesIn value: ArraySlice<UInt8>) -> [UInt8] {
        var (kept, rest) = ([UInt8](), value)
        while let byte = rest.popFirst() {
            let isQuestion = byte == UInt8(ascii: "?")
            guard isQuestion || byte == UInt8(ascii: "&"), rest.starts(with: prefix) else {
                kept.append(byte)
                continue
            }
            rest = rest.drop { isOfParameter($0) }
            // The next parameter, if any, is now the first one.
            if isQuestion, rest.first == UInt8(ascii: "&") {
                rest = [byte] + rest.dropFirst()
            }
        }
        return kept
    }

    /// Whether a byte can stand in a parameter of a query (RFC 3986, section 3.4), where `&` separates them.
    private static func isOfParameter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "-._~%=+/:@!$*".utf8.contains(byte)
        }
    }
}

/// What the Connection fields of a message say (RFC 9110, section 7.6.1).
struct ConnectionField {
    private(set) var closes = false
    private(set) var keepsAlive = false
    private(set) var upgrades = false
    private(set) var named: [Range<Int>] = []

    mutating func note(_ bytes: Span<UInt8>, _ value: Range<Int>) {
        var elements = ListElements(value)
        while let option = elements.next(bytes) {
            if RequestHead.matches(bytes, option, "close") {
                closes = true
            } else if RequestHead.matches(bytes, option, "keep-alive") {
                keepsAlive = true
            } else if !option.isEmpty {
                if RequestHead.matches(bytes, option, "upgrade") { upgrades = true }
                named.append(option)
            }
        }
    }

    mutating func clear() {
        (closes, keepsAlive, upgrades) = (false, false, false)
        named.removeAll(keepingCapacity: true)
    }
}
