import HotPush
import Platform

/// A file of an update under a URL of its own: with its media type, and compressed for those who take that.
enum ExpoAsset {
    static let prefix = "/for/expo/assets/"
    /// The ending of the script that is started first, whatever it is called.
    static let launchEnding = "bundle"

    /// The path of a file of a content.
    static func path(_ address: ObjectID, of content: ObjectID, ending: String) -> String {
        let suffix = ending.isEmpty ? "" : "." + PercentEncoding.unreserved(ending)
        return "\(prefix)\(content)/\(address)\(suffix)"
    }

    /// The media type for an ending.
    static func contentType(ending: String) -> String {
        if ending == launchEnding { return "application/javascript" }
        return (MediaType.known("a.\(ending)".utf8) ?? .unknown).name
    }

    /// The answer to a request for a file; `nil` if the path is none of these.
    ///
    /// What an older manifest names is there as long as the origin holds it: clients may ask for it at any time.
    static func answer(
        _ request: ClientRequest, _ configuration: ClientConfiguration, _ origin: some ClientOrigin
    ) throws(StoreError) -> ClientAnswer? {
        guard let segments = request.segments(below: prefix) else { return nil }
        guard request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard case .names(let names) = segments, names.count == 2,
            let contentAddress = ObjectID(names[0])
        else { return .notFound("There is no such asset.\n") }
        let parts = names[1].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = ObjectID(String(parts[0])),
            let offer = try origin.offer(of: contentAddress, isLive: false, configuration)
        else { return .notFound("There is no such asset.\n") }
        try origin.willFetch(composing: false)
        guard let content = try origin.content(of: offer), let facts = content.facts[address] else {
            return .notFound("There is no such asset.\n")
        }
        let type = contentType(ending: parts.count > 1 ? String(parts[1]) : "")
        var answer = ClientAnswer.immutable(type, .bytes([]))
        // The body depends on it: caches keep both.
        answer.fields.append(ClientRequest.Field("vary", "accept-encoding"))
        guard facts.byteCount > 0 else { return answer }
        let encodings = Acceptance(request.field("accept-encoding") ?? "")
        if let twin = facts.twin, encodings.takes(["gzip", "*"]) {
            answer.fields.append(ClientRequest.Field("content-encoding", "gzip"))
            answer.body = .gzip(
                twin: twin.address, twinByteCount: twin.byteCount, crc32: facts.crc32,
                byteCount: facts.byteCount)
        } else {
            answer.body = .object(address, byteCount: facts.byteCount)
        }
        return answer
    }
}
