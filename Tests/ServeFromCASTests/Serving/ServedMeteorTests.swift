import StorageTestSupport

@testable import ServeFromCAS

// The acceptance rows 1 to 26 of cordova-plugin-meteor-webapp, through sockets and a store, and what a
// server can do better than the plugin's (its defects 8, 9, 13, 16 and 18).

@Suite("A Meteor app on the server")
struct ServedMeteorTests {
    /// Puts versions with the publisher's own fields into a store, as a download does.
    private static func register(
        _ files: [SampleSite.File], as version: String, at seconds: Int64, in store: TemporaryStore
    ) throws {
        let (manifest, contents) = try SampleSite.manifest(
            files, version: version, createdAt: seconds)
        let lease = try store.versions.store.makeLease()
        for bytes in contents.values {
            _ = try store.versions.store.put(bytes, protectedBy: lease)
        }
        try expect(store.versions.register(manifest))
        try store.versions.materialize(version)
    }

    private static func app() throws -> TestApp {
        let store = try TemporaryStore()
        try register(MeteorApp.files, as: "1.0", at: 784_111_777, in: store)
        try register(MeteorApp.shell, as: "shell", at: 784_111_777, in: store)
        try store.versions.activate("1.0")
        // Rows 7 and 8 are about files that exist: below the version's own directory, and below Cordova's
        // www, where the app lies under application/.
        for name in ["1.0", "shell"] {
            for path in ["not-in-manifest", "application/not-in-manifest"] {
                try plant(path, in: "\(store.path)/versions/\(name)")
            }
        }
        return try TestApp(store) {
            $0.site = .meteor
            $0.shell = "shell"
        }
    }

    private static let planted = "a file that no manifest names"

    /// Puts a file into a version's tree, whose directories are read-only.
    private static func plant(_ path: String, in tree: String) throws {
        try Damage.setMode(tree, 0o755)
        let parts = path.split(separator: "/")
        let directory = ([tree[...]] + parts.dropLast()).joined(separator: "/")
        try Damage.makeDirectory(directory)
        try Damage.setMode(directory, 0o755)
        try Data(planted.utf8).write(to: URL(filePath: "\(tree)/\(path)"))
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let number: Int
        let testDescription: String
        let target: String
        let status: Int
        let field: (name: String, value: String)?
        let isExact: Bool
        let body: String

        init(
            _ number: Int, _ title: String, _ target: String, status: Int = 200,
            field: (name: String, value: String)? = nil, isExact: Bool = false, body: String = ""
        ) {
            (self.number, testDescription) = (number, "row \(number): \(title)")
            (self.target, self.status, self.field) = (target, status, field)
            (self.isExact, self.body) = (isExact, body)
        }
    }

    static let index = (name: "Content-Type", value: "text/html")
    static let title = "<title>mobileapp</title>"

    private static let typeRows = [
        (16, "/packages/meteor.js", "text/javascript"), (17, "/app/mobileapp.css", "text/css"),
        (18, "/some-page.html", "text/html"), (19, "/some-script.js", "text/javascript"),
        (20, "/some-style.css", "text/css"), (21, "/some-json.json", "application/json"),
        (22, "/some-text.txt", "text/plain"), (23, "/some-image.png", "image/png"),
        (24, "/some-photo.jpg", "image/jpeg"), (25, "/some-movie.mp4", "video/mp4"),
        (26, "/some-file", "application/octet-stream"),
    ]

    static let rows =
        [
            Row(1, "the page's object is defined", "/_castree/bridge.js", body: "window.castree={"),
            Row(2, "/ is index.html", "/", field: index, body: title),
            Row(3, "a file by the URL of the manifest", "/some-file", body: "some-file"),
            Row(
                4, "a file of Cordova's www", "/cordova_plugins.js",
                body: "cordova.define('cordova/plugin_list'"),
            Row(5, "a URL of nothing is the index", "/anything", field: index, body: title),
            Row(
                6, "a file through /application is the index", "/application/packages/meteor.js",
                field: index, body: title),
            Row(
                7, "what is not in the manifest is the index", "/not-in-manifest", field: index,
                body: title),
            Row(
                8, "the same through /application", "/application/not-in-manifest", field: index,
                body: title),
            Row(9, "no index for the favicon", "/favicon.ico", status: 404),
            Row(
                10, "the ETag is the hash", "/packages/meteor.js",
                field: ("ETag", "\"\(MeteorApp.label)\""), isExact: true),
            Row(
                11, "a year with a cache buster", "/packages/meteor.js?\(MeteorApp.buster)",
                field: ("Cache-Control", "max-age=31536000")),
            Row(
                12, "no-cache without", "/packages/meteor.js", field: ("Cache-Control", "no-cache")),
            Row(
                13, "ranges are possible", "/packages/meteor.js", field: ("Accept-Ranges", "bytes"),
                isExact: true),
            Row(
                14, "the source map is named", "/app/template.mobileapp.js",
                field: ("X-SourceMap", MeteorApp.map)),
            Row(
                15, "the source map is served for a year", MeteorApp.map,
                field: ("Cache-Control", "max-age=31536000"), body: "sources"),
            Row(
                15, "the source map is JSON", MeteorApp.map,
                field: ("Content-Type", "application/json"), isExact: true),
            Row(2, "by its name", "/index.html", field: index, body: title),
            Row(
                6, "a file of the shell through /application", "/application/secret", field: index,
                body: title),
            Row(9, "nor for local files", "/local-filesystem/etc/passwd", status: 404),
        ]
        + ["/packages/meteor.js?", "/some-file?\(MeteorApp.buster)", "/?\(MeteorApp.buster)"].map {
            Row(12, "no-cache for \($0)", $0, field: ("Cache-Control", "no-cache"))
        }
        + typeRows.map { number, target, type in
            Row(
                number, "the type of \(target)", target, field: ("Content-Type", type),
                isExact: true)
        }

    @Test(arguments: rows)
    func `passes the plugin's acceptance tests`(_ row: Row) throws {
        let browser = try Self.app().browser()
        let answer = try browser.ask("GET", row.target)
        expect(answer.status, equals: row.status)
        if let field = row.field {
            let value = answer.value(field.name) ?? ""
            expect(row.isExact ? value == field.value : value.contains(field.value))
        }
        expect(row.body.isEmpty || answer.text.contains(row.body))
        expect(!answer.text.contains(Self.planted))
    }

    @Test(arguments: [
        "meteor_dont_serve_index=true", "meteor_js_resource=true", "a=1&meteor_css_resource",
        "meteor_dont_serve_index",
    ])
    func `gets 404 instead of the index when its query says so`(_ query: String) throws {
        let browser = try Self.app().browser()
        for (target, status) in [
            ("/missing.js?\(query)", 404), ("/packages/meteor.js?\(query)", 200),
            ("/missing.js?xmeteor_js_resource", 200),
        ] {
            try expect(browser.ask("GET", target).status, equals: status, "\(target)")
        }
    }

    // What a server that looks at the disk would have for rows 7 and 8.
    @Test
    func `has the files of rows 7 and 8 on the disk, in the places that their URLs mean`() throws {
        let app = try Self.app()
        for place in ["1.0", "shell/application"] {
            let file = "\(app.store.path)/versions/\(place)/not-in-manifest"
            try expect(Damage.contents(file), equals: Array(Self.planted.utf8))
        }
    }

    @Test func `are 26 rows`() {
        expect(Set(Self.rows.map(\.number)), equals: Set(1...26))
    }

    @Test
    func `better 8: has nothing of an older version, nor of the shell under /application`() throws {
        let app = try Self.app()
        let browser = try app.visitor()
        try expect(browser.load("/some-text.txt").text, equals: "text")
        try Self.register(
            MeteorApp.files.filter { !$0.path.hasSuffix("some-text.txt") }, as: "2.0",
            at: 784_200_000, in: app.store)
        try app.store.reopened().activate("2.0")
        try browser.navigate()
        try expect(browser.load("/some-text.txt").text.contains(Self.title))
        let strict = try browser.load("/some-text.txt?meteor_dont_serve_index=true")
        expect(strict.status, equals: 404)
        expect(!strict.text.contains("text\n"))
        try expect(browser.load("/application/secret").text.contains(Self.title))
    }

    @Test
    func `better 9: after a rollback has the older bytes, whatever date the browser has`() throws {
        let app = try Self.app()
        var newer = MeteorApp.files.filter { $0.path != "index.html" }
        newer.append(.init("index.html", "<title>version 2</title>"))
        try Self.register(newer, as: "2.0", at: 784_200_000, in: app.store)
        let other = try app.store.reopened()
        try other.activate("2.0")
        let browser = try app.browser()
        let second = try browser.navigate()
        expect(second.text.contains("version 2"))
        let tag = try require(second.value("ETag"))
        expect(second.value("Last-Modified") == nil)
        let date = "Fri, 06 Nov 1994 08:49:37 GMT"
        expect(tag.hasPrefix("\"") && tag.hasSuffix("\""))
        try other.activate("1.0")
        for fields in [
            [("If-Modified-Since", date)], [("If-None-Match", tag)],
            [("If-None-Match", tag), ("If-Modified-Since", date)],
            [("If-Modified-Since", "Tue, 01 Jan 2999 00:00:00 GMT")],
        ] {
            let answer = try browser.ask("GET", "/", navigation + fields)
            expect(answer.status, equals: 200)
            expect(answer.text.contains(Self.title))
        }
        // And the tag wins over a date that says otherwise.
        let first = try browser.navigate()
        let own = try require(first.value("ETag"))
        let same = try browser.ask(
            "GET", "/",
            navigation + [
                ("If-None-Match", own), ("If-Modified-Since", "Sat, 01 Jan 2000 00:00:00 GMT"),
            ])
        expect(same.status, equals: 304)
        expect(same.value("ETag") == own && same.value("Cache-Control") == "no-cache")
    }

    @Test("better 13: answers ranges that cannot be with 416, and knows If-Range, HEAD and lists")
    func ranges() throws {
        let browser = try Self.app().browser()
        let path = "/packages/meteor.js"
        let tag = "\"\(MeteorApp.label)\""
        func ask(_ method: String = "GET", _ fields: (String, String)...) throws -> TestResponse {
            try browser.ask(method, path, fields)
        }
        let beyond = try ask("GET", ("Range", "bytes=6-"))
        expect(beyond.status == 416 && beyond.value("Content-Range") == "bytes */6")
        let part = try ask("GET", ("Range", "bytes=1-2"))
        expect(part.status == 206 && part.text == "et")
        expect(part.value("Content-Range"), equals: "bytes 1-2/6")
        try expect(ask("GET", ("Range", "bytes=-3")).text, equals: "eor")
        let same = try ask("GET", ("Range", "bytes=1-2"), ("If-Range", tag))
        expect(same.status == 206 && same.text == "et")
        let other = try ask("GET", ("Range", "bytes=1-2"), ("If-Range", "\"other\""))
        expect(other.status == 200 && other.text == "meteor")
        let several = try ask("GET", ("Range", "bytes=0-0,-1"))
        expect(several.status, equals: 206)
        expect(several.value("Content-Type")?.hasPrefix("multipart/byteranges"), equals: true)
        let head = try ask("HEAD")
        expect(head.status == 200 && head.value("Content-Length") == "6" && head.body.isEmpty)
        try expect(ask("GET", ("If-None-Match", "\"x\", W/\(tag)")).status, equals: 304)
        try expect(ask("GET", ("If-None-Match", "*")).status, equals: 304)
    }

    @Test func `better 16: answers a thousand requests over one connection`() throws {
        let app = try Self.app()
        let browser = try app.browser()
        for number in 0..<1000 {
            let row = Self.rows[number % Self.rows.count]
            try expect(browser.ask("GET", row.target).status, equals: row.status)
        }
        // And pipelined, in order.
        let targets = ["/some-file", "/packages/meteor.js", "/some-text.txt"]
        for target in targets { browser.send("GET", target) }
        let texts = targets.map { _ in browser.client.response()?.text }
        expect(texts, equals: ["some-file", "meteor", "text"])
    }

    @Test(
        "better 18: has no HTML where a script is missing, unless Meteor's behaviour is asked for")
    func missingScript() throws {
        let store = try TemporaryStore.app()
        let app = try TestApp(store)
        let browser = try app.visitor()
        let script = "/0123456789abcdef0123456789abcdef01234567.js"
        for target in [script, "/missing.js", "/missing.css", "/img/missing.png"] {
            try expect(browser.load(target).status, equals: 404)
            // Only where the browser does not say that it loads a document, the name decides.
            try expect(browser.ask("GET", target, [("Accept", "text/html")]).status, equals: 404)
            try expect(browser.navigate(target).text.contains("one"))
        }
        try expect(browser.load("/some/route").status, equals: 404)
        try expect(browser.navigate("/some/route").text.contains("one"))
        let meteor = try TestApp(store) { $0.site = .meteor }
        try expect(meteor.browser().load(script).text.contains("<title>one</title>"))
    }

    @Test func `says so when its shell is not there`() throws {
        let store = try TemporaryStore.app()
        expectRefusal(.noVersion) { try TestApp(store) { $0.shell = "www" } }
    }

    @Test func `keeps its shell from being retired`() throws {
        let app = try Self.app()
        app.look(after: .seconds(3600))
        #expect(throws: StoreError.self) { try app.store.reopened().retire("shell") }
    }

    @Test func `a server that has stopped holds no version, not even its shell`() async throws {
        let app = try Self.app()
        try expect(app.store.versions.pinnedVersions(), equals: ["1.0", "shell"])
        await app.stop()
        try expect(app.store.versions.pinnedVersions().isEmpty)
        try withExtendedLifetime(app) {
            try app.store.versions.unprotect("shell")
            try app.store.versions.retire("shell")
        }
    }
}
