import Archives
import Platform
import StrictJSON
import VersionTree

/// The answer to a request: a value, of which the server reads the objects.
struct ClientAnswer: Sendable, Hashable {
    var status: Int
    /// Fields besides those of the body's length and of ranges; names lower-case.
    var fields: [ClientRequest.Field]
    var body: Body

    /// What follows the head.
    enum Body: Sendable, Hashable {
        /// Nothing: 204.
        case none
        /// Bytes in memory.
        case bytes([UInt8])
        /// An object of the origin; ranges are answered, and it never changes.
        case object(ObjectID, byteCount: Int64)
        /// A deflated twin between a gzip header and trailer (RFC 1952); `crc32` and `byteCount` are the object's.
        case gzip(twin: ObjectID, twinByteCount: Int64, crc32: UInt32, byteCount: Int64)
        /// A document of the origin.
        case document(ClientDocument, ClientSystem)
        /// A composed archive; ranges are answered, and it never changes.
        case archive(ZipArchive)
    }

    init(_ status: Int, _ fields: KeyValuePairs<String, String> = [:], body: Body = .none) {
        self.status = status
        self.fields = fields.map { ClientRequest.Field($0.key, $0.value) }
        self.body = body
    }

    /// Sets a field, in its place if it is there.
    mutating func set(_ name: String, _ value: String) {
        let field = ClientRequest.Field(name, value)
        if let position = fields.firstIndex(where: { $0.name == name }) {
            fields[position] = field
        } else {
            fields.append(field)
        }
    }

    /// An answer that no cache may keep, since it depends on the request.
    private static func fresh(_ status: Int, _ mediaType: String, _ bytes: [UInt8]) -> Self {
        Self(
            status, ["content-type": mediaType, "cache-control": "no-store"], body: .bytes(bytes))
    }

    /// An answer that never changes under its URL: any cache may keep it for a year.
    static func immutable(_ mediaType: String, _ body: Body) -> Self {
        let cacheControl = "public, max-age=31536000, immutable"
        return Self(200, ["content-type": mediaType, "cache-control": cacheControl], body: body)
    }

    /// A JSON document.
    static func json(_ bytes: [UInt8], status: Int = 200) -> Self {
        fresh(status, "application/json", bytes)
    }

    /// A JSON object, its members written by the closure.
    static func json(status: Int = 200, _ write: (inout JSONWriter) -> Void) -> Self {
        json(JSONWriter.document(write), status: status)
    }

    /// A sentence for whoever looks into a log.
    static func text(_ status: Int, _ sentence: String) -> Self {
        fresh(status, "text/plain; charset=utf-8", Array(sentence.utf8))
    }

    /// 404 with a sentence.
    static func notFound(_ sentence: String) -> Self { text(404, sentence) }

    /// 405: the path takes other methods.
    static func wrongMethod(_ allowed: String) -> Self {
        var answer = text(405, "This path takes \(allowed) only.\n")
        answer.set("allow", allowed)
        return answer
    }

    /// A file of a version under a URL that never has another one.
    static func file(_ entry: Manifest.Entry) -> Self {
        let type = MediaType.known(entry.path.description.utf8) ?? .unknown
        // An origin may be without the empty object.
        return .immutable(
            type.contentType(withCharset: true),
            entry.byteCount == 0
                ? .bytes([]) : .object(entry.address, byteCount: entry.byteCount))
    }
}
