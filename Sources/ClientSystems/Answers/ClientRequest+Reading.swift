import Platform

// What a stranger sent, read strictly: nothing here trusts a byte of it.

extension ClientRequest {
    /// Whether the method asks for what is there: `GET`, or `HEAD`, whose body the server leaves out.
    package var asksForContent: Bool { method == "GET" || method == "HEAD" }

    /// The value of the first field of a name, which is given in lower case.
    package func field(_ name: String) -> String? {
        fields.first { $0.name == name }?.value
    }

    /// What follows a prefix of the path, cut at slashes, each segment decoded; `nil` if the path does not begin so,
    /// `.malformed` for a segment that cannot be the name of anything.
    ///
    /// The prefix ends with a slash. An encoded slash stays in its segment: `%2F` never separates.
    package func segments(below prefix: String) -> Segments? {
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        var segments: [String] = []
        for part in path.utf8.dropFirst(prefix.utf8.count).split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        {
            guard let segment = Self.decoded(part) else { return .malformed }
            segments.append(segment)
        }
        return .names(segments)
    }

    /// The segments of a path.
    package enum Segments: Sendable, Hashable {
        /// All of them are text.
        case names([String])
        /// A `%` begins no escape, a NUL, or bytes that are no UTF-8.
        case malformed
    }

    /// The archive that the path names below a prefix; `nil` if it names none.
    ///
    /// Only the spelling that answers use counts: else whoever writes it in another way each time has it planned each time.
    func archiveName(below prefix: String) -> ArchiveName? {
        guard path.utf8.starts(with: prefix.utf8) else { return nil }
        let text = String(Substring(path.utf8.dropFirst(prefix.utf8.count)))
        guard let name = ArchiveName(text), name.description.utf8.elementsEqual(text.utf8) else {
            return nil
        }
        return name
    }

    /// The first value of each name in the query; `nil` if there are more than 64, or one is no text.
    ///
    /// As in forms (WHATWG URL, "application/x-www-form-urlencoded parsing"): a plus is a blank.
    package func queryValues() -> [String: String]? {
        guard let query else { return [:] }
        var values: [String: String] = [:]
        let pairs = query.utf8.split(separator: UInt8(ascii: "&"))
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
