import StorageTestSupport

@testable import HotPush

@Suite("castree's own format") struct CastreeFormatTests {
    static let hello = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    static let nothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    static func manifest() throws -> Manifest {
        var page = Manifest.Entry(
            path: try TreePath("index.html"), address: try require(ObjectID(hello)), byteCount: 5,
            routes: ["/a/"],
            labels: [try require(Label(.sha1, hex: "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d"))])
        page.foreign = [.init(key: "cacheable", value: .bool(true))]
        let script = Manifest.Entry(
            path: try TreePath("b \u{fc}.sh"), address: try require(ObjectID(nothing)),
            byteCount: 0, isExecutable: true)
        return try Manifest(
            version: VersionName("1.38.0"), ordinal: 7, createdAt: 1_760_000_000,
            entries: [page, script], foreign: [.init(key: "note", value: .string("x"))])
    }

    @Test func `says of an object that is gone from its origin what brings it back`() throws {
        let format = CastreeFormat()
        let release = try format.read(Self.manifest().serialized(), ReleaseContext())
        for status in [404, 410] {
            expect(
                format.message(.fileStatus(release.files[1], status)),
                equals:
                    "the origin does not have \"index.html\"; castree publish --verify repairs it"
            )
        }
        // Of a failing server nobody knows that.
        expect(
            format.message(.fileStatus(release.files[1], 500)),
            equals: "the origin answered 500 when asked for \"index.html\"")
    }

    @Test func `names objects by their addresses`() throws {
        let bytes = try Self.manifest().serialized()
        let release = try CastreeFormat().read(bytes, ReleaseContext())
        expect(release.family, equals: "castree/1")
        expect(release.version.description, equals: "1.38.0")
        expect(release.order, equals: 7)
        expect(release.trust, equals: .digest)
        expect(release.received, equals: bytes)
        expect(release.files.map(\.path.description), equals: ["b \u{fc}.sh", "index.html"])
        let page = release.files[1]
        expect(
            page.source,
            equals: "objects/2c/f24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824")
        expect(page.address?.description, equals: Self.hello)
        expect(page.byteCount, equals: 5)
        expect(page.routes, equals: ["/a/"])
        expect(page.isLaunchFile && !page.isExecutable)
        expect(page.checks.count, equals: 1)
        expect(release.files[0].isExecutable)
    }

    @Test func `gives back the manifest byte by byte`() throws {
        let bytes = try Self.manifest().serialized()
        let release = try CastreeFormat().read(bytes, ReleaseContext())
        let manifest = try release.manifest(ordinal: 1, createdAt: 1_760_000_000) {
            (position) throws(StoreError) in
            guard let address = release.files[position].address else { return nil }
            return FetchedContent(
                address: address, byteCount: release.files[position].byteCount ?? -1)
        }
        try expect(manifest.serialized(), equals: bytes)
    }

    @Test func `is told which version, and has its manifest among the others`() throws {
        let format = CastreeFormat()
        expect(format.documents(.server, version: nil).isEmpty)
        expect(
            format.documents(.server, version: try VersionName("1.38.0")).map(\.path),
            equals: ["manifests/1.38.0.json"])
    }

    @Test func `refuses what is no manifest, with the place`() {
        expectRefusal(.badManifest, saying: "at byte ") {
            try CastreeFormat().read(Array("{\"castree\":2}".utf8), ReleaseContext())
        }
    }
}

@Suite("A release that has arrived") struct FetchedReleaseTests {
    let hello: FetchedContent

    init() throws {
        let address = try require(ObjectID(CastreeFormatTests.hello))
        hello = FetchedContent(address: address, byteCount: 5)
    }

    @Test func `becomes a manifest with routes, labels, family and trust`() throws {
        let digest =
            "m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw=="
        let entry = """
            {"path":"a.js","where":"client","type":"js","cacheable":true,"url":"/__cordova/a.js",\
            "sourceMap":"a.map","sourceMapUrl":"/m.map","sri":"\(digest)","address":"x","routes":1}
            """
        let release = try MeteorFormat().read(
            MeteorFixture.manifest(entry, version: "release 1", more: ",\"order\":9"),
            ReleaseContext())
        // The map did not come.
        let manifest = try release.manifest(ordinal: 3, createdAt: 4) {
            (position) throws(StoreError) in release.files[position].isOptional ? nil : hello
        }
        expect(manifest.count, equals: 2)
        expect(manifest.ordinal == 3 && manifest.createdAt == 4)
        let script = try require(manifest[try TreePath("a.js")])
        expect(script.routes, equals: ["/__cordova/a.js"])
        expect(script.labels.map(\.algorithm), equals: [.sha512])
        expect(JSONValue.object(script.foreign)["cacheable"]?.asBool, equals: true)
        let fields = JSONValue.object(manifest.foreign)
        expect(fields["family"]?.asString, equals: "meteor/1")
        expect(fields["trust"]?.asString, equals: "length")
        expect(fields["publisherVersion"]?.asString, equals: "release 1")
        // Its own fields come first: what it writes can be read.
        let bytes = try manifest.serialized()
        try expect(Manifest(parsing: bytes).serialized(), equals: bytes)
    }

    @Test func `is none while a file is missing that is not optional`() throws {
        let release = try MeteorFormat().read(MeteorFixture(1).bytes, ReleaseContext())
        expectRefusal(.missingObject) {
            try release.manifest(ordinal: 1, createdAt: 1) {
                (position) throws(StoreError) in position == 0 ? nil : hello
            }
        }
    }
}
