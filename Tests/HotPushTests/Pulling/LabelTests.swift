import HotPush
import StorageTestSupport

@Suite("A label") struct LabelTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    private func run(_ files: ReleaseFile...) throws -> PullReport {
        var format = KnownFormat()
        format.files = files
        return try fixture.run(format)
    }

    @Test(
        "that is wrong is refused, whether its content is here or must come",
        arguments: [DigestAlgorithm.crc32, .md5, .sha1, .sha256, .sha384, .sha512], [true, false])
    func wrong(_ algorithm: DigestAlgorithm, isHere: Bool) throws {
        if isHere {
            fixture.offer("1", ["/app.js": Content("run(1)")])
            _ = try run(labelled("app.js", address: "run(1)"))
        }
        fixture.offer("2", ["/app.js": Content("run(1)")])
        let wrong = try labelled("app.js", address: "run(1)", label(algorithm, "run(2)"))
        let isKnown = isHere || algorithm == .sha256
        expectRefusal(isKnown ? .badRelease : .mismatch, saying: "app.js") { try run(wrong) }
        expect(fixture.asked.isEmpty, equals: isKnown)
        fixture.offer("2", ["/app.js": Content("run(1)")])
        _ = try run(labelled("app.js", address: "run(1)", label(algorithm, "run(1)")))
        expect(fixture.asked, equals: (isHere ? [] : ["/app.js"]))
        try fixture.expectClean()
    }

    @Test func `of any file of one content is held against it`() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(1)")])
        let files = [
            try labelled("a", address: "run(1)", label(.md5, "run(1)")),
            try labelled("b", address: "run(1)", label(.sha1, "run(2)")),
        ]
        expectRefusal(.mismatch) { try run(files[0], files[1]) }
        _ = try run(files[0], labelled("b", address: "run(1)", label(.sha1, "run(1)")))
        try expect(fixture.tree("1"), equals: ["a": "run(1)", "b": "run(1)"])
    }

    @Test(
        "beside another one of the same content and algorithm is refused before anything is asked")
    func two() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(1)")])
        let files = [
            try labelled("a", address: "run(1)", label(.md5, "run(1)")),
            try labelled("b", address: "run(1)", label(.md5, "run(2)")),
        ]
        expectRefusal(.badRelease) { try run(files[0], files[1]) }
        let both = try labelled("c", label(.md5, "run(1)"), label(.md5, "run(2)"))
        expectRefusal { try run(both) }
        expect(fixture.asked.isEmpty)
    }

    @Test("that a manifest gives to other content does not make that the content of a release")
    func poisoned() throws {
        var entry = Manifest.Entry(
            path: try TreePath("app.js"), address: try address(of: "evil()"), byteCount: 6)
        entry.labels = [try label(.sha512, "run(1)")]
        try fixture.device.versions.register(
            Manifest(
                version: VersionName("other"), ordinal: 1, createdAt: 0, entries: [entry],
                foreign: []))
        try fixture.device.add("filling", ["anything": "evil()"])
        fixture.offer("1", ["/app.js": Content("run(1)")])
        _ = try run(labelled("app.js", label(.sha512, "run(1)")))
        expect(fixture.asked, equals: ["/app.js"])
        try expect(fixture.tree("1"), equals: ["app.js": "run(1)"])
    }

    @Test func `is not enough where another one of the same file is against it`() throws {
        fixture.offer("1", ["/app.js": Content("run(1)")])
        _ = try run(labelled("app.js", label(.sha512, "run(1)")))
        fixture.offer("2", ["/app.js": Content("run(1)")])
        expectRefusal(.mismatch) {
            try run(labelled("app.js", label(.sha512, "run(1)"), label(.sha1, "run(2)")))
        }
        expect(fixture.asked.contains("/app.js"))
    }

    @Test func `finds content that is here, whatever its manifest says of it`() throws {
        try fixture.device.add("0", ["old/app.js": "run(1)"])
        fixture.offer("1", [:])
        _ = try run(labelled("app.js", label(.sha256, "run(1)")))
        expect(fixture.asked.isEmpty)
        try expect(fixture.tree("1"), equals: ["app.js": "run(1)"])
        var sized = try labelled("app.js", label(.sha384, "run(1)"))
        sized.byteCount = 6
        fixture.offer("2", [:])
        _ = try run(sized)
        expect(fixture.asked.isEmpty)
    }

    @Test
    func `of content whose URL never changes is held against what stands in its place`() throws {
        fixture.offer("1", ["/app.js": Content("run(1)")])
        var app = try labelled("app.js")
        app.hasImmutableSource = true
        _ = try run(app)
        fixture.offer("2", [:])
        app.checks = [.digest(try label(.crc32, "run(1)"))]
        _ = try run(app)
        expect(fixture.asked.isEmpty)
        fixture.offer("3", ["/app.js": Content("run(2)")])
        app.checks = [.digest(try label(.crc32, "run(2)"))]
        _ = try run(app)
        try expect(fixture.tree("3"), equals: ["app.js": "run(2)"])
    }
}
