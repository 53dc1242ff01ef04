import Platform
import Storage

/// Keys of the machine's role, from its metadata service, version 2 (a token first).
struct InstanceKeys: Sendable {
    private let request: MetadataRequest
    private let base: String

    /// If nobody answers within a second, there is no such service.
    private static let milliseconds = 1_000
    private static let path = "/latest/meta-data/iam/security-credentials/"

    init(_ settings: BucketSettings, _ carrier: any BucketCarrier) {
        var base =
            settings.variable("AWS_EC2_METADATA_SERVICE_ENDPOINT") ?? "http://169.254.169.254"
        while base.hasSuffix("/") { base.removeLast() }
        self.base = base
        request = MetadataRequest(carrier: carrier, name: "the instance's metadata service")
    }

    func fetch() throws(StoreError) -> AccessKeys {
        let lifetime = (name: "x-aws-ec2-metadata-token-ttl-seconds", value: "21600")
        guard let answer = ask("PUT", "/latest/api/token", [lifetime]), answer.status == 200,
            let token = Self.line(answer.body)
        else { throw BucketSettings.noKeys }
        let proof = [(name: "x-aws-ec2-metadata-token", value: token)]
        guard let roles = ask("GET", Self.path, proof), roles.status == 200,
            let role = Self.line(roles.body)
        else { throw StoreError(.credentials, "this instance has no role that gives it keys") }
        guard let keys = ask("GET", Self.path + PercentEncoding.unreserved(role), proof),
            keys.status == 200
        else { throw StoreError(.credentials, "\(request.name) gave no keys of its role") }
        return try request.keys(in: keys.body)
    }

    private func ask(
        _ method: String, _ path: String, _ fields: [(name: String, value: String)]
    ) -> (status: Int, body: [UInt8])? {
        request.ask(method, base + path, fields, milliseconds: Self.milliseconds)
    }

    /// The first line; `nil` if it is empty or no text of a header field.
    private static func line(_ body: [UInt8]) -> String? {
        let line = body.prefix { $0 != 10 && $0 != 13 }
        guard !line.isEmpty, line.allSatisfy({ $0 > 32 && $0 < 127 }) else { return nil }
        return String(decoding: line, as: UTF8.self)
    }
}
