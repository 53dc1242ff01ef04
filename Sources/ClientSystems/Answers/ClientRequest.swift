import Platform

package struct ClientRequest: Sendable, Hashable {
    package var method: String
    /// The target without its query, as sent: percent-encoded, beginning with a slash.
    package var path: String
    /// Everything after the first question mark, as sent; `nil` without one.
    package var query: String?
    /// The fields in their order: lower-case names, values without surrounding white space.
    package var fields: [Field]
    package var body: [UInt8]

    package struct Field: Sendable, Hashable {
        package var name: String
        package var value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package init(
        _ method: String = "GET", _ path: String, query: String? = nil, fields: [Field] = [],
        body: [UInt8] = []
    ) {
        self.method = method
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
    }

    /// Escapes bytes from 0x80 on, which some clients send raw.
    package static func normalized(_ bytes: some Collection<UInt8>) -> String {
        var text: [UInt8] = []
        for byte in bytes {
            if byte < 0x80 {
                text.append(byte)
            } else {
                text += PercentEncoding.path(of: [byte]).utf8
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

// Strict reading: every byte comes from a stranger.

extension ClientRequest {
    /// `GET`, or `HEAD`, whose body the server omits.
    var asksForContent: Bool { method == "GET" || method == "HEAD" }

    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    func rest(after prefix: String) -> Substring.UTF8View? {
        path.utf8.starts(with: prefix.utf8) ? path.utf8.dropFirst(prefix.utf8.count) : nil
    }

    /// The path below a prefix (which ends with a slash), split at slashes, each segment decoded; `nil` if the path
    /// does not begin with it.
    ///
    /// Empty if a segment cannot name anything: a broken escape, a NUL, or invalid UTF-8. An encoded slash (`%2F`)
    /// stays in its segment.
    func segments(below prefix: String) -> [String]? {
        guard let rest = rest(after: prefix) else { return nil }
        let parts = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let segments = parts.compactMap { Self.decoded($0) }
        return segments.count == parts.count ? segments : []
    }

    /// The archive that the path names below a prefix; `nil` if it names none.
    ///
    /// Accepts only the exact spelling that answers use. Otherwise each variation would have the archive planned
    /// again.
    func archiveName(below prefix: String) -> ArchiveName? {
        guard let text = rest(after: prefix).map({ String(Substring($0)) }),
            let name = ArchiveName(text), name.description.utf8.elementsEqual(text.utf8)
        else { return nil }
        return name
    }

    /// The first value of each name in the query; `nil` if there are more than 64 names, or one is not text.
    ///
    /// A plus is a blank, as in forms (WHATWG URL, "application/x-www-form-urlencoded parsing").
    func queryValues() -> [String: String]? {
        var values: [String: String] = [:]
        let pairs = (query ?? "").utf8.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= 64 else { return nil }
        for pair in pairs {
            let halves = pair.split(
                separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            let texts = halves.map { half in
                Self.decoded(half.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 })
            }
            guard let name = texts[0], let value = halves.count > 1 ? texts[1] : "" else {
                return nil
            }
            if values[name] == nil { values[name] = value }
        }
        return values
    }

    /// Percent-decodes; `nil` if the result is not UTF-8 or contains a NUL.
    private static func decoded(_ bytes: some Sequence<UInt8>) -> String? {
        guard let decoded = PercentEncoding.decoded(bytes), !decoded.contains(0) else {
            return nil
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
