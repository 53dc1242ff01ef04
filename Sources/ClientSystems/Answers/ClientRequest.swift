import Platform

/// A request of a client, as a feed reads it.
package struct ClientRequest: Sendable, Hashable {
    /// The method: `GET`, `HEAD`, `POST`.
    package var method: String
    /// The target without its query, as it was sent: percent-encoded, beginning with a slash.
    package var path: String
    /// What follows the first question mark, as it was sent; `nil` without one.
    package var query: String?
    /// The fields in their order; names lower-case, values without white space around them.
    package var fields: [Field]
    package var body: [UInt8]

    package struct Field: Sendable, Hashable {
        /// The name, lower-case.
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

    /// A part of a target as feeds read it: bytes from 0x80 on, which some clients send as they are, become escapes.
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

// What a stranger sent, read strictly: nothing here trusts a byte of it.

extension ClientRequest {
    /// Whether the method asks for what is there: `GET`, or `HEAD`, whose body the server leaves out.
    var asksForContent: Bool { method == "GET" || method == "HEAD" }

    /// The value of the first field of a name, which is given in lower case.
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    /// What follows a prefix of the path; `nil` if the path does not begin so.
    func rest(after prefix: String) -> Substring.UTF8View? {
        path.utf8.starts(with: prefix.utf8) ? path.utf8.dropFirst(prefix.utf8.count) : nil
    }

    /// What follows a prefix of the path, cut at slashes, each segment decoded; `nil` if the path does not begin so.
    ///
    /// Empty if a segment cannot be the name of anything: a `%` begins no escape, a NUL, or bytes that are no UTF-8.
    /// The prefix ends with a slash. An encoded slash stays in its segment: `%2F` never separates.
    func segments(below prefix: String) -> [String]? {
        guard let rest = rest(after: prefix) else { return nil }
        let parts = rest.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        let segments = parts.compactMap { Self.decoded($0) }
        return segments.count == parts.count ? segments : []
    }

    /// The archive that the path names below a prefix; `nil` if it names none.
    ///
    /// Only the spelling that answers use counts: else whoever writes it in another way each time has it planned each
    /// time.
    func archiveName(below prefix: String) -> ArchiveName? {
        guard let text = rest(after: prefix).map({ String(Substring($0)) }),
            let name = ArchiveName(text), name.description.utf8.elementsEqual(text.utf8)
        else { return nil }
        return name
    }

    /// The first value of each name in the query; `nil` if there are more than 64, or one is no text.
    ///
    /// As in forms (WHATWG URL, "application/x-www-form-urlencoded parsing"): a plus is a blank.
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

    /// The text that percent-encoded bytes stand for; `nil` if they stand for no text, or for one with NUL.
    private static func decoded(_ bytes: some Sequence<UInt8>) -> String? {
        guard let decoded = PercentEncoding.decoded(bytes), !decoded.contains(0) else {
            return nil
        }
        return String(validating: decoded, as: UTF8.self)
    }
}
