import CurlTransport
import HotPush
package import S3
import Synchronization

/// A real S3 server that the environment names: `S3_ENDPOINT`, `S3_ACCESS_KEY`, `S3_SECRET_KEY`.
///
/// `Tests/Reliability/s3/start` starts one and writes these into a file.
package struct RealStore: Sendable {
    package let endpoint: String
    package let keys: AccessKeys
    package let region: String
    private let carrier: CurlBucketCarrier

    /// The server of the environment; nil if it names none.
    package static let given: RealStore? = {
        let environment = ProcessInfo.processInfo.environment
        guard let endpoint = environment["S3_ENDPOINT"], let id = environment["S3_ACCESS_KEY"],
            let secret = environment["S3_SECRET_KEY"], let carrier = try? CurlBucketCarrier()
        else { return nil }
        return RealStore(
            endpoint: endpoint, keys: AccessKeys(id: id, secret: secret),
            region: environment["S3_REGION"] ?? "us-east-1", carrier: carrier)
    }()

    /// A bucket of this process, made on first use.
    private static let shared = Mutex<String?>(nil)

    /// A place of its own in the bucket of this process.
    package func bucket(
        _ options: BucketOptions = BucketOptions(), keys: AccessKeys? = nil, prefix: String? = nil
    ) throws -> S3Storage {
        let name = try Self.shared.withLock { name in
            if let name { return name }
            let new = "contract-\(try randomToken())"
            try make(new)
            name = new
            return new
        }
        let location = try BucketLocation(
            parsing: "s3://\(name)/\(prefix ?? "p-\(try randomToken())")")
        return S3Storage(
            location, at: try at(name), keys: FixedKeys(keys ?? self.keys), carrier: carrier,
            options)
    }

    /// Any place, signed by these keys or not at all.
    package func bucket(
        _ location: BucketLocation, keys: AccessKeys?, _ options: BucketOptions = BucketOptions()
    ) throws -> S3Storage {
        S3Storage(
            location, at: try at(location.bucket), keys: FixedKeys(keys), carrier: carrier, options)
    }

    package func at(_ bucket: String) throws -> BucketEndpoint {
        try BucketEndpoint(bucket: bucket, endpoint: endpoint, region: region)
    }

    package func make(_ name: String) throws {
        let answer = try ask("PUT", name, key: nil)
        guard answer.status == 200 || answer.status == 409 else {
            throw StoreError(.bucketAnswer, "no bucket: \(answer.status)")
        }
    }

    /// A signed request of any kind, past all that is tested.
    package func ask(
        _ method: String, _ bucket: String, key: String?, query: [(String, String)] = [],
        fields: [(String, String)] = [], body: [UInt8] = []
    ) throws -> (status: Int, fields: [(name: String, value: String)], body: [UInt8]) {
        let place = try at(bucket)
        let content = try StorageBody(body)
        var target = SignableRequest(method: method, host: place.requestHost, path: place.path(key))
        target.query = query.map { (name: $0.0, value: $0.1) }
        target.fields = fields.map { (name: $0.0, value: $0.1) }
        target.payloadDigest = content.address.description
        var request = CarriedRequest(method: method, url: place.origin + target.encodedTarget)
        request.fields =
            target.fields
            + (try RequestSigner(region: region).fields(for: target, by: keys, at: secondsNow()))
        if ["PUT", "POST"].contains(method) { request.body = CarriedBody(content) }
        var head = AnswerHead(status: 0, fields: [])
        var bytes: [UInt8] = []
        let end = carrier.carry(request) {
            head = $0
            return true
        } onBytes: {
            bytes.append(contentsOf: $0)
            return true
        }
        guard end == .finished else { throw StoreError(.bucketAnswer, "\(end)") }
        return (head.status, head.fields, bytes)
    }
}
