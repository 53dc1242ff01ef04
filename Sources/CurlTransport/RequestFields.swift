internal import CASStore
internal import CCurl
internal import HotPush

/// Builds a request's header fields in the form that libcurl takes.
enum RequestFields {
    /// Fields that identify the client: they are not sent to another origin.
    private static let credentials: Set<String> = [
        "authorization", "cookie", "proxy-authorization",
    ]

    /// Returns `Name: value` lines; nil if a field is invalid (RFC 9110, section 5), because a line end in a value
    /// would smuggle in further fields.
    /// - Parameter isForeign: whether a redirect led to an origin other than the request's own.
    static func lines(of request: TransferRequest, isForeign: Bool = false) -> [String]? {
        var lines: [String] = []
        // Sent explicitly, so that no proxy in between encodes on its own.
        if !request.acceptsEncodings { lines.append("Accept-Encoding: identity") }
        if let range = request.range { lines.append("Range: \(range)") }
        var fields = request.fields
        if !isForeign { fields += request.confinedFields }
        if let value = request.ifRange, request.range != nil { fields.append(("If-Range", value)) }
        for (name, value) in fields {
            guard isToken(name), isFieldValue(value) else { return nil }
            if isForeign, credentials.contains(name.lowercased()) { continue }
            // A name with a semicolon tells libcurl to send the field with an empty value.
            lines.append(value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        return lines
    }

    /// `token` of RFC 9110, section 5.6.2.
    static func isToken(_ name: String) -> Bool {
        !name.isEmpty
            && name.utf8.allSatisfy { $0.isAlphanumeric || "!#$%&'*+-.^_`|~".utf8.contains($0) }
    }

    /// Whether a value contains no line end and no NUL (RFC 9110, section 5.5).
    static func isFieldValue(_ value: String) -> Bool {
        !value.utf8.contains { $0 == 10 || $0 == 13 || $0 == 0 }
    }
}

/// A list of lines that libcurl reads while a transfer runs.
struct LineList: ~Copyable {
    private(set) var first: UnsafeMutablePointer<curl_slist>?

    /// Nil if there is no memory.
    init?(_ lines: [String]) {
        var list: UnsafeMutablePointer<curl_slist>?
        for line in lines {
            guard let longer = curl_slist_append(list, line) else {
                curl_slist_free_all(list)
                return nil
            }
            list = longer
        }
        first = list
    }

    deinit { curl_slist_free_all(first) }
}

/// The credentials of an origin, and which requests get them.
struct ConfinedCredentials {
    private let origin: URLParts
    private let authorization: String?
    /// A file in which libcurl looks for a user.
    let netrcFile: String?

    init?(_ credentials: OriginCredentials?) {
        guard let credentials, let origin = URLParts(credentials.origin) else { return nil }
        self.origin = origin
        authorization = credentials.authorization
        netrcFile = credentials.netrcFile
    }

    /// - Parameter isForeign: whether a redirect led to an origin other than the request's own.
    func isFor(_ url: String, isForeign: Bool) -> Bool {
        guard !isForeign, let parts = URLParts(url) else { return false }
        return parts.hasOrigin(of: origin)
    }

    /// Nil if the URL names a user, who takes precedence.
    func field(for url: String) -> String? {
        guard let authorization, URLParts(url)?.hasUser == false else { return nil }
        return "Authorization: \(authorization)"
    }
}
