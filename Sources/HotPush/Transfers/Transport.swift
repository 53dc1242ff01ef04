public import CASStore

/// Carries requests to an origin, many at once, on the thread that calls it.
///
/// Separates an update client, which never touches a socket, from the HTTP library, which never touches the store.
/// `CurlTransport` is the implementation.
public protocol Transport: AnyObject {
    /// Asks the client for requests, carries up to `options.parallelCount` at once, and passes on what comes, until the
    /// client says ``NextTransfer/nothing`` and no transfer is running.
    ///
    /// All calls to the client are on the calling thread, one at a time. A transfer's calls come in order: `begin`, any
    /// number of `receive`, `end`; `end` comes exactly once for every request, even if it never began.
    /// - Throws: what is wrong with the transport itself (no memory, a bad option). A failed transfer is an outcome,
    ///   not an error.
    func run(_ client: some TransferClient) throws(StoreError)

    /// The most bytes per second over all transfers; nil for no limit.
    ///
    /// A transfer that is slow because of this limit is not given up.
    var byteRateMax: Int64? { get }

    /// The most transfers that run at once.
    var parallelCount: Int { get }

    /// Removes credentials from an origin's text.
    func concealed(in text: String) -> String
}

extension Transport {
    /// No limit.
    public var byteRateMax: Int64? { nil }
    /// One after the other.
    public var parallelCount: Int { 1 }
    /// Returns the text: there are no credentials.
    public func concealed(in text: String) -> String { text }
}

/// The client of a ``Transport``, which asks for requests and takes what comes.
///
/// All transfers wait during a call, so it should return within a fraction of a second.
public protocol TransferClient: AnyObject {
    /// Says what to do with a free slot; called again after every event.
    func next() -> NextTransfer

    /// Receives the head of the final response, after redirects, and returns what to do with the body.
    ///
    /// Not called if the response is useless as a whole, for example because of a content encoding that nobody asked
    /// for.
    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision

    /// Receives bytes of the body, decoded if an encoding was requested.
    /// - Returns: whether to continue; `false` ends the transfer as ``TransferOutcome/refused``.
    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool

    /// The transfer is over.
    func end(_ id: Int, _ outcome: TransferOutcome)

    /// Called at least every 200 ms, for progress and cancellation.
    /// - Returns: whether to continue; `false` ends all transfers as ``TransferOutcome/cancelled``.
    func tick() -> Bool
}

/// What a client wants to do with a free slot.
public enum NextTransfer: Sendable {
    /// Send this request now.
    case request(TransferRequest)
    /// Ask again after this many milliseconds, or after the next event: a retry is not yet due.
    case wait(milliseconds: Int)
    /// Nothing before another transfer ends.
    case nothing
}

/// What a client wants to do with a body.
public enum BodyDecision: Sendable {
    /// Take its bytes.
    case take
    /// Read and forget it (a short error page), so that the connection stays usable.
    ///
    /// The transfer ends as ``TransferOutcome/finished`` whatever happens to the body; at most 64 KiB of it are read.
    case discard
    /// End the transfer as ``TransferOutcome/refused``.
    case refuse
}

/// One GET request for content, which may be conditional or partial.
public struct TransferRequest: Sendable {
    /// Identifies it to the client.
    public var id: Int
    /// The absolute URL.
    public var url: String
    /// Where to begin: a value above 0 sends `Range: bytes=offset-` (RFC 9110, section 14.2).
    public var offset: Int64 = 0
    /// Where to end, if not at the end of the whole: sends `Range: bytes=offset-last`, also with an offset of 0.
    package var end: Int64?
    /// The validator for `If-Range`; nil sends none.
    public var ifRange: String?
    /// More fields: name and value.
    public var fields: [(name: String, value: String)] = []
    /// Fields for this origin only: a redirect to another origin drops them.
    public var confinedFields: [(name: String, value: String)] = []
    /// Whether to offer the content encodings that the library can decode; otherwise the request says `identity`.
    ///
    /// Never with an offset, because ranges count encoded bytes. If true, the head's `content-length` counts encoded
    /// bytes.
    public var acceptsEncodings = false
    /// A body with more bytes than this, decoded, ends the transfer as ``TransferOutcome/tooLarge``.
    ///
    /// No bytes beyond are passed on; if `Content-Length` announces more, none at all.
    public var byteCountMax: Int64 = .max
    /// Whether to follow redirects; otherwise the client gets the redirecting answer.
    package var followsRedirects = true

    /// The value of the field `Range`; nil if the whole is wanted (RFC 9110, section 14.1.2).
    package var range: String? {
        if let end { return "bytes=\(offset)-\(end - 1)" }
        return offset > 0 ? "bytes=\(offset)-" : nil
    }

    /// Creates a plain request.
    public init(id: Int, url: String) {
        self.id = id
        self.url = url
    }
}

/// The head of a response.
public struct TransferHead: Sendable {
    /// The status code, such as 200, 206, 304 or 404.
    public var status: Int
    /// The header fields in their order, names in lower case.
    public var fields: [(name: String, value: String)]
    /// The URL that answered, after redirects.
    public var url: String
    /// Whether the body ends only with the connection (RFC 9112, section 6.3), so that truncation goes unnoticed.
    public var isUnframed = false

    /// Creates a head.
    public init(status: Int, fields: [(name: String, value: String)], url: String) {
        self.status = status
        self.fields = fields
        self.url = url
    }

    /// The value of the only or first field of that name.
    public subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// How a transfer ended.
public enum TransferOutcome: Sendable, Hashable {
    /// The whole body came, with the announced length if there was one; or there was no body.
    case finished
    /// The client refused it.
    case refused
    /// The body exceeds ``TransferRequest/byteCountMax``.
    case tooLarge
    /// The client stopped everything.
    case cancelled
    /// It failed on the way.
    case failed(TransferFailure)
}

/// Why a transfer failed on the way.
public struct TransferFailure: Error, Sendable, Hashable {
    /// The kind of failure, as far as it matters for a retry.
    public enum Kind: String, Sendable, Hashable {
        /// The name could not be resolved.
        case resolve
        /// No connection: refused, unreachable, timed out, or closed during the handshake.
        case connect
        /// The connection broke, or the body was shorter than announced.
        case broken
        /// Nothing came for too long, or the whole took too long.
        case timeout
        /// The certificate is bad, or the peer refuses the handshake: a retry does not help.
        case security
        /// Redirects loop, lead to another scheme, or are too many.
        case redirect
        /// The answer is not HTTP, or has a content encoding that cannot be decoded.
        case malformed
        /// The URL or an option is bad: a retry does not help.
        case request
    }

    /// The kind of failure.
    public var kind: Kind
    /// A sentence for people, in the library's own words.
    public var message: String

    /// Creates a failure.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension StoreError {
    init(_ failure: TransferFailure) {
        self.init(.network, failure.message, cause: .transfer(kind: failure.kind.rawValue))
    }

    package var transferKind: TransferFailure.Kind? {
        if case .transfer(let kind) = cause { TransferFailure.Kind(rawValue: kind) } else { nil }
    }
}

/// Settings for all transfers of a transport.
public struct TransportOptions: Sendable {
    /// The most transfers that run at once.
    public var parallelCount = 16
    /// Bytes per second over all transfers; nil for no limit.
    public var byteRateMax: Int64?
    /// How long connecting may take.
    public var connectTimeout: Duration = .seconds(20)
    /// How long a transfer may receive nothing.
    public var stallTimeout: Duration = .seconds(30)
    /// How long one transfer may take in all; nil for no limit.
    public var totalTimeout: Duration?
    /// Redirects never lead from https to http.
    package var redirectCountMax = 8
    /// A proxy's URL; nil to follow the environment (`https_proxy`, `no_proxy`); empty for none.
    public var proxy: String?
    /// A file of certificates to trust instead of the system's.
    public var certificatesFile: String?
    /// Credentials for the origin; nil for nothing but what its URL holds.
    public var credentials: OriginCredentials?
    /// The program's name in requests.
    public var userAgent = "castree"
    /// Whether to use HTTP/2 if a server offers it (over TLS); otherwise HTTP/1.1.
    public var isHTTP2Allowed = true

    /// Creates options with defaults for a mobile network.
    public init() {}
}

extension StoreError.Code {
    /// The library that carries requests cannot work, or one of its options is bad.
    package static let transport = Self("transport")
}

/// Credentials for an origin, sent only to its scheme, host and port, wherever redirects lead.
///
/// If the URL names a user, nothing here is sent. The description of this and all its values shows no secret.
public struct OriginCredentials: Sendable, CustomStringConvertible, CustomReflectable {
    /// What is sent, or where it is found.
    public enum Kind: Sendable {
        /// A bearer token (RFC 6750).
        case token(String)
        /// A user and a password (RFC 7617).
        case login(user: String, password: String)
        /// A netrc file, as curl reads it.
        case netrc(String)
        /// Nothing but the login in the URL of the origin.
        case address
    }

    /// A URL of the origin.
    public let origin: String
    private let kind: Kind

    /// Confines credentials to the origin with this URL.
    public init(_ kind: Kind, for origin: String) {
        self.kind = kind
        self.origin = origin
    }

    /// The value of `Authorization`; nil if a file has it.
    package var authorization: String? {
        switch kind {
        case .token(let token): "Bearer \(token)"
        case .login(let user, let password):
            "Basic \(Base64.string(Array("\(user):\(password)".utf8)))"
        case .netrc, .address: nil
        }
    }

    /// Removes the secrets from an origin's text, which may repeat them.
    package func concealed(in text: String) -> String {
        hiding(secrets.filter { $0.utf8.count > 3 }, in: text)
    }

    private var secrets: [String] {
        var found = [authorization.map { String($0.drop { $0 != " " }.dropFirst()) } ?? ""]
        if case .login(_, let password) = kind { found.append(password) }
        if let netrcFile {
            // If the file cannot be read, its secrets were not sent either.
            let bytes = try? POSIXFileSystem().contents(
                POSIXFileSystem.workingDirectory, netrcFile, limit: 1 << 20)
            let words = String(decoding: bytes ?? [], as: UTF8.self)
                .split(whereSeparator: \.isWhitespace)
            var login = ""
            for (word, next) in zip(words, words.dropFirst()) {
                if word == "login" { login = String(next) }
                guard word == "password" else { continue }
                found += [String(next), Base64.string(Array("\(login):\(next)".utf8))]
            }
        }
        let authority = origin.drop { $0 != "/" }.drop { $0 == "/" }.prefix { $0 != "/" }
        if let at = authority.lastIndex(of: "@"),
            let colon = authority[..<at].firstIndex(of: ":")
        {
            let (password, login) = (authority[colon..<at].dropFirst(), authority[..<at])
            let plain = PercentEncoding.decoded(password.utf8) ?? []
            found += [String(password), String(decoding: plain, as: UTF8.self)]
            found.append(Base64.string(PercentEncoding.decoded(login.utf8) ?? []))
        }
        return found
    }

    package var netrcFile: String? {
        if case .netrc(let file) = kind { file } else { nil }
    }

    /// A fixed text, without the credentials.
    public var description: String { "credentials" }
    /// A mirror without children, to hide the credentials.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
