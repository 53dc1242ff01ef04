package import Platform

/// The signed parts of a request.
package struct SignableRequest: Sendable {
    /// In capitals.
    package var method: String
    /// The value of `Host`: the name, and the port if it is not the scheme's.
    package var host: String
    /// The path, not encoded: `/bucket/key`.
    package var path: String
    /// Not encoded, in any order.
    package var query: [(name: String, value: String)]
    /// Fields besides `Host` and those that the signature adds.
    package var fields: [(name: String, value: String)]
    /// The SHA-256 of the body in hexadecimal digits.
    package var payloadDigest: String

    package static let emptyDigest =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    package init(method: String, host: String, path: String) {
        self.method = method
        self.host = host
        self.path = path
        query = []
        fields = []
        payloadDigest = Self.emptyDigest
    }

    /// The path as it is sent and signed.
    package var encodedPath: String { PercentEncoding.unreserved(path, keepingSlashes: true) }

    /// The query as it is sent and signed: sorted, each item with its `=`; empty without one.
    package var encodedQuery: String {
        query.map { (PercentEncoding.unreserved($0.name), PercentEncoding.unreserved($0.value)) }
            .sorted { Self.precedes($0, $1) }
            .map { "\($0.0)=\($0.1)" }
            .joined(separator: "&")
    }

    /// Path and query as in a URL.
    package var encodedTarget: String {
        let query = encodedQuery
        return query.isEmpty ? encodedPath : "\(encodedPath)?\(query)"
    }

    static func precedes(_ left: (String, String), _ right: (String, String)) -> Bool {
        if left.0 == right.0 { return left.1.utf8.lexicographicallyPrecedes(right.1.utf8) }
        return left.0.utf8.lexicographicallyPrecedes(right.0.utf8)
    }
}

/// Signs requests by Signature Version 4, in header fields, with the digest of the body.
///
/// The steps are those of "Authenticating Requests: Using the Authorization Header (AWS Signature Version 4)" in the
/// reference of Amazon S3. The path is encoded once, as S3 alone wants it.
package struct RequestSigner: Sendable, Hashable {
    package var region: String
    package var service: String
    /// Whether the body's digest is a field, as S3 demands.
    package var sendsPayloadDigest: Bool

    private static let algorithm = "AWS4-HMAC-SHA256"

    package init(region: String, service: String = "s3", sendsPayloadDigest: Bool = true) {
        self.region = region
        self.service = service
        self.sendsPayloadDigest = sendsPayloadDigest
    }

    /// The fields to send besides the request's own and `Host`.
    /// - Parameters:
    ///   - keys: `nil` to sign nothing; only the digest is returned then.
    ///   - seconds: the time since 1970; a server refuses one that is 15 minutes off.
    package func fields(
        for request: SignableRequest, by keys: AccessKeys?, at seconds: Int64
    ) throws(StoreError) -> [(name: String, value: String)] {
        var added: [(name: String, value: String)] = []
        if sendsPayloadDigest { added.append(("x-amz-content-sha256", request.payloadDigest)) }
        guard let keys else { return added }
        let time = Self.timestamp(seconds)
        added.append(("x-amz-date", time))
        if let token = keys.sessionToken { added.append(("x-amz-security-token", token)) }
        let (names, lines) = Self.canonical(request.fields + added + [("host", request.host)])
        let query = request.encodedQuery
        let canonical = [
            request.method, request.encodedPath, query, lines, names, request.payloadDigest,
        ].joined(separator: "\n")
        let scope = "\(time.prefix(8))/\(region)/\(service)/aws4_request"
        let digest = Hex.string(try Digester.digest(.sha256, of: Array(canonical.utf8)))
        let text = [Self.algorithm, time, scope, digest].joined(separator: "\n")
        let key = try signingKey(keys.secret, day: String(time.prefix(8)))
        let signature = Hex.string(try HMAC.sha256(key: key, text.utf8))
        added.append(
            (
                "authorization",
                "\(Self.algorithm) Credential=\(keys.id)/\(scope), "
                    + "SignedHeaders=\(names), Signature=\(signature)"
            ))
        return added
    }

    /// The signing key of a day, from which the secret cannot be derived.
    func signingKey(_ secret: String, day: String) throws(StoreError) -> [UInt8] {
        var key = Array("AWS4\(secret)".utf8)
        for part in [day, region, service, "aws4_request"] {
            key = try HMAC.sha256(key: key, part.utf8)
        }
        return key
    }

    /// The names, and a line for each, both in order; fields of one name are joined by commas.
    private static func canonical(
        _ fields: [(name: String, value: String)]
    ) -> (names: String, lines: String) {
        var values: [String: [String]] = [:]
        for (name, value) in fields {
            values[name.lowercased(), default: []].append(trimmed(value))
        }
        let names = values.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
        var lines = ""
        for name in names {
            lines += "\(name):\(values[name, default: []].joined(separator: ","))\n"
        }
        return (names.joined(separator: ";"), lines)
    }

    /// Without blanks at the ends, and with single ones inside.
    private static func trimmed(_ value: String) -> String {
        value.split(separator: " ").joined(separator: " ")
    }

    /// `20130524T000000Z`.
    static func timestamp(_ seconds: Int64) -> String {
        (CalendarTime.text(seconds) + "Z").filter { $0 != "-" && $0 != ":" }
    }
}
