package import Storage

/// Sends one request over a network and hands back its answer.
///
/// The seam between what a bucket decides and the library that speaks HTTP: a bucket never touches a
/// socket; a carrier signs nothing, repeats nothing and follows no redirect.
package protocol BucketCarrier: Sendable {
    /// Sends a request on the calling thread; many threads may call at once.
    ///
    /// - Parameters:
    ///   - onHead: called once with the head of the final answer; `false` ends the request.
    ///   - onBytes: called with the bytes of its body, in order; `false` ends the request.
    func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd
}

/// A request as it is sent.
package struct CarriedRequest: Sendable {
    /// `GET`, `PUT`, `HEAD`, `POST` or `DELETE`.
    package var method: String
    /// The whole URL, encoded; sent as it is.
    package var url: String
    /// Name and value; `Host` and `Content-Length` follow from the URL and the body.
    package var fields: [(name: String, value: String)]
    /// What is sent; nil without a body.
    package var body: CarriedBody?
    /// How long nothing may move in either direction, in seconds.
    package var stallSeconds = 30
    /// The fewest bytes of an answer that must come in ``paceMilliseconds``; 0 for any.
    package var leastByteCount: Int64 = 8 * 1024
    /// In what time ``leastByteCount`` must come, if that is longer than nothing may move.
    package var paceMilliseconds = 60_000
    /// How long connecting may take, in milliseconds.
    package var connectMilliseconds = 20_000
    /// How long the whole may take, in milliseconds; nil for no limit.
    package var totalMilliseconds: Int?
    /// Whether the proxies of the environment apply.
    package var usesProxy = true
    /// Asked often; `true` ends the request.
    package var isStopped: @Sendable () -> Bool = { false }

    /// Makes a request without a body.
    package init(method: String, url: String, fields: [(name: String, value: String)] = []) {
        self.method = method
        self.url = url
        self.fields = fields
    }
}

/// The bytes of a request: a part of a body.
package struct CarriedBody: Sendable {
    /// Where the bytes are read.
    package var body: StorageBody
    /// Which of them are sent.
    package var range: Range<Int64>

    /// Takes a whole body.
    package init(_ body: StorageBody) { self.init(body, 0..<body.byteCount) }

    /// Takes a part of one.
    package init(_ body: StorageBody, _ range: Range<Int64>) {
        self.body = body
        self.range = range
    }

    /// How many bytes are sent.
    package var byteCount: Int64 { Int64(range.count) }
}

/// The head of an answer.
package struct AnswerHead: Sendable {
    /// The status code.
    package var status: Int
    /// Names in lower case, in the order in which they came.
    package var fields: [(name: String, value: String)]

    /// Makes a head.
    package init(status: Int, fields: [(name: String, value: String)]) {
        self.status = status
        self.fields = fields
    }

    /// The value of the only or first field of that name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

/// How a request ended.
package enum CarryEnd: Sendable, Hashable {
    /// The whole answer came.
    case finished
    /// One of the two closures returned `false`.
    case refused
    /// It failed on the way.
    case failed(CarryFailure)
}

/// Why a request failed on the way.
package struct CarryFailure: Sendable, Hashable {
    /// What it means for another try, and for what the server may have done.
    package enum Kind: String, Sendable, Hashable {
        /// There was no connection: the server has seen nothing.
        case notSent
        /// The request was on its way: it may be applied, now or later.
        case noAnswer
        /// The server's certificate is not trusted: another try does not help.
        case untrusted
        /// TLS fails, a field or the URL is bad: another try does not help.
        case useless
        /// The answer is not HTTP.
        case malformed
        /// The file of the body could not be read.
        case body
        /// ``CarriedRequest/isStopped`` said so.
        case stopped
    }

    /// What it means.
    package var kind: Kind
    /// A sentence for people.
    package var message: String

    /// Makes a failure.
    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
