import ServeFromCAS
import WebTestSupport

/// A version made of texts, the site that shows it, and a client that puts bodies together.
struct SampleSite {
    /// One file: where it stands, what is in it, how else it is reached, what is said of it.
    struct File {
        var path: String
        var text: String
        var routes: [String] = []
        var foreign: [(String, JSONValue)] = []

        init(
            _ path: String, _ text: String, routes: [String] = [],
            foreign: [(String, JSONValue)] = []
        ) {
            (self.path, self.text, self.routes, self.foreign) = (path, text, routes, foreign)
        }
    }

    let site: Site
    let contents: [ObjectID: [UInt8]]

    static func manifest(
        _ files: [File], version: String, ordinal: Int64 = 1, createdAt: Int64
    ) throws -> (VersionTree.Manifest, [ObjectID: [UInt8]]) {
        var contents: [ObjectID: [UInt8]] = [:]
        var entries: [VersionTree.Manifest.Entry] = []
        for file in files {
            let bytes = Array(file.text.utf8)
            let address = try address(file.text)
            contents[address] = bytes
            entries.append(
                VersionTree.Manifest.Entry(
                    path: try TreePath(file.path), address: address, byteCount: Int64(bytes.count),
                    routes: file.routes,
                    foreign: file.foreign.map { JSONValue.Member(key: $0.0, value: $0.1) }))
        }
        let manifest = try VersionTree.Manifest(
            version: try VersionName(version), ordinal: ordinal, createdAt: createdAt,
            entries: entries)
        return (manifest, contents)
    }

    init(
        _ files: [File], options: SiteOptions = SiteOptions(), version: String = "v1",
        createdAt: Int64 = 784_111_777, shell: [File] = []
    ) throws {
        let (manifest, contents) = try Self.manifest(files, version: version, createdAt: createdAt)
        let (extra, more) = try Self.manifest(shell, version: "shell", createdAt: 1)
        self.contents = contents.merging(more) { first, _ in first }
        site = Site(manifest, options: options, shell: shell.isEmpty ? nil : extra)
    }

    init(
        _ files: KeyValuePairs<String, String>, options: SiteOptions = SiteOptions(),
        version: String = "v1", createdAt: Int64 = 784_111_777
    ) throws {
        try self.init(
            files.map { File($0.key, $0.value) }, options: options, version: version,
            createdAt: createdAt)
    }

    static func address(_ text: String) throws -> ObjectID {
        var hasher = try ObjectHasher()
        let bytes = Array(text.utf8)
        hasher.update(bytes.span.bytes)
        return hasher.finish().address
    }

    /// The entity tag that a file with this text has.
    static func tag(_ text: String) throws -> String { "\"\(try address(text))\"" }

    /// What a client sees of a response.
    struct Answer {
        var status: Int
        var head: ResponseHead
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }
        subscript(name: String) -> String? {
            let values = head.values(name)
            return values.count > 1 ? values.joined(separator: " ++ ") : values.first
        }
    }

    func send(
        _ method: String = "GET", _ target: String, _ fields: [(String, String)] = []
    ) throws -> Answer {
        let request = try RequestHead(method: method, target: target, fields: fields)
        return read(Responder.respond(to: request, site: site))
    }

    func read(_ response: Response) -> Answer {
        var body: [UInt8] = []
        func add(_ piece: Response.Piece) {
            switch piece {
            case .bytes(let bytes): body += bytes
            case .object(let address, let range, let size):
                guard let content = contents[address], content.count == size else {
                    Issue.record("the response is of an object that no file has")
                    return
                }
                body += content[Int(range.lowerBound)..<Int(range.upperBound)]
            }
        }
        switch response.body {
        case .none: break
        case .piece(let piece): add(piece)
        case .pieces(let pieces): pieces.forEach(add)
        }
        return Answer(status: response.head.status, head: response.head, body: body)
    }
}

/// What a browser sends when a tab goes somewhere.
let navigation = [
    ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"),
    ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"),
]

/// What a browser sends for a script of a page.
let scriptLoad = [("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "script"), ("Accept", "*/*")]
