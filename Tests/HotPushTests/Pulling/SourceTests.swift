import HotPush
import StorageTestSupport

private func file(
    _ sources: String..., content: String? = nil, path: String = "app.js"
) throws -> ReleaseFile {
    var file = ReleaseFile(path: try TreePath(path))
    file.sources = sources.map { ContentSource($0) }
    if let content {
        file.address = try address(of: content)
        file.byteCount = Int64(content.utf8.count)
    }
    return file
}

@Suite("The sources of a file") struct SourceTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    @Test func `are asked one after the other when one does not have it`() throws {
        fixture.offer("1", ["/b": Content("run(1)")])
        try expect(fixture.run(KnownFormat(file("a", "b"))).figures.files, equals: 1)
        expect(fixture.asked, equals: ["/a", "/b"])
        try expect(fixture.tree("1"), equals: ["app.js": "run(1)"])
        try fixture.expectClean()
    }

    @Test func `all fail before the pull does, and the last one's error is told`() throws {
        fixture.offer("1", [:])
        expectRefusal(.notFound) { try fixture.run(KnownFormat(file("a", "b"))) }
        expect(fixture.asked, equals: ["/a", "/b"])
    }

    @Test func `take turns while they fail`() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(1)")])
        fixture.origin.always(.status(503, retryAfter: nil), on: "/a")
        fixture.origin.play([.status(503, retryAfter: nil)], on: "/b")
        _ = try fixture.run(KnownFormat(file("a", "b")))
        expect(fixture.asked.prefix(2) == ["/a", "/b"] && fixture.asked.last == "/b")
    }

    @Test func `are each tried as often as a single one would be`() throws {
        fixture.offer("1", [:])
        for path in ["/a", "/b", "/c"] {
            fixture.origin.always(.status(503, retryAfter: nil), on: path)
        }
        expectRefusal(.network) { try fixture.run(KnownFormat(file("a", "b", "c"))) }
        let counts = ["/a", "/b", "/c"].map { fixture.origin.requests(for: $0).count }
        expect(counts, equals: [3, 3, 3])
    }

    @Test func `do not wait for what another asks to wait for`() throws {
        fixture.offer("1", ["/b": Content("run(1)")])
        fixture.origin.always(.status(503, retryAfter: "3600"), on: "/a")
        let format = KnownFormat(try file("a", "b"))
        let options = PullingFixture.options.with {
            // The suite would not see the end of it.
            $0.retries.retryAfterMax = .seconds(3600)
            $0.reader = format
        }
        try fixture.run(options)
        expect(fixture.asked, equals: ["/a", "/b"])
        // The other way round: the first one may be asked again at once.
        fixture.offer("2", ["/a": Content("run(2)")])
        fixture.origin.always(nil, on: "/a")
        fixture.origin.play([.status(503, retryAfter: nil)], on: "/a")
        fixture.origin.always(.status(503, retryAfter: "3600"), on: "/b")
        try fixture.run(options)
        expect(fixture.asked, equals: ["/a", "/b", "/a"])
    }

    @Test("of files without digests tell their contents apart, also by the fields of the request")
    func apart() throws {
        fixture.offer("1", ["/a": Content("one")])
        fixture.origin.before("/a") { [origin = fixture.origin] request in
            origin.put(Content(request["x-asset"] ?? "none"), at: "/a")
        }
        var files = [try file("a", path: "none"), try file("a", path: "two")]
        files[1].sources[0].fields = [.init("X-Asset", "two")]
        _ = try fixture.run(KnownFormat(files[0], files[1]), parallel: 1)
        try expect(fixture.tree("1"), equals: ["none": "none", "two": "two"])
    }

    private let long = String(repeating: "0123456789", count: 30_000)

    @Test func `continue where another stopped, if the digest proves that the parts fit`() throws {
        fixture.offer("1", ["/a": Content(long), "/b": Content(long).tagged("\"b\"")])
        fixture.origin.play([.cut(after: 100_000), .status(404, retryAfter: nil)], on: "/a")
        _ = try fixture.run(KnownFormat(file("a", "b", content: long)))
        let request = try require(fixture.origin.requests(for: "/b").first)
        expect(request["range"] == "bytes=100000-" && request["if-range"] == nil)
        try fixture.expectClean()
    }

    @Test func `start over where nothing proves that the parts fit`() throws {
        // Another deployment, of other content: the parts would not fit.
        let other = String(repeating: "abcdefghij", count: 30_000)
        fixture.offer("1", ["/a": Content(long), "/b": Content(other)])
        fixture.origin.play([.cut(after: 100_000), .status(404, retryAfter: nil)], on: "/a")
        _ = try fixture.run(KnownFormat(file("a", "b")))
        expect(fixture.origin.requests(for: "/b").map { $0["range"] }, equals: [nil])
        try expect(fixture.tree("1"), equals: ["app.js": other])
    }

    @Test
    func `are stayed with as long as bytes come, and where a part is of use there only`() throws {
        fixture.offer("1", ["/a": Content(long), "/b": Content(long).tagged("\"b\"")])
        fixture.origin.play(
            [.cut(after: 100_000), .status(503, retryAfter: nil), .cut(after: 100_000)], on: "/a")
        fixture.origin.always(.cut(after: 100_000), on: "/b")
        _ = try fixture.run(KnownFormat(file("a", "b")))
        expect(
            fixture.origin.requests(for: "/a").map { $0["range"] },
            equals: [nil, "bytes=100000-", "bytes=100000-", "bytes=200000-"])
        expect(fixture.origin.requests(for: "/b").isEmpty)
    }

    @Test func `keep what others have sent when one answers with something else`() throws {
        fixture.offer("1", ["/a": Content(long), "/b": Content(long), "/c": Content(long)])
        fixture.origin.play([.cut(after: 100_000), .status(404, retryAfter: nil)], on: "/a")
        fixture.origin.always(.total("999"), on: "/b")
        _ = try fixture.run(KnownFormat(file("a", "b", "c", content: long)))
        expect(fixture.origin.requests(for: "/c").map { $0["range"] }, equals: ["bytes=100000-"])
        try fixture.expectClean()
    }

    @Test
    func `of the file that must be there are asked where several files have one content`() throws {
        fixture.offer("1", ["/good": Content("run(1)")])
        var map = try file("gone", content: "run(1)", path: "app.js.map")
        map.isOptional = true
        var archived = try file("a.zip", content: "run(1)", path: "b.js")
        archived.sources[0].steps = [.extract("zip", path: "b.js")]
        _ = try fixture.run(KnownFormat(map, archived, file("good", content: "run(1)")))
        expect(fixture.asked, equals: ["/good"])
        try expect(fixture.tree("1").count, equals: 3)
    }

    @Test func `give content whose size nobody tells, or only one of its files`() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(2)")])
        var files = try ["a", "c"].map { try file("a", content: "run(1)", path: $0) }
        files += try ["b", "d"].map { try file("b", content: "run(2)", path: $0) }
        for place in [0, 2, 3] { files[place].byteCount = nil }
        var format = KnownFormat()
        format.files = files
        _ = try fixture.run(format)
        let tree = ["a": "run(1)", "b": "run(2)", "c": "run(1)", "d": "run(2)"]
        try expect(fixture.tree("1"), equals: tree)
        fixture.offer("2", [:])
        _ = try fixture.run(format)
        try expect(fixture.tree("2"), equals: tree)
        try fixture.expectClean()
    }

    @Test func `that cannot be read leave out a file that need not be there`() throws {
        fixture.offer("1", ["/app.js": Content("run(1)")])
        var map = try file("app.js.map.br", path: "app.js.map")
        map.sources[0].steps = [.decompress("br")]
        map.isOptional = true
        let report = try fixture.run(KnownFormat(map, file("app.js")))
        expect(report.skipped == ["app.js.map"] && fixture.asked == ["/app.js"])
        // As many as the version has.
        expect(report.files, equals: 1)
        try fixture.expectClean()
    }

    @Test func `of a format of one's own are held to the rules before anything is asked`() throws {
        fixture.offer("1", ["/app.js": Content("run(1)")])
        var app = try file("app.js")
        app.sources[0].fields = [.init("Host", "elsewhere")]
        expectRefusal(.badRelease) { try fixture.run(KnownFormat(app)) }
        expect(fixture.asked.isEmpty)
    }

    @Test func `keep the publisher's fields from other hosts`() throws {
        let other = try FaultyOrigin(["/app.js": Content("run(1)")])
        fixture.offer("1", [:])
        fixture.origin.always(.redirect(to: "\(other.url)/app.js"), on: "/app.js")
        var app = try file("app.js")
        app.sources[0].fields = [.init("X-Key", "secret")]
        _ = try fixture.run(KnownFormat(app))
        expect(fixture.origin.requests(for: "/app.js").first?["x-key"], equals: "secret")
        expect(other.requests.map { $0["x-key"] }, equals: [nil])
    }

    @Test func `with wrong content are left for the next one`() throws {
        fixture.offer("1", ["/a": Content("run(0)"), "/b": Content("run(1)")])
        _ = try fixture.run(KnownFormat(file("a", "b", content: "run(1)")))
        expect(fixture.asked.last == "/b" && !fixture.asked.dropLast().contains("/b"))
        try expect(fixture.tree("1"), equals: ["app.js": "run(1)"])
    }

    @Test func `that castree cannot read are passed over`() throws {
        fixture.offer("1", ["/app.js": Content("run(1)"), "/app.js.br": Content("?")])
        var app = try file("app.js.br", "app.js")
        app.sources[0].steps = [.decompress("br")]
        _ = try fixture.run(KnownFormat(app))
        expect(fixture.asked, equals: ["/app.js"])
    }

    @Test func `that can none of them be read are refused before a byte is fetched`() throws {
        fixture.offer("1", ["/app.js.br": Content("?"), "/index.html": Content("<p>")])
        var app = try file("app.js.br", "p1")
        app.sources[0].steps = [.decrypt("aes-128-cbc"), .decompress("br")]
        app.sources[1].steps = [.patch("bsdiff", of: .init())]
        let words = "\"app.js\" only as aes-128-cbc, br or bsdiff"
        expectRefusal(.unsuitableRelease, saying: words) {
            try fixture.run(KnownFormat(app, file("index.html", path: "index.html")))
        }
        expect(fixture.asked.isEmpty)
        try expect(fixture.device.reopened().versions().isEmpty)
    }

    @Test func `are asked with the fields that the publisher wants`() throws {
        fixture.offer("1", ["/a": Content("run(1)"), "/b": Content("run(1)")])
        var app = try file("a", "b")
        app.sources[0].fields = [.init("X-Asset", "one"), .init("Authorization", "Basic eA==")]
        fixture.origin.play([.status(404, retryAfter: nil)], on: "/a")
        _ = try fixture.run(KnownFormat(app))
        let first = try require(fixture.origin.requests(for: "/a").first)
        expect(first["x-asset"] == "one" && first["authorization"] == "Basic eA==")
        let second = try require(fixture.origin.requests(for: "/b").first)
        expect(second["x-asset"] == nil && second["authorization"] == nil)
    }

    @Test func `are held against a checksum, which recognizes nothing by itself`() throws {
        // `python3 -c 'import zlib; print(hex(zlib.crc32(b"run(1)")))'`
        var app = try file("app.js")
        app.checks = [.digest(try require(Label(.crc32, hex: "af526a60")))]
        app.byteCount = 6
        fixture.offer("1", ["/app.js": Content("run(2)")])
        expectRefusal(.mismatch) { try fixture.run(KnownFormat(app)) }
        fixture.offer("1", ["/app.js": Content("run(1)")])
        _ = try fixture.run(KnownFormat(app))
        fixture.offer("2", ["/app.js": Content("run(1)")])
        _ = try fixture.run(KnownFormat(app))
        expect(fixture.asked, equals: ["/app.js"])
        try fixture.expectClean()
    }
}

@Suite("A release that is not for all") struct AudienceTests {
    private func code(
        _ audience: (inout Audience) -> Void, _ change: (inout PullOptions) -> Void = { _ in }
    ) throws -> StoreError.Code? {
        let fixture = try PullingFixture()
        fixture.origin.replaceAll(["/version.txt": Content("1"), "/app.js": Content("run(1)")])
        var format = KnownFormat(try file("app.js"))
        audience(&format.audience)
        let options = PullingFixture.options.with { $0.reader = format }.with(change)
        let refused = refusal { try fixture.run(options) }
        expect(refused == nil || fixture.origin.requests(for: "/app.js").isEmpty)
        return refused?.code
    }

    @Test
    func `is left alone when its publisher has disabled it, unless somebody insists`() throws {
        try expect(code { $0.isDisabled = true }, equals: .unsuitableRelease)
        try expect(code({ $0.isDisabled = true }, { $0.isForced = true }) == nil)
    }

    @Test func `is taken by those in one of its groups`() throws {
        try expect(code { $0.groups = ["qa", "7"] }, equals: .unsuitableRelease)
        try expect(
            code({ $0.groups = ["qa", "7"] }, { $0.app.groups = ["8"] }), equals: .unsuitableRelease
        )
        try expect(code({ $0.groups = ["qa", "7"] }, { $0.app.groups = ["7"] }) == nil)
    }

    @Test func `is left alone when nobody here knows how its devices are chosen`() throws {
        let partial = Rollout(perMille: 999, salt: "", rule: "murmur3")
        try expect(code({ $0.rollout = partial }, { $0.device = "d" }), equals: .unsuitableRelease)
        let whole = Rollout(perMille: 1000, salt: "", rule: "murmur3")
        try expect(code { $0.rollout = whole } == nil)
        let own = Rollout(perMille: 999, salt: "s")
        try expect(code({ $0.rollout = own }, { $0.device = "d" }) == nil)
    }
}

@Suite("A format of one's own, without a release to tell of") struct OtherAnswerTests {
    private func answer(
        _ other: FormatAnswer?, status: Int = 200, isShipped: Bool = false
    ) throws -> HotPush.OriginAnswer {
        let fixture = try PullingFixture()
        if isShipped {
            try fixture.device.versions.adopt(
                AdoptingTests.ship("0", in: fixture.device, ["index.html": "shipped"]))
        }
        fixture.origin.replaceAll(["/version.txt": Content("1")])
        if status != 200 { fixture.origin.always(.status(status, retryAfter: nil)) }
        var format = KnownFormat()
        format.other = other
        let options = PullingFixture.options.with { $0.reader = format }
        return try fixture.pull(options).ask(fixture.origin.url)
    }

    private func reasons(_ answer: HotPush.OriginAnswer) throws -> [String] {
        guard case .nothing(let reasons) = answer else { throw Unexpected(answer) }
        return reasons
    }

    @Test func `says that there is nothing, and why`() throws {
        try expect(reasons(answer(.nothing(["blocked"]))), equals: ["blocked"])
        try expect(reasons(answer(nil, status: 204)).count, equals: 1)
    }

    @Test
    func `sends devices back to what was shipped with the app, if there is such a thing`() throws {
        guard case .embedded = try answer(.embedded, isShipped: true) else {
            throw Unexpected("another answer")
        }
        let reasons = try reasons(answer(.embedded))
        expect(reasons.count == 1 && reasons[0].contains("castree adopt"), "\(reasons)")
    }
}
