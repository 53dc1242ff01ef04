public import CASStore

/// Carries requests to an origin, many at once, on the thread that calls it.
///
/// The seam between what an update client decides and the library that speaks HTTP: the client never
/// touches a socket, a transport never touches the store. `CurlTransport` is the real one.
public protocol Transport: AnyObject {
    /// Asks the client for requests, carries up to `options.parallelCount` at once, and passes on
    /// what comes, until the client says ``NextTransfer/nothing`` and nothing is under way.
    ///
    /// All calls to the client are on the calling thread, one at a time. A transfer's calls come in
    /// order: `begin`, any number of `receive`, `end`; `end` comes exactly once for every request,
    /// even if it never began.
    ///
    /// - Throws: what is wrong with the transport itself (no memory, a bad option). What happens to a
    ///   transfer is its outcome, not an error.
    func run(_ client: some TransferClient) throws(StoreError)

    /// The most bytes per second over all transfers; nil for no limit.
    ///
    /// A transfer that is slow because of this limit is not given up.
    var byteRateMax: Int64? { get }

    /// The most transfers that are under way at once.
    var parallelCount: Int { get }

    /// A text of an origin's without what it was told in confidence.
    func concealed(in text: String) -> String
}

extension Transport {
    /// No limit.
    public var byteRateMax: Int64? { nil }
    /// One after the other.
    public var parallelCount: Int { 1 }
    /// Nothing was told.
    public func concealed(in text: String) -> String { text }
}

/// The client of a ``Transport``: asks for requests, takes what comes.
///
/// All transfers wait during a call: it should return within a fraction of a second.
public protocol TransferClient: AnyObject {
    /// Says what to do with a free slot; called again after every event.
    func next() -> NextTransfer

    /// The head of the final response, after redirects.
    ///
    /// Not called if the response is useless as a whole, for example because of a content encoding
    /// that nobody asked for.
    /// - Returns: what to do with the body.
    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision

    /// Bytes of the body, decoded if an encoding was requested.
    /// - Returns: whether to go on; `false` ends the transfer as ``TransferOutcome/refused``.
    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool

    /// The transfer is over.
    func end(_ id: Int, _ outcome: TransferOutcome)

    /// Called at least every 200 ms, for progress and cancellation.
    /// - Returns: whether to go on; `false` ends all transfers as ``TransferOutcome/cancelled``.
    func tick() -> Bool
}

/// What a client wants to do with a free slot.
public enum NextTransfer: Sendable {
    /// Send this request now.
    case request(TransferRequest)
    /// Ask again after this many milliseconds, or after the next event: a retry is not yet due.
    case wait(milliseconds: Int)
    /// Nothing, now or before another transfer ends.
    case nothing
}

/// What a client wants to do with a body.
public enum BodyDecision: Sendable {
    /// Take its bytes.
    case take
    /// Read and forget it (a short error page): the connection stays usable.
    ///
    /// The transfer ends as ``TransferOutcome/finished`` whatever happens to the body; at most 64
    /// KiB of it are read.
    case discard
    /// End the transfer as ``TransferOutcome/refused``.
    case refuse
}

/// One GET request for content, with what makes it conditional or partial.
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
    /// Whether to offer the content encodings that the library can decode.
    ///
    /// Never with an offset: ranges count encoded bytes. If false, the request says `identity`. If
    /// true, the head's `content-length` counts what was sent, not what is received.
    public var acceptsEncodings = false
    /// A body with more bytes than this, decoded, ends the transfer as ``TransferOutcome/tooLarge``.
    ///
    /// None of the bytes beyond are passed on; if `Content-Length` announces more, none at all.
    public var byteCountMax: Int64 = .max
    /// Whether to go where an answer redirects to; else the client gets that answer.
    package var followsRedirects = true

    /// The value of the field `Range`; nil if the whole is wanted (RFC 9110, section 14.1.2).
    package var range: String? {
        if let end { return "bytes=\(offset)-\(end - 1)" }
        return offset > 0 ? "bytes=\(offset)-" : nil
    }

    /// Makes a plain request.
    public init(id: Int, url: String) {
        self.id = id
        self.url = url
    }
}

/// The head of a response.
public struct TransferHead: Sendable {
    /// The status code, such as 200, 206, 304 or 404.
    public var status: Int
    /// The header fields, names in lower case, in the order in which they came.
    public var fields: [(name: String, value: String)]
    /// The URL that answered, after redirects.
    public var url: String
    /// Whether only the connection's end ends the body (RFC 9112, section 6.3): then nobody sees that it was cut off.
    public var isUnframed = false

    /// Makes a head.
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
    /// More came than ``TransferRequest/byteCountMax`` allows.
    case tooLarge
    /// The client stopped everything.
    case cancelled
    /// It failed on the way.
    case failed(TransferFailure)
}

/// Why a transfer failed on the way.
public struct TransferFailure: Error, Sendable, Hashable {
    /// The kind of trouble, as far as it matters for a retry.
    public enum Kind: String, Sendable, Hashable {
        /// The name could not be resolved.
        case resolve
        /// No connection: refused, unreachable, timed out, or closed during the handshake.
        case connect
        /// The connection broke, or the body was shorter than announced.
        case broken
        /// Nothing came for too long, or the whole took too long.
        case timeout
        /// The certificate is bad, or the peer refuses the handshake: trying again does not help.
        case security
        /// Redirects that loop, lead to another scheme, or are too many.
        case redirect
        /// The answer is not HTTP, or has a content encoding that cannot be decoded.
        case malformed
        /// The URL or an option is bad: trying again does not help.
        case request
    }

    /// The kind of trouble.
    public var kind: Kind
    /// A sentence for people, in the library's own words.
    public var message: String

    /// Makes a failure.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

extension StoreError {
    init(_ failure: TransferFailure) {
        self.init(.network, failure.message, cause: .transfer(kind: failure.kind.rawValue))
    }

    /// How a transfer failed, if that lies beneath.
    package var transferKind: TransferFailure.Kind? {
        if case .transfer(let kind) = cause { TransferFailure.Kind(rawValue: kind) } else { nil }
    }
}

/// Settings for all transfers of a transport.
public struct TransportOptions: Sendable {
    /// The most transfers that are under way at once.
    public var parallelCount = 16
    /// Bytes per second over all transfers; nil for no limit.
    public var byteRateMax: Int64?
    /// How long connecting may take.
    public var connectTimeout: Duration = .seconds(20)
    /// How long a transfer may receive nothing.
    public var stallTimeout: Duration = .seconds(30)
    /// How long one transfer may take in all; nil for no limit.
    public var totalTimeout: Duration?
    /// How many redirects are followed; they never lead from https to http.
    package var redirectCountMax = 8
    /// A proxy's URL; nil to follow the environment (`https_proxy`, `no_proxy`); empty for none.
    public var proxy: String?
    /// A file of certificates to trust instead of the system's.
    public var certificatesFile: String?
    /// What the origin is told of who asks; nil for nothing but what stands in its URL.
    public var credentials: OriginCredentials?
    /// The program's name in requests.
    public var userAgent = "castree"
    /// Whether to use HTTP/2 if a server offers it (over TLS); otherwise HTTP/1.1.
    public var isHTTP2Allowed = true

    /// Makes options with defaults for a mobile network.
    public init() {}
}

extension StoreError.Code {
    /// The library that carries requests cannot work, or one of its options is bad.
    package static let transport = Self("transport")
}
