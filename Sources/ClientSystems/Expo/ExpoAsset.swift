import CASStore
import HotPush

/// A file of an update under its own URL, with its media type, and compressed for clients that accept it.
enum ExpoAsset {
    private static let prefix = "/for/expo/assets/"
    static let launchEnding = "bundle"
    private static let missing = ClientAnswer.notFound("There is no such asset.\n")

    static func path(_ address: ObjectID, of content: ObjectID, ending: String) -> String {
        let suffix = ending.isEmpty ? "" : "." + PercentEncoding.unreserved(ending)
        return "\(prefix)\(content)/\(address)\(suffix)"
    }

    static func contentType(ending: String) -> String {
        if ending == launchEnding { return "application/javascript" }
        return (MediaType.known("a.\(ending)".utf8) ?? .unknown).name
    }

    /// Answers a request for a file; `nil` if the path is not a file's.
    ///
    /// Files of older manifests are answered as long as the origin holds them: clients may ask at any time.
    static func answer(_ inquiry: ClientInquiry) throws(StoreError) -> ClientAnswer? {
        guard let names = inquiry.request.segments(below: prefix) else { return nil }
        guard inquiry.request.asksForContent else { return .wrongMethod("GET, HEAD") }
        guard names.count == 2, let contentAddress = ObjectID(names[0]) else { return missing }
        let parts = names[1].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = ObjectID(String(parts[0])),
            let offer = try inquiry.first({ $0.offer(of: contentAddress, isLive: false) })
        else { return missing }
        try inquiry.origin.willFetch(composing: false)
        guard let facts = try inquiry.origin.content(of: offer)?.facts[address] else {
            return missing
        }
        let type = contentType(ending: parts.count > 1 ? String(parts[1]) : "")
        var answer = ClientAnswer.immutable(type, .bytes([]))
        // The body depends on the encoding, so caches must keep both.
        answer.set("vary", "accept-encoding")
        guard facts.byteCount > 0 else { return answer }
        let encodings = Acceptance(inquiry.request.field("accept-encoding") ?? "")
        if let deflatedCopy = facts.deflatedCopy, encodings.takes(["gzip", "*"]) {
            answer.set("content-encoding", "gzip")
            answer.body = .gzip(
                deflatedCopy: deflatedCopy.address, deflatedByteCount: deflatedCopy.byteCount,
                crc32: facts.crc32,
                byteCount: facts.byteCount)
        } else {
            answer.body = .object(address, byteCount: facts.byteCount)
        }
        return answer
    }
}
