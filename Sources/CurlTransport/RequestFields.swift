import CASStore
import CCurl
import HotPush

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

/// Decides which redirects to follow (RFC 9110, section 15.4).
struct RedirectPolicy {
    let countMax: Int

    /// Excludes 300, which offers a choice, and 304, which answers a condition: both are for the client.
    static func isRedirect(_ status: Int) -> Bool {
        switch status {
        case 301, 302, 303, 307, 308: true
        default: false
        }
    }

    /// - Parameter visited: the URLs of this transfer so far, ending with the one that answered last.
    /// - Throws: why the redirect is not followed.
    func next(_ location: String, after visited: [String]) throws(TransferFailure) -> URLParts {
        let from = visited.last ?? ""
        func refusal(_ text: String) -> TransferFailure {
            let sentence = FailureKinds.sentence(text, url: from)
            return TransferFailure(.redirect, "\(sentence) (to \(URLParts.shown(location)))")
        }
        guard let target = URLParts(location, relativeTo: from), let source = URLParts(from) else {
            throw refusal("the server redirects to something that is not a URL")
        }
        guard target.scheme == "https" || target.scheme == "http" else {
            throw refusal("the server redirects to a scheme other than http or https")
        }
        if source.scheme == "https", target.scheme == "http" {
            throw refusal("the server redirects from https to http")
        }
        if visited.contains(where: { URLParts($0)?.text == target.text }) {
            throw refusal("the server redirects in a circle")
        }
        guard visited.count <= countMax else {
            throw refusal("the server redirects more than \(countMax) times")
        }
        return target
    }
}

/// A URL, parsed by the library that will fetch it, so that both read it the same way.
struct URLParts: Equatable {
    /// In lower case.
    var scheme: String
    /// In lower case.
    var host: String
    /// As written, or the scheme's default.
    var port: String
    /// The whole URL, normalized.
    var text: String
    var hasUser: Bool

    /// Parses `url`, which may be relative to `base` (RFC 3986, section 5); nil if it is invalid.
    init?(_ url: String, relativeTo base: String? = nil) {
        guard let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
        if let base {
            guard curl_url_set(handle, CURLUPART_URL, base, flags) == CURLUE_OK else { return nil }
            // The base's fragment does not pass to the target.
            curl_url_set(handle, CURLUPART_FRAGMENT, nil, 0)
        }
        // Servers send unencoded blanks in Location; browsers and curl encode them.
        let setFlags = base == nil ? flags : flags | UInt32(CURLU_URLENCODE)
        guard curl_url_set(handle, CURLUPART_URL, url, setFlags) == CURLUE_OK,
            let scheme = Self.part(handle, CURLUPART_SCHEME),
            let text = Self.part(handle, CURLUPART_URL)
        else { return nil }
        self.scheme = scheme.lowercased()
        self.text = text
        hasUser = Self.part(handle, CURLUPART_USER) != nil
        host = (Self.part(handle, CURLUPART_HOST) ?? "").lowercased()
        port = Self.part(handle, CURLUPART_PORT, UInt32(CURLU_DEFAULT_PORT)) ?? ""
    }

    private static func part(
        _ handle: OpaquePointer, _ part: CURLUPart, _ flags: UInt32 = 0
    ) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    /// Whether both have the same origin: scheme, host and port (RFC 6454, section 5).
    func hasOrigin(of other: URLParts) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// A URL for messages: without user and password, values of a query, or control characters.
    static func shown(_ url: String) -> String {
        printable(withoutSecrets(url, mark: nil, ofAddressesOnly: false))
    }
}
