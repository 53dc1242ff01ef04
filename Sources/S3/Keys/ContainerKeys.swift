import Platform
import Storage

/// Keys from the endpoint that a container's environment names (ECS, EKS and the like).
struct ContainerKeys: Sendable {
    private let request: MetadataRequest
    private let url: String
    private let settings: BucketSettings

    /// Returns `nil` if the environment names no endpoint.
    /// - Throws: `.credentials` for an endpoint from which keys must not be fetched.
    init?(_ settings: BucketSettings, _ carrier: any BucketCarrier) throws(StoreError) {
        if let path = settings.variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") {
            url = "http://169.254.170.2" + (path.hasPrefix("/") ? "" : "/") + path
        } else if let whole = settings.variable("AWS_CONTAINER_CREDENTIALS_FULL_URI") {
            guard Self.isTrusted(whole) else {
                throw StoreError(
                    .credentials,
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine")
            }
            url = whole
        } else {
            return nil
        }
        self.settings = settings
        request = MetadataRequest(carrier: carrier, name: "the container's endpoint of keys")
    }

    func fetch() throws(StoreError) -> AccessKeys {
        var fields = [(name: "accept", value: "application/json")]
        if let token = try token() { fields.append(("authorization", token)) }
        // The endpoint may be busy for a moment.
        for _ in 0..<3 {
            guard let answer = request.ask("GET", url, fields, milliseconds: 5_000) else {
                continue
            }
            guard answer.status == 200 else {
                throw StoreError(.credentials, "\(request.name) answered \(answer.status)")
            }
            return try request.keys(in: answer.body)
        }
        throw StoreError(.credentials, "\(request.name) does not answer")
    }

    /// Read each time, because the file is rewritten before its token expires.
    private func token() throws(StoreError) -> String? {
        guard let path = settings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE") else {
            return settings.variable("AWS_CONTAINER_AUTHORIZATION_TOKEN")
        }
        guard let text = try settings.fileSystem.text(at: path, limit: 65_536) else {
            throw StoreError(
                .credentials,
                "the file of AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is not there")
        }
        return text.split(whereSeparator: \.isWhitespace).joined()
    }

    /// Whether keys may travel there and back: over TLS, or not through any network.
    private static func isTrusted(_ url: String) -> Bool {
        if url.lowercased().hasPrefix("https://") { return true }
        guard url.lowercased().hasPrefix("http://") else { return false }
        let authority = url.dropFirst(7).prefix { $0 != "/" && $0 != "?" }.lowercased()
        // The whole of it: before an @ is a user, whatever it looks like.
        return trustedHosts.contains { host in
            guard authority.hasPrefix(host) else { return false }
            let port = authority.utf8.dropFirst(host.utf8.count)
            return port.isEmpty
                || port.first == UInt8(ascii: ":")
                    && port.dropFirst().allSatisfy { (48...57).contains($0) }
        }
    }

    private static let trustedHosts = [
        "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
    ]
}
