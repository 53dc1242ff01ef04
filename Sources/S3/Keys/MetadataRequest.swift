import Platform
import Storage
import StrictJSON

/// A short request to a service beside this machine that knows its keys.
struct MetadataRequest {
    let carrier: any BucketCarrier
    /// The service, for messages: `the container's endpoint`.
    let name: String
    private static let byteCountMax = 65_536

    /// The answer, whose body holds secrets and must not reach a message; `nil` without one.
    func ask(
        _ method: String, _ url: String, _ fields: [(name: String, value: String)],
        milliseconds: Int
    ) -> (status: Int, body: [UInt8])? {
        var request = CarriedRequest(method: method, url: url, fields: fields)
        request.connectMilliseconds = milliseconds
        request.totalMilliseconds = milliseconds
        // Proxies are for remote hosts.
        request.usesProxy = false
        var status = 0
        var body: [UInt8] = []
        let end = carrier.carry(request) {
            status = $0.status
            return true
        } onBytes: {
            body.append(contentsOf: $0)
            return body.count <= Self.byteCountMax
        }
        return end == .finished ? (status, body) : nil
    }

    /// The keys in a document: `AccessKeyId`, `SecretAccessKey`, `Token`, `Expiration`.
    func keys(in body: [UInt8]) throws(StoreError) -> AccessKeys {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue.parse(body) } catch {
            throw StoreError(.credentials, "\(name) gave an answer that is not JSON")
        }
        guard let id = value["AccessKeyId"]?.asString,
            let secret = value["SecretAccessKey"]?.asString, !id.isEmpty, !secret.isEmpty
        else { throw StoreError(.credentials, "\(name) gave an answer without keys") }
        return AccessKeys(
            id: id, secret: secret, sessionToken: value["Token"]?.asString,
            expiresAt: value["Expiration"]?.asString.flatMap(AnswerTime.element))
    }
}
