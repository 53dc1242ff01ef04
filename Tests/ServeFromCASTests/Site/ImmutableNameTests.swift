import WebTestSupport

@testable import ServeFromCAS

/// docs/serving.md, "Which file a path gets": what may be kept for a year.
@Suite("A name that makes its URL immutable") struct ImmutableNameTests {
    static let text = "let a = 1"
    /// What stands for each digest's beginning in a name.
    static let digests: [DigestAlgorithm] = [.sha256, .sha1, .md5]

    static func digest(_ algorithm: DigestAlgorithm) throws -> [UInt8] {
        try Digester.digest(algorithm, of: Array(text.utf8))
    }

    /// The site of one file, whose digests can be had.
    private func site(_ path: String, _ text: String = text) throws -> Site {
        let (manifest, _) = try SampleSite.manifest(
            [.init(path, text)], version: "v1", createdAt: 1)
        return Site(manifest) { _, _ in
            Self.digests.dropFirst().compactMap { algorithm in
                Label(
                    algorithm, bytes: (try? Digester.digest(algorithm, of: Array(text.utf8))) ?? [])
            }
        }
    }

    private func isImmutable(_ site: Site, _ path: String) throws -> Bool {
        let request = try RequestHead(method: "GET", target: "/" + path)
        let response = Responder.respond(to: request, site: site)
        return response.head.values("Cache-Control") == ["public, max-age=31536000, immutable"]
    }

    @Test(
        "has eight digits or more of its content's digest, whole between other characters",
        arguments: digests)
    func named(_ algorithm: DigestAlgorithm) throws {
        let digest = try Self.digest(algorithm)
        let spellings = [
            Hex.string(digest), Hex.string(digest).uppercased(), Base64.urlString(digest),
        ]
        for spelling in spellings {
            for count in [8, 12, spelling.utf8.count] {
                let part = String(spelling.prefix(count))
                for path in [
                    "app.\(part).js", "\(part).png", "a/index-\(part).css", "\(part)/app.js",
                    "x_\(part).min.js",
                ] {
                    try expect(isImmutable(site(path), path), "\(path)")
                    // The same name over other bytes is a lie.
                    try expect(!isImmutable(site(path, "let a = 2"), path), "\(path)")
                }
            }
            for path in [
                "app.\(spelling.prefix(7)).js", "app.z\(spelling.prefix(12)).js",
                "app.\(spelling.dropFirst().prefix(12)).js", "page.\(spelling).html",
            ] {
                try expect(!isImmutable(site(path), path), "\(path)")
            }
        }
    }

    @Test(
        "is not what only looks so",
        arguments: [
            "data/feed2024.json", "data/face2face.js", "data/cafe2025.json", "img/decade1980.png",
            "data/e2e4e7e5.json", "cfg/001a2b3c4d5e.json", "data/507f1f77bcf86cd799439011.json",
            "t/0123456789abcdef0123456789abcdef/current.json", "index-DzX3k2a9.js",
            "chunk-ABCD2345.js",
            "app.3f2a9c1b.js", "report-20240115.pdf", "550e8400-e29b-41d4-a716-446655440000.png",
        ])
    func looks(_ path: String) throws { try expect(!isImmutable(site(path), path)) }

    /// What other versions have at a path, and what that makes of it.
    @Test(
        "is not where another version has other bytes there, nor a bundler's until a later version is missing it"
    )
    func beside() throws {
        var options = SiteOptions()
        options.immutablePrefixes = ["/keep/"]
        let digits = Hex.string(try Self.digest(.sha256)).prefix(8)
        let paths = ["app.\(digits).js", "keep/a.txt", "js/app.3f2a9c1b.js", "data/feed2024.json"]
        func manifest(_ version: String, _ ordinal: Int64, _ files: [SampleSite.File]) throws
            -> VersionTree.Manifest
        {
            try SampleSite.manifest(files, version: version, ordinal: ordinal, createdAt: 1).0
        }
        let own = Site(try manifest("v1", 5, paths.map { .init($0, Self.text) }), options: options)
        let same = try manifest("same", 6, paths.map { .init($0, Self.text) })
        let other = try manifest("other", 7, paths.map { .init($0, "other") })
        let lacking = try manifest("lacking", 8, [.init("index.html", "x")])
        let before = try manifest("before", 4, [.init("index.html", "x")])
        let routed = try manifest(
            "routed", 9, [.init("x.js", "other", routes: paths.map { "/\($0)?hash=1" })])
        for (others, wanted) in [
            ([], [true, true, false, false]), ([same], [true, true, false, false]),
            ([before], [true, true, false, false]), ([same, before], [true, true, false, false]),
            ([lacking], [true, true, true, false]), ([same, lacking], [true, true, true, false]),
            ([other], [false, false, false, false]),
            ([lacking, other], [false, false, false, false]),
            ([lacking, routed], [false, false, false, false]),
        ] {
            let site = own.beside(others) ?? own
            try expect(paths.map { try isImmutable(site, $0) }, equals: wanted)
            // And back again, when those versions have gone.
            let back = site.beside([]) ?? site
            try expect(paths.map { try isImmutable(back, $0) }, equals: [true, true, false, false])
        }
    }

    /// Names that look hashed; only the last may be a bundler's.
    static let lookalikes: [String] = [
        "lib-face2face.js", "i18n.feed2024.js", "app.cafe2025.css", "v1-2-3-4.decade80.js",
        "app.3f2a9c1b.js",
    ]

    @Test(
        "is not kept by a browser into the version that has other bytes there, whichever versions had none",
        arguments: lookalikes, [[], [1], [1, 2], [2], [3], [1, 3]])
    func reused(_ name: String, _ lacking: [Int]) throws {
        // Version 4 will bring the name with other bytes. Each before it is asked while it is the newest.
        var known: [VersionTree.Manifest] = []
        for number in 1...3 {
            var files = [SampleSite.File("index.html", "\(number)")]
            if !lacking.contains(number) { files.append(.init(name, Self.text)) }
            let manifest = try SampleSite.manifest(
                files, version: "v\(number)", ordinal: Int64(number), createdAt: 1
            ).0
            let site = Site(manifest)
            let shown = site.beside(known) ?? site
            if !lacking.contains(number) { try expect(!isImmutable(shown, name)) }
            known.append(manifest)
        }
    }

    @Test(arguments: lookalikes.dropLast())
    func `is no word and number, even where a later version has none`(_ name: String) throws {
        let own = try SampleSite.manifest([.init(name, Self.text)], version: "v1", createdAt: 1).0
        let lacking = try SampleSite.manifest(
            [.init("index.html", "x")], version: "v2", ordinal: 2, createdAt: 1
        ).0
        expect(Site(own).beside([lacking]) == nil)
    }

    @Test("loses that as soon as a version with other bytes has come, also while it is served")
    func served() throws {
        let store = try TemporaryStore()
        let digits = Hex.string(try Self.digest(.md5)).prefix(10)
        let name = "app-\(digits).js"
        try store.add("1", ["index.html": "<title>1</title>", name: Self.text])
        try store.versions.activate("1")
        let app = try TestApp(store)
        let browser = try app.visitor()
        let first = try browser.load("/" + name)
        expect(first.value("Cache-Control"), equals: "public, max-age=31536000, immutable")
        try store.add("2", ["index.html": "<title>2</title>", name: "patched by hand"])
        app.look(after: .seconds(1))
        try expect(browser.load("/" + name).value("Cache-Control"), equals: "no-cache")
        try store.versions.activate("2")
        try browser.navigate()
        let second = try browser.load("/" + name)
        expect(second.text == "patched by hand" && second.value("Cache-Control") == "no-cache")
    }
}
