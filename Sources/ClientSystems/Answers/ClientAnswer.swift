import Archives
import CASStore
import HotPush
import Platform
import StrictJSON
import VersionTree

/// The answer to a request, as a value; the server reads the objects that it names.
struct ClientAnswer: Sendable, Hashable {
    var status: Int
    /// Lower-case names, without the fields about the body's length and ranges, which the server adds.
    var fields: [ClientRequest.Field]
    var body: Body
    /// Whether `If-Match` and `If-None-Match` of the request are ignored, because clients send there what is no tag.
    var isUnconditional = false

    enum Body: Sendable, Hashable {
        case none
        case bytes([UInt8])
        /// An object of the origin; it never changes, and ranges are answered.
        case object(ObjectID, byteCount: Int64)
        /// A deflated copy between a gzip header and trailer (RFC 1952); `crc32` and `byteCount` are the object's.
        case gzip(deflatedCopy: ObjectID, deflatedByteCount: Int64, crc32: UInt32, byteCount: Int64)
        case document(ClientDocument, ClientSystem)
        /// A composed archive; it never changes, and ranges are answered.
        case archive(ZipArchive)
    }

    init(_ status: Int, _ fields: KeyValuePairs<String, String> = [:], body: Body = .none) {
        self.status = status
        self.fields = fields.map { ClientRequest.Field($0.key, $0.value) }
        self.body = body
    }

    mutating func set(_ name: String, _ value: String) {
        let field = ClientRequest.Field(name, value)
        if let position = fields.firstIndex(where: { $0.name == name }) {
            fields[position] = field
        } else {
            fields.append(field)
        }
    }

    /// An answer that depends on the request, so no cache may keep it.
    private static func fresh(_ status: Int, _ mediaType: String, _ bytes: [UInt8]) -> Self {
        Self(
            status, ["content-type": mediaType, "cache-control": "no-store"], body: .bytes(bytes))
    }

    /// An answer that never changes under its URL; caches may keep it for a year.
    static func immutable(_ mediaType: String, _ body: Body) -> Self {
        let cacheControl = "public, max-age=31536000, immutable"
        return Self(200, ["content-type": mediaType, "cache-control": cacheControl], body: body)
    }

    static func json(_ bytes: [UInt8], status: Int = 200) -> Self {
        fresh(status, "application/json", bytes)
    }

    static func json(status: Int = 200, _ write: (inout JSONWriter) -> Void) -> Self {
        json(JSONWriter.document(write), status: status)
    }

    /// A sentence for people who read logs.
    static func text(_ status: Int, _ sentence: String) -> Self {
        fresh(status, "text/plain; charset=utf-8", Array(sentence.utf8))
    }

    static func notFound(_ sentence: String) -> Self { text(404, sentence) }

    static func wrongMethod(_ allowed: String) -> Self {
        var answer = text(405, "This path takes \(allowed) only.\n")
        answer.set("allow", allowed)
        return answer
    }

    static func file(_ entry: Manifest.Entry) -> Self {
        let type = MediaType.known(entry.path.description.utf8) ?? .unknown
        // An origin need not hold the empty object.
        return .immutable(
            type.contentType(withCharset: true),
            entry.byteCount == 0
                ? .bytes([]) : .object(entry.address, byteCount: entry.byteCount))
    }
}

struct ClientContent: Sendable {
    var manifest: Manifest
    var facts: ContentFacts

    /// Whether an answer naming all files takes about a millisecond to write, too long to make other requests wait.
    var isLong: Bool { manifest.count > 500 }

    var paths: [String] { manifest.entries.map(\.path.description) }

    /// - Throws: `.badPointer` if the facts do not know the file's object: they are another version's, or damaged.
    func facts(of entry: Manifest.Entry, at path: String? = nil) throws(StoreError) -> ObjectFacts {
        guard let known = facts[entry.address] else {
            throw StoreError(
                .badPointer,
                "the facts of version \(manifest.version) do not know \(printable(path ?? entry.path.description)): "
                    + "publish the version again", object: entry.address)
        }
        return known
    }

    /// Files as members of an archive, below a folder that ends with a slash.
    /// - Throws: `.badPointer` if the facts do not know an object.
    func members(
        _ entries: some Sequence<Manifest.Entry>, below folder: String = ""
    ) throws(StoreError) -> [ZipMember] {
        var members: [ZipMember] = []
        for entry in entries {
            let path = folder + entry.path.description
            var crc32: UInt32 = 0
            var body = ZipMember.Content.bytes([])
            if entry.byteCount > 0 {
                let facts = try facts(of: entry, at: path)
                crc32 = facts.crc32
                body =
                    facts.deflatedCopy.map { .deflatedCopy($0.address, byteCount: $0.byteCount) }
                    ?? .object(entry.address)
            }
            members.append(
                ZipMember(
                    path: path, isExecutable: entry.isExecutable, byteCount: entry.byteCount,
                    crc32: crc32, content: body))
        }
        return members
    }
}

/// The parts of an origin that an answer may depend on; tests keep one in memory.
protocol ClientOrigin {
    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel?
    /// Announces that the request is for files of a release, before they are looked up: update checks must not wait
    /// behind that work.
    /// - Parameter composing: whether an archive is composed of them, which always takes long.
    func willFetch(composing: Bool) throws(StoreError)
    /// Returns `nil` if the origin no longer holds the files.
    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent?
    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]?
    /// The patches that lead to the releases of a channel; empty if there are none, or they are damaged.
    func patches(of channel: ChannelName) throws(StoreError) -> PatchTable
    /// The bytes of a patch; `nil` if it is not there, or is another, which is reported.
    /// - Parameter byteCount: of what it must make; `nil` to leave that to the client.
    func bytes(
        of patch: ClientPatch, making byteCount: Int64?
    ) throws(StoreError) -> [UInt8]?
    /// The length of an archive that takes long to compose; `nil` if there is none.
    /// - Parameter name: identifies everything the result depends on, so that it can be cached.
    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64?
    /// The bytes of an answer that names so many files that writing it takes long.
    /// - Parameter name: identifies everything the result depends on, so that it can be cached.
    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8]
}
