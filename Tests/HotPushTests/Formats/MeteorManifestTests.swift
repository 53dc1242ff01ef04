import HotPush
import StorageTestSupport

@Suite("A manifest of Meteor's") struct MeteorManifestTests {
    func read(_ bytes: [UInt8], _ context: ReleaseContext = ReleaseContext()) throws -> Release {
        try MeteorFormat().read(bytes, context)
    }

    func file(_ release: Release, _ path: String) throws -> ReleaseFile {
        try require(release.files.first { $0.path.description == path })
    }

    @Test func `of Meteor 1.4 gives each client file once, the maps, and the index page`() throws {
        let bytes = MeteorFixture(2).bytes
        let release = try read(bytes)
        expect(release.family, equals: "meteor/1")
        expect(release.version.description, equals: "version2")
        expect(release.received, equals: bytes)
        expect(release.trust, equals: .length)
        expect(release.order == nil)
        expect(release.files.count, equals: 15 + 4 + 1)
        expect(!release.files.contains { $0.path.description == "head.html" })

        let script = try file(release, "app/template.mobileapp.js")
        let hash = "3f6275657e6db3a21acb37d0f6c207cf83871e90"
        expect(script.byteCount, equals: 584)
        expect(script.checks, equals: [.meteorLabel(hash), .entityTag(hash)])
        expect(
            script.source,
            equals: "__cordova/app/template.mobileapp.js?meteor_dont_serve_index=true")
        expect(script.routes, equals: [], "its URL is its path")
        expect(script.isLaunchFile && !script.isOptional && !script.needsInspection)

        let map = try file(release, "app/template.mobileapp.js.map")
        expect(map.source, equals: "__cordova/app/\(hash).map?meteor_dont_serve_index=true")
        expect(map.routes, equals: ["/app/\(hash).map"])
        expect(map.isOptional && map.checks.isEmpty && map.byteCount == nil)

        let asset = try file(release, "app/some-file")
        expect(asset.source, equals: "__cordova/some-file?meteor_dont_serve_index=true")
        expect(asset.routes, equals: ["/some-file"])
        expect(!asset.isLaunchFile)
    }

    @Test func `always has the index page, first, fetched from the folder itself`() throws {
        let release = try read(MeteorFixture.manifest(""))
        let page = try require(release.files.first)
        expect(release.files.count, equals: 1)
        expect(page.path.description, equals: "index.html")
        expect(page.source, equals: "__cordova/")
        expect(page.routes, equals: ["/"])
        expect(page.isLaunchFile && page.needsInspection && !page.isOptional)
        expect(page.checks.isEmpty && page.byteCount == nil && page.address == nil)
    }

    @Test func `of an app's own directory names files by their paths`() throws {
        let context = ReleaseContext(layout: .directory)
        let release = try read(MeteorFixture(1).bytes, context)
        try expect(file(release, "index.html").source, equals: "index.html")
        try expect(file(release, "app/some-file").source, equals: "app/some-file")
        try expect(
            file(release, "app/template.mobileapp.js.map").source,
            equals: "app/template.mobileapp.js.map")
        let raw = try read(
            MeteorFixture.manifest(MeteorFixture.asset("a%20b c.png", url: "/x")), context)
        try expect(file(raw, "a%20b c.png").source, equals: "a%2520b%20c.png")
    }

    @Test func `tells where it is: on a server, and in an app's directory`() {
        let format = MeteorFormat()
        expect(
            format.documents(.server, version: nil).map(\.path), equals: ["__cordova/manifest.json"]
        )
        expect(format.documents(.directory, version: nil).map(\.path), equals: ["program.json"])
    }

    @Test func `joins two URLs of one path to one file with two routes`() throws {
        let hash = "\"hash\":\"aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d\",\"size\":5"
        let entries = [
            MeteorFixture.asset("app/i/x.png", url: "/__cordova/i/x.png", more: "," + hash),
            MeteorFixture.asset("app/i/x.png", url: "/i/x.png", more: "," + hash),
        ]
        for order in [entries, entries.reversed()] {
            let release = try read(MeteorFixture.manifest(order.joined(separator: ",")))
            expect(release.files.count, equals: 2)
            let image = try file(release, "app/i/x.png")
            expect(Set(image.routes), equals: ["/__cordova/i/x.png", "/i/x.png"])
            expect(image.source, equals: "__cordova/i/x.png?meteor_dont_serve_index=true")
            expect(image.checks.count, equals: 2)
        }
    }

    @Test func `holds sri as a digest, with or without the prefix`() throws {
        let digest =
            "m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw=="
        let label = try require(
            Label(
                .sha512,
                hex: "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca7"
                    + "2323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043"))
        for spelling in [digest, "sha512-" + digest] {
            let entry = MeteorFixture.asset("x", url: "/x", more: ",\"sri\":\"\(spelling)\"")
            let release = try read(MeteorFixture.manifest(entry))
            try expect(file(release, "x").checks, equals: [.digest(label)])
        }
    }

    @Test func `of today, with all its extra keys, keeps what it does not know`() throws {
        let hash = "b4f37f21c12d7e5e04502a0d9bf6b397f4bc5fcd"
        let entries = """
            {"path":"\(hash).js","where":"client","type":"js","cacheable":true,\
            "url":"/__cordova/\(hash).js?meteor_js_resource=true","replaceable":false,\
            "sourceMap":"\(hash).js.map","sourceMapUrl":"/__cordova/\(hash).map",\
            "size":812345,"hash":"\(hash)"},\
            {"path":"\(hash).css","where":"client","type":"css","cacheable":true,\
            "url":"/__cordova/\(hash).css?meteor_css_resource=true","size":1,"hash":"\(hash)"},\
            {"path":"dynamic/m.js","where":"client","type":"dynamic js","cacheable":false,\
            "url":"/__cordova/dynamic/m.js","size":99,"hash":"\(hash)"}
            """
        let more = """
            ,"versionRefreshable":"r","versionNonRefreshable":"n","versionReplaceable":"p",\
            "PUBLIC_SETTINGS":{"a":[1.50,null]},"hmrVersion":1700000000000,\
            "refreshableAssets":[{"url":"/x.css"}],"meteorRuntimeConfig":"{\\"appId\\":\\"a\\"}"
            """
        let release = try read(MeteorFixture.manifest(entries, more: more))
        let script = try file(release, "\(hash).js")
        expect(script.source, equals: "__cordova/\(hash).js?meteor_dont_serve_index=true")
        expect(script.routes, equals: ["/__cordova/\(hash).js"])
        expect(script.isLaunchFile)
        try expect(file(release, "\(hash).css").isLaunchFile)
        try expect(!file(release, "dynamic/m.js").isLaunchFile)
        try expect(
            file(release, "\(hash).js.map").source,
            equals: "__cordova/\(hash).map?meteor_dont_serve_index=true")
        // What the server of a version looks for.
        let fields = JSONValue.object(script.foreign)
        expect(fields["cacheable"]?.asBool, equals: true)
        expect(fields["hash"]?.asString, equals: hash)
        expect(fields["sourceMapUrl"]?.asString, equals: "/__cordova/\(hash).map")
        expect(fields["type"]?.asString, equals: "js")
        let foreign = JSONValue.object(release.foreign)
        expect(foreign["versionRefreshable"]?.asString, equals: "r")
        expect(foreign["versionNonRefreshable"]?.asString, equals: "n")
        expect(foreign["versionReplaceable"]?.asString, equals: "p")
        expect(foreign["PUBLIC_SETTINGS"]?["a"]?.asArray?.first, equals: .number("1.50"))
        expect(foreign["hmrVersion"]?.asInt64, equals: 1_700_000_000_000)
        expect(foreign["refreshableAssets"]?.asArray?.count, equals: 1)
        expect(foreign["cordovaCompatibilityVersions"]?["ios"]?.asString, equals: MeteorFixture.iOS)
    }

    @Test func `asks for the compatibility version of each platform`() throws {
        let release = try read(MeteorFixture(1).bytes, ReleaseContext(platform: "ios"))
        expect(
            Set(release.requirements),
            equals: [
                Requirement(kind: "compatibility", value: MeteorFixture.iOS, platform: "ios"),
                Requirement(
                    kind: "compatibility", value: MeteorFixture.android, platform: "android"),
            ])
        let mine = release.requirements.filter { $0.concerns(platform: "ios") }
        expect(mine.map(\.value), equals: [MeteorFixture.iOS])
    }

    @Test func `without the key format is one, and hash and size may be missing`() throws {
        let text = """
            {"manifest":[\(MeteorFixture.asset("x", url: "/y", more: ",\"hash\":null"))],\
            "cordovaCompatibilityVersions":{"ios":"c"},"version":"v"}
            """
        let release = try read(Array(text.utf8), ReleaseContext(platform: "ios"))
        try expect(file(release, "x").checks.isEmpty)
        try expect(file(release, "x").byteCount == nil)
        expect(release.version.description, equals: "v")
    }

    @Test func `may list a map as a file too, before or after the file it belongs to`() throws {
        let script = """
            {"path":"a.js","where":"client","type":"js","cacheable":true,"url":"/a.js",\
            "sourceMap":"a.js.map","sourceMapUrl":"/h.map"}
            """
        let hash = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
        let map = MeteorFixture.asset(
            "a.js.map", url: "/listed.map", more: ",\"hash\":\"\(hash)\",\"size\":5")
        for entries in ["\(script),\(map)", "\(map),\(script)"] {
            let release = try read(MeteorFixture.manifest(entries))
            expect(release.files.count, equals: 3)
            let file = try file(release, "a.js.map")
            expect(!file.isOptional)
            expect(file.byteCount, equals: 5)
            expect(file.checks, equals: [.meteorLabel(hash), .entityTag(hash)])
            expect(Set(file.routes), equals: ["/h.map", "/listed.map"])
        }
    }

    @Test func `keeps paths apart that only a forgiving file system would merge`() throws {
        let release = try read(
            MeteorFixture.manifest(
                [
                    MeteorFixture.asset("\u{e9}.png", url: "/1"),
                    MeteorFixture.asset("e\u{301}.png", url: "/2"),
                    MeteorFixture.asset("A", url: "/3"), MeteorFixture.asset("a", url: "/4"),
                ].joined(separator: ",")))
        expect(release.files.count, equals: 5)
    }

    @Test func `of 40,000 files has each once`() throws {
        let hash = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"
        let entries = (0..<40_000).map {
            MeteorFixture.asset(
                "app/\($0 % 100)/\($0 / 2)-\($0 % 2)", url: "/\($0)",
                more: ",\"hash\":\"\(hash)\",\"size\":\($0)")
        }
        let release = try read(
            MeteorFixture.manifest(entries.joined(separator: ",")))
        expect(release.files.count, equals: 40_001)
        expect(Set(release.files.map(\.path)).count, equals: 40_001)
    }
}
