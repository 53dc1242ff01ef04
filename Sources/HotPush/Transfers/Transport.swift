public import CASStore

/// Carries requests to an origin, many at once, on the thread that calls it.
///
/// The seam between what an update client decides and the library that speaks HTTP: the client never
/// touches a socket, a transport never touches the store. `CurlTransport` is the real one.
public protocol Transport: AnyObject {
    /// Asks the client for requests, carries up to `options.parallelCount` at once, and hands it what
    /// comes, until it says ``NextTransfer/nothing`` and nothing is under way.
    ///
    /// All calls to the client come on the calling thread, one at a time. A transfer's calls come in
    /// order: `begin`, any number of `receive`, `end`; `end` comes exactly once for every request,
    /// also for those that never began.
    ///
    /// - Throws: what is the matter with the transport itself (no memory, a broken option). What
    ///   happens to a transfer is its outcome, not an error.
    func run(_ client: some TransferClient) throws(StoreError)

    /// Bytes a second that it lets through, over all transfers; nil for as many as come.
    ///
    /// A transfer that is slow for this reason is not given up.
    var byteRateMax: Int64? { get }

    /// How many transfers are under way at once, at most.
    var parallelCount: Int { get }
}

extension Transport {
    /// As many as come.
    public var byteRateMax: Int64? { nil }
    /// One after the other.
    public var parallelCount: Int { 1 }
}

/// The client of a ``Transport``: asks for requests, takes what comes.
///
/// All transfers wait while a call lasts: calls should return within a fraction of a second.
public protocol TransferClient: AnyObject {
    /// Says what to do with a free place; asked again after every event.
    func next() -> NextTransfer

    /// The head of the final response, after redirects.
    ///
    /// Not called if the response is useless as a whole, such as content in an encoding that nobody
    /// asked for.
    /// - Returns: what to do with the body.
    func begin(_ id: Int, _ head: TransferHead) -> BodyDecision

    /// Bytes of the body, decoded if an encoding was asked for.
    /// - Returns: whether to go on; with `false` the transfer ends as ``TransferOutcome/refused``.
    func receive(_ id: Int, _ bytes: UnsafeRawBufferPointer) -> Bool

    /// The transfer is over.
    func end(_ id: Int, _ outcome: TransferOutcome)

    /// Called at least every 200 ms: progress, cancellation.
    /// - Returns: whether to go on; with `false` all transfers end as ``TransferOutcome/cancelled``.
    func tick() -> Bool
}

/// What a client wants with a free place.
public enum NextTransfer: Sendable {
    /// This request, now.
    case request(TransferRequest)
    /// Ask again after so many milliseconds, or after the next event: a retry waits for its time.
    case wait(milliseconds: Int)
    /// Nothing, now or before another transfer ends.
    case nothing
}

/// What a client wants with a body.
public enum BodyDecision: Sendable {
    /// Its bytes.
    case take
    /// Read and forget it (a short error page): the connection stays of use.
    ///
    /// The transfer ends as ``TransferOutcome/finished`` however the body fares; more than 64 KiB of
    /// it are not read.
    case discard
    /// End the transfer as ``TransferOutcome/refused``.
    case refuse
}

/// One request for content: GET, with what makes it conditional or partial.
public struct TransferRequest: Sendable {
    /// Names it to the client.
    public var id: Int
    /// Absolute.
    public var url: String
    /// Where to begin: more than 0 sends `Range: bytes=offset-` (RFC 9110, section 14.2).
    public var offset: Int64 = 0
    /// The validator for `If-Range`; nil sends none.
    public var ifRange: String?
    /// The entity tag for `If-None-Match`; nil sends none.
    public var ifNoneMatch: String?
    /// More fields: name and value.
    public var fields: [(name: String, value: String)] = []
    /// Fields for this origin only: a redirect to another one loses them.
    public var confinedFields: [(name: String, value: String)] = []
    /// Whether to offer the content encodings that the library can decode.
    ///
    /// Never with an offset: ranges count encoded bytes. Without it the request says `identity`. The
    /// head's `content-length` then counts what was sent, not what is received.
    public var acceptsEncodings = false
    /// More bytes of the body than this, decoded, end the transfer as ``TransferOutcome/tooLarge``.
    ///
    /// None of the bytes beyond are handed out; with a `Content-Length` that says more, none at all.
    public var byteCountMax: Int64 = .max

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
    /// The header fields, names in lower case, in the order they came.
    public var fields: [(name: String, value: String)]
    /// The URL that answered, after redirects.
    public var url: String

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
    /// The whole body came, or its length was as announced, or there was none.
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
public struct TransferFailure: Sendable, Hashable {
    /// What kind of trouble, as far as a retry is concerned.
    public enum Kind: String, Sendable, Hashable {
        /// The name could not be resolved.
        case resolve
        /// No connection: refused, unreachable, timed out, ended during the handshake.
        case connect
        /// The connection broke, or the body was shorter than announced.
        case broken
        /// Nothing came for too long, or all of it took too long.
        case timeout
        /// The certificate is no good, or the peer refuses the handshake: trying again does not help.
        case security
        /// Redirects in a circle, to another scheme, too many.
        case redirect
        /// What came is not HTTP, or a content encoding that cannot be decoded.
        case malformed
        /// The URL or an option is no good: trying again does not help.
        case request
    }

    /// What kind of trouble.
    public var kind: Kind
    /// A sentence for people, with the library's own words.
    public var message: String

    /// Makes a failure.
    public init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}

/// What holds for all transfers of a transport.
public struct TransportOptions: Sendable {
    /// How many transfers are under way at once.
    public var parallelCount = 16
    /// Bytes a second over all transfers; nil for as fast as it goes.
    public var byteRateMax: Int64?
    /// How long connecting may take.
    public var connectTimeout: Duration = .seconds(20)
    /// How long nothing may come.
    public var stallTimeout: Duration = .seconds(30)
    /// How long one transfer may take in all; nil for any time.
    public var totalTimeout: Duration?
    /// How many redirects are followed; they never lead from https to http.
    package var redirectCountMax = 8
    /// A proxy's URL; nil for what the environment says (`https_proxy`, `no_proxy`); empty for none.
    public var proxy: String?
    /// A file of certificates to trust instead of the system's.
    public var certificatesFile: String?
    /// What the requests call the program.
    public var userAgent = "castree"
    /// Whether HTTP/2 is used where a server offers it (over TLS); HTTP/1.1 otherwise.
    public var isHTTP2Allowed = true

    /// Makes options with defaults for a mobile network.
    public init() {}
}

extension StoreError.Code {
    /// The library that carries requests cannot work, or an option of it is no good.
    package static let transport = Self("transport")
}
