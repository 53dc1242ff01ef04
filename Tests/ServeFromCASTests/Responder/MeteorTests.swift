import Expectations
import ServeFromCAS
import StrictJSON

// The acceptance rows 1 to 26 of cordova-plugin-meteor-webapp that are about HTTP.

@Suite("A Meteor app")
struct MeteorTests {
    static let label = "57d11a30155349aa5106f8150cee35eac5f4764c"
    static let buster = "9418708e9519b747d9d631d85ea85b90c0b5c70c"
    static let map = "/app/979b20f66caf04bfd3ef0f8a4ad4f7d83fd3b3b0.map"

    /// The app of the plugin's tests.
    static let files: [SampleSite.File] = {
        let types = [
            ("some-page.html", "html"), ("some-script.js", "js"), ("some-style.css", "css"),
            ("some-json.json", "json"), ("some-text.txt", "text"), ("some-image.png", "png"),
            ("some-photo.jpg", "jpg"), ("some-movie.mp4", "mp4"), ("some-file", "some-file"),
        ]
        return
            types.map {
                .init(
                    "app/" + $0.0, $0.1, routes: ["/" + $0.0],
                    foreign: [("cacheable", .bool(false))])
            } + [
                .init("index.html", "<title>mobileapp</title>"),
                .init(
                    "packages/meteor.js", "meteor", routes: ["/packages/meteor.js?\(label)"],
                    foreign: [("hash", .string(label)), ("cacheable", .bool(true))]),
                .init(
                    "app/template.mobileapp.js", "template",
                    routes: ["/app/template.mobileapp.js?\(buster)"],
                    foreign: [
                        ("hash", .string(buster)), ("cacheable", .bool(true)),
                        ("sourceMapUrl", .string(map)),
                    ]),
                .init(
                    "app/template.mobileapp.js.map", "{\"sources\":[]}", routes: [map],
                    foreign: [("cacheable", .bool(true))]),
                .init("app/mobileapp.css", "css", foreign: [("cacheable", .bool(true))]),
            ]
    }()

    /// What Cordova brings along.
    static let shell: [SampleSite.File] = [
        .init("cordova_plugins.js", "cordova.define('cordova/plugin_list'"),
        .init("application/secret", "never"),
    ]

    static func sample() throws -> SampleSite {
        try SampleSite(files, options: .meteor, shell: shell)
    }

    static let indexRows: [(row: Int, target: String)] = [
        (2, "/"), (5, "/anything"), (6, "/application/packages/meteor.js"), (7, "/not-in-manifest"),
        (8, "/application/not-in-manifest"), (6, "/application/secret"), (2, "/index.html"),
    ]

    @Test(arguments: indexRows)
    func `rows 2 and 5 to 8: gets the index`(_ row: (row: Int, target: String)) throws {
        let answer = try Self.sample().send("GET", row.target)
        expect(answer.status, equals: 200)
        expect(answer["Content-Type"]?.contains("text/html"), equals: true)
        expect(answer.text.contains("<title>mobileapp</title>"))
    }

    @Test func `row 3: gets a file by the URL of the manifest`() throws {
        let answer = try Self.sample().send("GET", "/some-file")
        expect(answer.status, equals: 200)
        expect(answer.text.contains("some-file"))
    }

    @Test func `row 4: gets what Cordova brings along`() throws {
        let answer = try Self.sample().send("GET", "/cordova_plugins.js")
        expect(answer.status, equals: 200)
        expect(answer.text.contains("cordova.define('cordova/plugin_list'"))
    }

    @Test func `row 9: gets no index for /favicon.ico, nor for local files`() throws {
        try expect(Self.sample().send("GET", "/favicon.ico").status, equals: 404)
        try expect(Self.sample().send("GET", "/local-filesystem/etc/passwd").status, equals: 404)
    }

    @Test func `row 10: gets the label as a strong entity tag, in quotes`() throws {
        let answer = try Self.sample().send("GET", "/packages/meteor.js")
        expect(answer["ETag"], equals: "\"\(Self.label)\"")
    }

    @Test func `rows 11 and 12: keeps for a year what has a query, and nothing else`() throws {
        let sample = try Self.sample()
        func control(_ target: String) throws -> String {
            try sample.send("GET", target)["Cache-Control"] ?? ""
        }
        try expect(control("/packages/meteor.js?\(Self.buster)").contains("max-age=31536000"))
        try expect(control("/packages/meteor.js").contains("no-cache"))
        try expect(control("/packages/meteor.js?").contains("no-cache"))
        try expect(control("/some-file?\(Self.buster)").contains("no-cache"))
        try expect(control("/?\(Self.buster)").contains("no-cache"))
    }

    @Test func `row 13: says that ranges are possible`() throws {
        try expect(
            Self.sample().send("GET", "/packages/meteor.js")["Accept-Ranges"], equals: "bytes")
    }

    @Test func `rows 14 and 15: names the source map and serves it for a year`() throws {
        let sample = try Self.sample()
        let script = try sample.send("GET", "/app/template.mobileapp.js")
        expect(script["X-SourceMap"]?.contains(Self.map), equals: true)
        let map = try sample.send("GET", Self.map)
        expect(map.status, equals: 200)
        expect(map["Cache-Control"]?.contains("max-age=31536000"), equals: true)
        expect(map["Content-Type"], equals: "application/json")
        expect(map.text.contains("sources"))
    }

    static let typeRows: [(row: Int, target: String, type: String)] = [
        (16, "/packages/meteor.js", "text/javascript"), (17, "/app/mobileapp.css", "text/css"),
        (18, "/some-page.html", "text/html"), (19, "/some-script.js", "text/javascript"),
        (20, "/some-style.css", "text/css"), (21, "/some-json.json", "application/json"),
        (22, "/some-text.txt", "text/plain"), (23, "/some-image.png", "image/png"),
        (24, "/some-photo.jpg", "image/jpeg"), (25, "/some-movie.mp4", "video/mp4"),
        (26, "/some-file", "application/octet-stream"),
    ]

    @Test("rows 16 to 26: gets the type of the file's name", arguments: typeRows)
    func type(_ row: (row: Int, target: String, type: String)) throws {
        try expect(Self.sample().send("GET", row.target)["Content-Type"], equals: row.type)
    }

    @Test(arguments: [
        "meteor_dont_serve_index=true", "meteor_js_resource=true", "a=1&meteor_css_resource",
        "meteor_dont_serve_index",
    ])
    func `gets 404 instead of the index when its query says so`(_ query: String) throws {
        let sample = try Self.sample()
        try expect(sample.send("GET", "/missing.js?\(query)").status, equals: 404)
        try expect(sample.send("GET", "/packages/meteor.js?\(query)").status, equals: 200)
        try expect(sample.send("GET", "/missing.js?xmeteor_js_resource").status, equals: 200)
    }

    // Better behaviours 8 (removed files), 9 (rollback), 13 (ranges, lists), 18 (no HTML for a script)
    // are in FallbackTests, ConditionalRequestTests and RangeTests; here with Meteor's own switches.
    @Test func `better 13: answers lists, HEAD and ranges that cannot be`() throws {
        let sample = try Self.sample()
        let tag = "\"\(Self.label)\""
        let path = "/packages/meteor.js"
        try expect(
            sample.send("GET", path, [("If-None-Match", "\"x\", W/\(tag)")]).status, equals: 304)
        try expect(
            sample.send("GET", path, [("Range", "bytes=6-")])["Content-Range"], equals: "bytes */6")
        try expect(sample.send("HEAD", path)["Content-Length"], equals: "6")
        let part = try sample.send("GET", path, [("Range", "bytes=1-2"), ("If-Range", tag)])
        expect(part.text, equals: "et")
    }
}
