import StorageTestSupport

@testable import HotPush

/// RFC 9110, sections 8.8.3, 13.1.2 and 15.4.5, for files of which nobody but their server knows the content.
@Suite("Content that only its server knows") struct EntityTagTests {
    let fixture: PullingFixture
    private let long = String(repeating: "0123456789", count: 30_000)

    init() throws { fixture = try PullingFixture() }

    /// Serves a commit of 8fit's, whose files say no more than their paths.
    private func offer(
        _ commit: String, _ files: [String: Content], fields: String = "",
        at origin: FaultyOrigin? = nil
    ) {
        let list = files.keys.sorted().map { "{\"path\":\"\($0)\"\(fields)}" }
        let text = "{\"commit\":\"\(commit)\",\"files\":[\(list.joined(separator: ","))]}"
        var contents: [String: Content] = [:]
        for (path, content) in files { contents["/" + path] = content }
        contents["/manifest.json"] = Content(text, type: "application/json")
        (origin ?? fixture.origin).replaceAll(contents)
        fixture.origin.forgetRequests()
    }

    private let options = PullingFixture.options.with {
        ($0.format, $0.destination) = ("8fit", .kept)
    }

    @discardableResult
    private func run() throws -> PullReport { try fixture.run(options, parallel: 1) }

    /// What was asked for each file: `path` or `path tags`.
    private var asked: [String] {
        fixture.origin.requests.filter { $0.path != "/manifest.json" }
            .map { ([$0.path] + ($0["if-none-match"].map { [$0] } ?? [])).joined(separator: " ") }
    }

    private func tagged(_ text: String, _ tag: String?) -> Content { Content(text).tagged(tag) }

    @Test func `costs no body where the server says that it has not changed`() throws {
        offer("1", ["a": tagged("one", "\"a1\""), "b": tagged(long, "\"b1\""), "c": Content("c")])
        try expect(run().figures.files, equals: 3)
        offer("2", ["a": tagged("two", "\"a2\""), "b": tagged(long, "\"b1\""), "d": Content("d")])
        let report = try run()
        expect(asked, equals: ["/a \"a1\"", "/b \"b1\"", "/d"])
        expect(report.figures.files, equals: 2)
        expect(report.figures.bytes, equals: 4)
        expect(report.reusedObjects, equals: 1)
        expect(report.figures.reusedBytes, equals: Int64(long.utf8.count))
        try expect(fixture.tree("2"), equals: ["a": "two", "b": long, "d": "d"])
        // What came by a 304 is known by its tag, too; and the server tells which of several it still has.
        try fixture.device.reopened().retire("1")
        offer("3", ["a": tagged("one", "\"a1\""), "b": tagged(long, "\"b1\"")])
        try run()
        expect(asked, equals: ["/a \"a2\"", "/b \"b1\""])
        offer("4", ["a": tagged("two", "\"a2\""), "b": tagged(long, "\"b1\"")])
        try expect(run().figures.files, equals: 0)
        expect(["/a \"a1\", \"a2\"", "/a \"a2\", \"a1\""].contains(asked[0]))
        try expect(fixture.tree("4"), equals: ["a": "two", "b": long])
        try fixture.expectClean()
    }

    @Test func `is asked for whole where its tag would not show a change`() throws {
        let date = "Sun, 06 Nov 2094 08:49:3"
        for (position, content) in [
            tagged("x", "W/\"weak\""), tagged("x", nil), tagged("x", "unquoted"),
            // Changed within the second, or the next: another change may have the same tag.
            tagged("x", "\"young\"").modified(date + "7 GMT"),
            tagged("x", "\"young\"").modified(date + "6 GMT"),
        ].enumerated() {
            offer("w\(position)", ["\(position)": content])
            try run()
            offer("v\(position)", ["\(position)": content])
            try run()
            expect(asked, equals: ["/\(position)"])
        }
        offer("old", ["o": tagged("x", "\"old\"").modified("Sun, 06 Nov 2094 08:49:30 GMT")])
        try run()
        offer("old2", ["o": tagged("x", "\"old\"")])
        try run()
        expect(asked, equals: ["/o \"old\""])
    }

    @Test func `is another origin's, whose tags mean something else`() throws {
        let other = try FaultyOrigin()
        offer("1", ["a": tagged("one", "\"1\"")], at: other)
        _ = try fixture.pull(options).run(other.url)
        offer("2", ["a": tagged("two", "\"1\"")])
        try run()
        expect(asked, equals: ["/a"])
        try expect(fixture.tree("2"), equals: ["a": "two"])
    }

    @Test func `has the tag of the server, not one that its publisher writes beside it`() throws {
        offer("1", ["a": tagged("one", nil)], fields: ",\"entityTag\":\"\\\"1\\\"\"")
        try run()
        offer("2", ["a": tagged("two", "\"1\"")])
        try run()
        expect(asked, equals: ["/a"])
        try expect(fixture.tree("2"), equals: ["a": "two"])
    }

    @Test func `of another size than the release says is not asked about`() throws {
        offer("1", ["a": tagged("one", "\"1\"")])
        try run()
        offer("2", ["a": tagged("three", "\"1\"")], fields: ",\"size\":5")
        try run()
        expect(asked, equals: ["/a"])
        try expect(fixture.tree("2"), equals: ["a": "three"])
    }

    @Test func `is fetched where a 304 means nothing that was asked about`() throws {
        offer("1", ["a": tagged("one", "\"1\"")])
        try run()
        for (commit, answer) in [("2", "ETag: \"other\"\r\n"), ("3", "ETag: W/\"1\"\r\n")] {
            offer(commit, ["a": tagged("two\(commit)", "\"\(commit)\"")])
            fixture.origin.play([.raw("HTTP/1.1 304 Said\r\n\(answer)\r\n")], on: "/a")
            try run()
            expect(asked.count == 2 && asked.last == "/a")
            try expect(fixture.tree(commit), equals: ["a": "two\(commit)"])
            try fixture.device.reopened().retire(commit)
        }
        // Of one that was asked about, a 304 needs no tag.
        offer("4", ["a": tagged("two", "\"4\"")])
        fixture.origin.play([.raw("HTTP/1.1 304 Said\r\n\r\n")], on: "/a")
        try run()
        expect(asked, equals: ["/a \"1\""])
        try expect(fixture.tree("4"), equals: ["a": "one"])
    }

    @Test func `is fetched after all if it is collected while its server is asked`() throws {
        offer("1", ["a": tagged("one", "\"1\""), "b": tagged("b", "\"b\"")])
        try run()
        offer("2", ["a": tagged("one", "\"1\"")])
        let path = fixture.device.path
        fixture.origin.before("/a") { request in
            guard request["if-none-match"] != nil else { return }
            _ = code {
                let versions = try VersionStore.open(path, options: StoreOptions(isDurable: false))
                try versions.retire("1")
                try versions.collect()
            }
        }
        try run()
        expect(asked, equals: ["/a \"1\"", "/a"])
        try expect(fixture.tree("2"), equals: ["a": "one"])
        try fixture.expectClean()
    }

    @Test func `keeps its tag through pulls that were cut off`() throws {
        offer("1", ["a": tagged("one", "\"a\""), "b": tagged(long, "\"b\"")])
        fixture.origin.play([.cut(after: 100_000)], on: "/b")
        fixture.origin.always(.hangUp(), on: "/b")
        expectRefusal(.network) { try self.run() }
        fixture.origin.always(nil, on: "/b")
        try run()
        try expect(fixture.tree("1"), equals: ["a": "one", "b": long])
        offer("2", ["a": tagged("one", "\"a\""), "b": tagged(long, "\"b\"")])
        try expect(run().figures.files, equals: 0)
        expect(asked, equals: ["/a \"a\"", "/b \"b\""])
    }

    @Test func `is continued by its rest, not by its tag, where a part of it is here`() throws {
        offer("1", ["b": tagged("old", "\"old\"")])
        try run()
        offer("2", ["b": tagged(long, "\"b\"")])
        fixture.origin.play([.cut(after: 100_000)], on: "/b")
        try run()
        expect(asked.map { $0.contains("\"old\"") }, equals: [true, false])
        expect(fixture.origin.requests(for: "/b").last?["range"], equals: "bytes=100000-")
        try expect(fixture.tree("2"), equals: ["b": long])
    }
}
