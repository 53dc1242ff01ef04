import HotPush
import Platform
import StorageTestSupport

@testable import ClientSystems

@Suite("The clients of cordova-hot-code-push") struct ChcpTests {
    static func configuration() throws -> ClientConfiguration {
        ClientConfiguration(
            .chcp, baseURL: "https://h",
            deployments: ["production": try ChannelName("stable")])
    }

    private func get(_ path: String, _ origin: ModelOrigin, _ method: String = "GET") throws
        -> ClientAnswer?
    {
        try Chcp.answer(ClientRequest(method, path), Self.configuration(), origin)
    }

    private func text(_ path: String, _ origin: ModelOrigin) throws -> String {
        let answer = try require(try get(path, origin))
        expect(answer.status, equals: 200, "\(path)")
        return String(decoding: try origin.bytes(of: answer), as: UTF8.self)
    }

    private func publish(
        _ version: PublishedVersion, _ origin: inout ModelOrigin,
        _ requirements: [Requirement] = [],
        isMandatory: Bool = false
    ) throws {
        try origin.publish(
            .version(version), now: 1, for: Chcp.self, Self.configuration(),
            requirements: requirements, isMandatory: isMandatory)
    }

    @Test func `get the release and its files, byte for byte as the plugin reads them`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("2.0", ["index.html": "hello", "js/a b.js": "b", "empty": ""])
        try publish(version, &origin)
        let base = "/for/chcp/production/www/\(version.content)"
        try expect(
            text("/for/chcp/production/chcp.json", origin),
            equals:
                #"{"content_url":"https://h\#(base)","release":"2.0","min_native_interface":1,"update":"start"}"#
        )
        try expect(
            text("\(base)/chcp.manifest", origin),
            equals: #"[{"file":"empty","hash":"d41d8cd98f00b204e9800998ecf8427e"},"#
                + #"{"file":"index.html","hash":"5d41402abc4b2a76b9719d911017c592"},"#
                + #"{"file":"js/a b.js","hash":"92eb5ffee6ae2fec3ad71c777531578f"}]"#)
        try expect(text("\(base)/index.html", origin), equals: "hello")
        try expect(
            text("\(base)/js/a%20b.js", origin) == "b" && text("\(base)/empty", origin).isEmpty)
        try expect(
            get("\(base)/js/a%20b.js", origin)?.field("content-type"),
            equals: "text/javascript; charset=utf-8")
        let answer = try require(try get("/for/chcp/production/chcp.json", origin))
        expect(answer.field("cache-control"), equals: "no-cache")
        expect(answer.field("content-type"), equals: "application/json")
    }

    /// On Android they pass each URL through `java.net.URI`, which escapes every % of its path.
    @Test func `are given no URL that they would escape once more`() throws {
        for (name, base, isTaken) in [
            ("production", "https://h", true), ("a-b_c.d~1", "https://h/x", true),
            ("a b", "https://h", false), ("ü", "https://h", false), ("a%20b", "https://h", false),
            ("a/b", "https://h", false),
            ("", "https://h", false), ("..", "https://h", false),
            ("production", "https://h/a%20b", false),
        ] {
            let configuration = ClientConfiguration(
                .chcp, baseURL: base, deployments: [name: try ChannelName("stable")])
            expect((configuration.problem == nil), equals: isTaken, "\(name) \(base)")
            let other = ClientConfiguration(
                .meteor, baseURL: base, deployments: [name: try ChannelName("stable")])
            // Meteor's find what is one part of a path.
            expect((other.problem == nil), equals: !(name.isEmpty || name.contains("/")))
        }
    }

    @Test("find every file of the manifest under its name, also beyond ASCII as they send it")
    func names() throws {
        var origin = ModelOrigin()
        let names = [
            "ü/日本.txt", "a+b.txt", "100%.txt", "%41.txt", "a&b=c;d.txt", "[x].txt", "a'b\"c.txt",
            "~.txt",
        ]
        let version = try origin.add(
            "1", Dictionary(names.map { ($0, $0) }, uniquingKeysWith: { $1 }))
        try publish(version, &origin)
        let base = "/for/chcp/production/www/\(version.content)/"
        let listed =
            try JSONValue.parse(Array(text(base + "chcp.manifest", origin).utf8)).asArray ?? []
        expect(listed.count, equals: names.count)
        for entry in listed {
            let name = try require(entry["file"]?.asString)
            let digest = try Digester.digest(.md5, of: Array(name.utf8))
            expect(entry["hash"]?.asString, equals: Hex.string(digest))
            // As a URL has it, and as the plugin on Android does: blanks and % escaped, letters not.
            let raw = name.split(separator: "%", omittingEmptySubsequences: false).joined(
                separator: "%25")
            try expect(text(base + PercentEncoding.name(name), origin), equals: name)
            try expect(text(base + raw, origin), equals: name)
        }
    }

    @Test(
        "end what they began when another release is published, and get nothing that was never offered"
    )
    func switching() throws {
        var origin = ModelOrigin()
        let (first, second) = (
            try origin.add("1", ["index.html": "one", "old.js": "x"]),
            try origin.add("2", ["index.html": "two"])
        )
        let unpublished = try origin.add("3", ["index.html": "three"])
        try publish(first, &origin)
        try publish(
            second, &origin, [.init(kind: "minimumNativeInterface", value: "5")], isMandatory: true)
        func base(_ version: PublishedVersion) -> String {
            "/for/chcp/production/www/\(version.content)"
        }
        try expect(text(base(first) + "/old.js", origin), equals: "x")
        try expect(text(base(second) + "/index.html", origin), equals: "two")
        try expect(
            text("/for/chcp/production/chcp.json", origin).hasSuffix(
                #""release":"2","min_native_interface":5,"update":"now"}"#))
        try expect(get(base(unpublished) + "/index.html", origin)?.status, equals: 404)
        try expect(get(base(second) + "/old.js", origin)?.status, equals: 404)
        origin.withdraw(.version(second))
        try expect(text("/for/chcp/production/chcp.json", origin).contains("\"release\":\"1\""))
        try expect(text(base(second) + "/index.html", origin), equals: "two")
        origin.lose(second.content)
        try expect(get(base(second) + "/index.html", origin)?.status, equals: 404)
        origin.withdraw(.version(first))
        try expect(get("/for/chcp/production/chcp.json", origin)?.status, equals: 404)
    }

    @Test func `get 404 for whatever else a stranger asks`() throws {
        var origin = ModelOrigin()
        let version = try origin.add("1", ["index.html": "x", "a/b": "y", "chcp.json": "z"])
        try publish(version, &origin)
        let base = "/for/chcp/production/www/\(version.content)"
        for path in [
            "/for/chcp/", "/for/chcp/production", "/for/chcp/production/",
            "/for/chcp/other/chcp.json",
            "/for/chcp/production/chcp.manifest", "/for/chcp/production/www/",
            "/for/chcp/stable/chcp.json",
            "\(base)", "\(base)/", "\(base)/a", "\(base)/a/", "\(base)/a%2Fb", "\(base)/a//b",
            "\(base)/./a/b",
            "\(base)/../chcp.json", "\(base)/%2e%2e/chcp.json", "\(base)/a%00", "\(base)/%",
            "\(base)/%ff",
            "\(base)/chcp.json", "\(base)/a%5Cb",
            "\(base)/" + String(repeating: "a/", count: 32_768),
            "/for/chcp/production/www/\(version.content.description.uppercased())/index.html",
        ] {
            try expect(get(path, origin)?.status, equals: 404, "\(path.prefix(150))")
        }
        try expect(get("/for/chcp/production/chcp.json", origin, "POST")?.status, equals: 405)
        try expect(get("/for/chcp/production/chcp.json", origin, "HEAD")?.status, equals: 200)
        try expect(get("/for/chc/production/chcp.json", origin) == nil)
    }

    @Test func `cannot be told everything: what, is said before`() throws {
        func objections(
            _ files: [String: String]?, _ requirements: [Requirement] = [], perMille: Int? = nil
        ) throws -> [ClientObjection] {
            try Chcp.objections(files, requirements, perMille: perMille, for: Self.configuration())
        }
        let page = ["index.html": "x"]
        let range = Requirement(kind: "appVersionRange", value: "^1")
        expectObjections([
            (try objections(page), nil, ""), (try objections(page, perMille: 1000), nil, ""),
            (try objections(page, [.init(kind: "minimumNativeInterface", value: "2")]), nil, ""),
            (try objections(page, perMille: 500), true, "--rollout"),
            (try objections(page, [range]), true, "minimumNativeInterface alone"),
            (try objections(nil), true, "go back"),
            (try objections(["a?b": "x"]), true, "a?b"),
            (try objections(["a#b": "x"]), true, "a#b"),
            (try objections(["ü": "x"]), false, "ü"),
            (try objections(["chcp.manifest": "x"]), false, "left out"),
        ])
    }
}
