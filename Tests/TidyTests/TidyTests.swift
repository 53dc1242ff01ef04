import Expectations

/// The style as a test: layers, file sizes, words.
///
/// Each rule says what to do instead.
@Suite struct TidyTests {
    static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    struct Source: Sendable, CustomTestStringConvertible {
        let path: String
        let text: String
        let lines: [Substring]
        /// The lines that are no comments.
        let code: [Substring]
        let imports: Set<Substring>
        var testDescription: String { path }

        init(path: String, text: String) {
            self.path = path
            self.text = text
            lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            code = lines.filter { !$0.utf8.drop(while: { $0 == 32 }).starts(with: "//".utf8) }
            var imports: Set<Substring> = []
            for line in code where line.utf8.count < 100 {
                let words = line.split(separator: " ").suffix(2)
                if words.count == 2, words.first == "import" { imports.formUnion(words.suffix(1)) }
            }
            self.imports = imports
        }

        /// Whether a word is anywhere in the file, comments as well: quicker than a pattern.
        func holds(_ word: String) -> Bool { strstr(text, word) != nil }

        func lines(matching pattern: NSRegularExpression) -> [Substring] {
            let whole = code.joined(separator: "\n")
            return pattern.matches(in: whole, range: NSRange(whole.startIndex..., in: whole))
                .compactMap { Range($0.range, in: whole).map { whole[whole.lineRange(for: $0)] } }
        }
    }

    static func files(_ folders: [String], _ ending: String = ".swift") -> [Source] {
        var result: [Source] = []
        for folder in folders {
            let base = root.appending(path: folder).path
            for path in (try? FileManager.default.subpathsOfDirectory(atPath: base)) ?? [] {
                guard path.hasSuffix(ending),
                    let data = FileManager.default.contents(atPath: base + "/" + path)
                else { continue }
                result.append(
                    Source(path: folder + "/" + path, text: String(decoding: data, as: UTF8.self)))
            }
        }
        return result.sorted { $0.path < $1.path }
    }

    static let sources = files(["Sources", "tools"])
    static let all = files(["Sources", "tools", "Tests", "Snippets"])

    @Test func `there are sources to look at`() {
        expect(Self.sources.count > 50)
    }

    @Test func `no file is larger than 600 lines`() {
        for file in Self.all where file.lines.count > 601 {
            Issue.record("\(file.path) has \(file.lines.count) lines; split it by purpose")
        }
    }

    @Test(arguments: [
        ("CSQLite", ["Sources/CASStore/SQLite/"]),
        ("CXXHash", ["Sources/Platform/Identity/Fingerprint.swift"]),
        (
            "CZlib",
            [
                "Sources/Platform/Identity/CRC32.swift", "Sources/Archives/Deflating/",
                "Sources/ArchiveReading/Decompressing/",
            ]
        ),
        ("CZstd", ["Sources/Zstandard/", "Sources/ArchiveReading/Decompressing/"]),
        ("CBrotli", ["Sources/ArchiveReading/Decompressing/"]),
        (
            "CArchive",
            ["Sources/ArchiveReading/Tar/", "Sources/ArchiveReading/Zip/RareContent.swift"]
        ),
        (
            "CCrypto",
            [
                "Sources/Platform/Identity/Digester.swift",
                "Sources/Platform/Identity/Ed25519.swift",
                "Sources/Platform/Identity/RSA.swift",
            ]
        ),
        ("CCurl", ["Sources/CurlTransport/"]),
        ("CDivsufsort", ["Sources/DeltaSearch/SuffixArray.swift"]),
        ("CTLS", ["Sources/WebServer/TLS/"]),
        ("CSystem", ["Sources/Platform/", "Sources/WebServer/System/"]),
        (
            "Glibc",
            [
                "Sources/Platform/", "Sources/Console/", "Sources/castree/",
                "Sources/WebServer/System/",
            ]
        ),
    ])
    func `only its folder imports`(_ module: String, _ folders: [String]) {
        for file in Self.sources where !folders.contains(where: { file.path.hasPrefix($0) }) {
            expect(
                !file.imports.contains(module[...]),
                "\(file.path) imports \(module); it belongs in \(folders)")
        }
    }

    @Test func `the libraries and programs do without Foundation`() {
        for file in Self.sources where !file.path.hasPrefix("Sources/LocalizedErrors/") {
            let imports = file.imports.filter { $0.hasPrefix("Foundation") }
            expect(imports.isEmpty, "\(file.path): Foundation costs start-up time and memory")
        }
    }

    @Test func `arrows go one way`() {
        let above = [
            "StrictJSON": ["Platform", "CASStore", "VersionTree", "Console"],
            "Platform": ["CASStore", "StrictJSON", "VersionTree", "Console"],
            "CASStore": ["StrictJSON", "Storage", "S3", "VersionTree", "Console"],
            "Storage": ["CASStore", "StrictJSON", "S3", "VersionTree", "HotPush", "Console"],
            "S3": ["CASStore", "VersionTree", "HotPush", "CurlTransport", "CCurl", "Console"],
            "Delta": ["CASStore", "CLibraries", "DeltaSearch", "HotPush", "Console"],
            "DeltaSearch": ["CASStore", "VersionTree", "HotPush", "Console"],
            "Archives": ["CASStore", "VersionTree", "HotPush", "Console"],
            "ArchiveReading": ["HotPush", "Console", "StoreCommands"],
            "VersionTree": [
                "ArchiveReading", "Console", "StoreCommands", "HotPush", "ServeFromCAS",
            ],
            "HotPush": ["Origin", "Console", "StoreCommands", "ServeFromCAS", "CurlTransport"],
            "Origin": [
                "ClientSystems", "Console", "StoreCommands", "ServeFromCAS", "CurlTransport",
            ],
            "CurlTransport": ["Origin"],
            "WebServer": [
                "CASStore", "StrictJSON", "VersionTree", "HotPush", "ServeFromCAS", "Console",
            ],
            "ServeFromCAS": ["Console", "HotPush", "UsagePage"],
            "UsagePage": ["Console", "HotPush", "ServeFromCAS"],
            "Console": [
                "CASStore", "VersionTree", "StoreCommands", "HotPush", "WebServer", "ServeFromCAS",
            ],
            "StoreCommands": [
                "HotPush", "CurlTransport", "ServeFromCAS", "UsagePage",
            ],
        ]
        for (module, banned) in above {
            for file in Self.sources where file.path.hasPrefix("Sources/\(module)/") {
                for name in banned where file.imports.contains(name[...]) {
                    Issue.record("\(file.path) imports \(name), which stands above it")
                }
            }
        }
    }

    @Test(arguments: [
        (#"\btry!"#, "throw, or prove it with a precondition"),
        (#"\bfatalError\("#, "use precondition for a programmer's mistake, throw for the rest"),
        (#"\bas!\s"#, "use as? and say what else"),
        (#"\b(FIXME|TODO|XXX)\b"#, "do it, or open an issue"),
        (
            #"\b(class|struct|enum|protocol|func|var|let|case)\s+\w*(Blob|Bundle|Manager|Helper|Util)"#,
            "use the words of DESIGN.md"
        ),
    ])
    func `banned in sources`(_ pattern: String, _ advice: String) throws {
        let expression = try NSRegularExpression(pattern: pattern)
        for file in Self.sources where !file.path.contains("SQLite/") {
            for line in file.lines(matching: expression) {
                Issue.record("\(file.path): \(line): \(advice)")
            }
        }
    }

    // A macro is expanded at each place: ten thousand of them were a third of the time in which the tests are built.
    @Test func `tests use macros only for what functions cannot check`() {
        let macro = /#(?:expect|require)\((?!\s*(?:\w+:|\())[^\n]*(?:\n[^\n]*){0,6}/
        for file in Self.all
        where file.path.hasPrefix("Tests/") && !file.path.hasPrefix("Tests/TidyTests/")
            && (file.holds("#expect(") || file.holds("#require("))
        {
            for match in file.code.joined(separator: "\n").matches(of: macro)
            where !match.output.contains("sourceLocation") {
                Issue.record("\(file.path): \(match.output): see Tests/Expectations")
            }
        }
    }

    // A path that two files build is one that two builds can disagree about.
    @Test func `only the layouts build paths of a store or an origin`() throws {
        let owners = [
            "CASStore/Layout/StoreLayout.swift", "HotPush/Origins/OriginLayout.swift",
        ]
        let libraries = ["CASStore", "VersionTree", "HotPush", "Origin", "ServeFromCAS"]
        let path = try NSRegularExpression(
            pattern:
                #""(objects|staging|quarantine|manifests|versions|leases|e|places|packs|deliveries)/"#
        )
        let lock = try NSRegularExpression(
            pattern:
                #"openLock\([^)\n]*"|"\.(index|writer|lifecycle|server|events|channels|start|pin-|pull-)"#
        )
        for file in Self.sources
        where libraries.contains(where: { file.path.hasPrefix("Sources/\($0)/") })
            && !owners.contains(where: { file.path == "Sources/\($0)" })
        {
            for line in file.lines(matching: path) + file.lines(matching: lock) {
                Issue.record("\(file.path): \(line): paths are built by StoreLayout")
            }
        }
    }

    @Test func `tables of digits have one owner`() throws {
        let table = try NSRegularExpression(
            pattern: #"case 97\.\.\.102|0123456789(abcdef|ABCDEF|\+/)"#)
        for file in Self.sources where !file.path.hasPrefix("Sources/Platform/Text/") {
            for line in file.lines(matching: table) {
                // Which case a name is in says who made it.
                if file.path.hasSuffix("Site/HashedName.swift") { continue }
                Issue.record("\(file.path): \(line): Platform/Text has this table")
            }
        }
    }

    @Test func `every try? has its reason beside it`() {
        for file in Self.sources where file.holds("try?") {
            let lines = file.lines
            for (number, line) in lines.enumerated() where line.contains(/\btry\?/) {
                if line.drop(while: { $0 == " " }).hasPrefix("//") { continue }
                let near = lines[max(0, number - 5)...min(lines.count - 1, number)]
                expect(
                    near.contains { $0.contains("//") },
                    "\(file.path):\(number + 1): say why the error may be dropped")
            }
        }
    }

    /// A test waits in a queue with all others: less would be a test of speed.
    @Test func `a limit of time is an hour, which only what hangs needs`() {
        for file in Self.all
        where file.path.hasPrefix("Tests/") && !file.path.hasPrefix("Tests/Tidy") {
            for line in file.lines where line.contains("timeLimit(") {
                expect(line.contains("timeLimit(.minutes(60))"), "\(file.path): \(line)")
            }
        }
    }

    @Test(arguments: [
        ("README.md", "Snippets/Tour.swift"),
        ("docs/for-plugin-authors.md", "Snippets/Updates.swift"),
        ("docs/for-plugin-authors.md", "Snippets/Managed.swift"),
    ])
    func `a document shows the program that is compiled`(
        _ document: String, _ program: String
    ) throws {
        let text = try String(contentsOf: Self.root.appending(path: document), encoding: .utf8)
        let snippet = try String(contentsOf: Self.root.appending(path: program), encoding: .utf8)
        expect(text.contains("```swift\n" + snippet + "```"))
    }

    @Test func `contrib's proxy lets no address hold more than a quarter of a server's sessions`()
        throws
    {
        func number(after words: String, in path: String) throws -> Int {
            let text = try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
            let rest = text[try require(text.range(of: words)).upperBound...]
            return try require(Int(rest.prefix { $0.isNumber }))
        }
        let all = try number(
            after: "public var sessionCount = ",
            in: "Sources/ServeFromCAS/Bridge/BridgeLimits.swift")
        let one = try number(
            after: "limit_conn castree_app_bridge ", in: "contrib/nginx/app.conf")
        expect(4 * one <= all)
    }

    @Test func `every kind of finding is named in the documents or has a doc comment`() throws {
        let text = try String(
            contentsOf: Self.root.appending(path: "Sources/CASStore/Checking/Finding.swift"),
            encoding: .utf8)
        let lines = text.split(separator: "\n")
        for (number, line) in lines.enumerated()
        where line.hasPrefix("        case ") && !line.contains("(") {
            expect(lines[number - 1].contains("///"), "\(line)")
        }
    }
}
