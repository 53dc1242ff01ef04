package import Storage

/// Sends one request over a network and returns its answer.
///
/// The seam between what a bucket decides and the library that speaks HTTP: a bucket never touches a socket; a
/// carrier signs nothing, repeats nothing and follows no redirect.
package protocol BucketCarrier: Sendable {
    /// Sends a request on the calling thread; many threads may call at once.
    /// - Parameters:
    ///   - onHead: called once with the head of the final answer; `false` ends the request.
    ///   - onBytes: called with the bytes of its body, in order; `false` ends the request.
    func carry(
        _ request: CarriedRequest, onHead: (AnswerHead) -> Bool,
        onBytes: (UnsafeRawBufferPointer) -> Bool
    ) -> CarryEnd
}

package struct CarriedRequest: Sendable {
    /// `GET`, `PUT`, `HEAD`, `POST` or `DELETE`.
    package var method: String
    /// The whole URL, encoded; sent verbatim.
    package var url: String
    /// Excludes `Host` and `Content-Length`, which follow from the URL and the body.
    package var fields: [(name: String, value: String)]
    package var body: CarriedBody?
    /// How long nothing may move in either direction, in seconds.
    package var stallSeconds = 30
    /// The fewest bytes of an answer that must come in ``paceMilliseconds``; 0 for any.
    package var leastByteCount: Int64 = 8 * 1024
    /// The time for ``leastByteCount``, if that is longer than nothing may move.
    package var paceMilliseconds = 60_000
    /// How long connecting may take, in milliseconds.
    package var connectMilliseconds = 20_000
    /// How long everything may take, in milliseconds; `nil` for no limit.
    package var totalMilliseconds: Int?
    /// Whether the proxies of the environment apply.
    package var usesProxy = true
    /// Polled often; `true` ends the request.
    package var isStopped: @Sendable () -> Bool = { false }

    package init(method: String, url: String, fields: [(name: String, value: String)] = []) {
        self.method = method
        self.url = url
        self.fields = fields
    }
}

/// The bytes of a request: all or a part of a body.
package struct CarriedBody: Sendable {
    package var body: StorageBody
    package var range: Range<Int64>

    package init(_ body: StorageBody) { self.init(body, 0..<body.byteCount) }

    package init(_ body: StorageBody, _ range: Range<Int64>) {
        self.body = body
        self.range = range
    }

    package var byteCount: Int64 { Int64(range.count) }
}

package struct AnswerHead: Sendable {
    package var status: Int
    /// Names in lower case, in the order in which they came.
    package var fields: [(name: String, value: String)]

    package init(status: Int, fields: [(name: String, value: String)]) {
        self.status = status
        self.fields = fields
    }

    /// The value of the only or first field of that name.
    package subscript(name: String) -> String? { fields.first { $0.name == name }?.value }
}

package enum CarryEnd: Sendable, Hashable {
    case finished
    /// One of the two closures returned `false`.
    case refused
    case failed(CarryFailure)
}

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
        case malformed
        case body
        /// ``CarriedRequest/isStopped`` returned `true`.
        case stopped
    }

    package var kind: Kind
    package var message: String

    package init(_ kind: Kind, _ message: String) {
        self.kind = kind
        self.message = message
    }
}
