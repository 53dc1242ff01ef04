import OriginTestSupport

@testable import HotPush

/// docs/origin-format.md says where each format has its documents; `--format auto` asks for all of them only once.
@Suite("The format of an origin that nobody names") struct FormatMemoryTests {
    let fixture: PullingFixture

    init() throws { fixture = try PullingFixture() }

    private func offer(_ commit: String) {
        let text = "{\"commit\":\"\(commit)\",\"files\":[{\"path\":\"a\"}]}"
        fixture.origin.replaceAll([
            "/manifest.json": Content(text, type: "application/json"), "/a": Content(commit),
        ])
    }

    private func asked(_ set: (inout PullOptions) -> Void = { _ in }) throws -> [String] {
        fixture.origin.forgetRequests()
        let options = PullingFixture.options.with(set)
        let pull = try fixture.pull(options, parallel: 1)
        if options.isDryRun {
            _ = try pull.ask(fixture.origin.url)
        } else {
            _ = try pull.run(fixture.origin.url)
        }
        return fixture.origin.requests.map(\.path).filter { $0.hasSuffix(".json") }
    }

    private let pointer = "/channels/stable.json"
    private let eightFit = "/manifest.json"

    @Test func `is asked for first the next time, and found again when it changes`() throws {
        offer("c1")
        // A dry run changes nothing.
        for _ in 1...2 { try expect(asked { $0.isDryRun = true }.first, equals: pointer) }
        let first = try asked()
        expect(first.first == pointer && first.last == eightFit && first.count > 2)
        try expect(asked(), equals: [eightFit])
        offer("c2")
        try expect(asked(), equals: [eightFit])
        try expect(fixture.tree("c2"), equals: ["a": "c2"])
        // Who names a format, a channel, or insists, is obeyed.
        try expect(asked { $0.isForced = true }.first, equals: pointer)
        expect(code { _ = try asked { $0.channel = "beta" } } == nil)
        expect(fixture.origin.requests.first?.path, equals: "/channels/beta.json")
        expectRefusal(.notFound) { try asked { $0.format = "castree" } }
        // The origin becomes castree's own.
        try fixture.publish("1")
        try expect(asked().prefix(2), equals: [eightFit, pointer])
        try expect(asked(), equals: [pointer])
    }

    @Test func `is not forgotten for a failure, and is for a document that cannot be read`() throws
    {
        offer("c1")
        _ = try asked()
        fixture.origin.always(.status(503), on: eightFit)
        expectRefusal(.network) { try asked() }
        fixture.origin.always(nil, on: eightFit)
        try expect(asked(), equals: [eightFit])
        fixture.origin.put(Content("{\"commit\":", type: "application/json"), at: eightFit)
        expectRefusal(.badRelease) { try asked() }
        expectRefusal(.badRelease) { try asked() }
        expect(fixture.origin.requests.first?.path, equals: pointer)
    }

    @Test func `is asked for anew if what was noted is damaged`() throws {
        offer("c1")
        _ = try asked()
        let directory = fixture.device.path + "/" + StoreLayout.pointers
        for junk in [
            "", "castree-format 1 meteo", "castree-format 1 x\n", "castree-format 1 castree\n",
        ] {
            for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
                try Data(junk.utf8).write(to: URL(filePath: directory + "/" + name))
            }
            try expect(asked().first, equals: pointer)
        }
        try expect(asked(), equals: [eightFit])
    }
}

/// What a person is told who mistyped a place or a channel.
@Suite("A pull that finds nothing") struct MissingAnswerTests {
    private func message(_ origin: String, _ set: (inout PullOptions) -> Void = { _ in }) throws
        -> String
    {
        let pull = try PullingFixture().pull(PullingFixture.options.with(set))
        return expectRefusal(.notFound) { try pull.ask(origin) }?.message ?? ""
    }

    @Test func `says whether the place is wrong or the channel`() throws {
        let fixture = try PullingFixture(offering: "1")
        let (directory, url) = (fixture.place.origin, fixture.origin.url)
        let empty = TemporaryDirectory()
        for format in [nil, "castree"] {
            try expect(
                message(directory + "/no") { $0.format = format }
                    .contains("there is no directory \(directory)/no; check the path"))
            for origin in [directory, url] {
                let text = try message(origin) { ($0.format, $0.channel) = (format, "beta") }
                expect(text, equals: "the origin \(origin) has no channel \"beta\"; it has stable")
            }
            let nothing = try message(empty.path) { $0.format = format }
            expect(nothing.contains(empty.path) && nothing.contains("channel \"stable\""))
            expect(!nothing.contains("it has"))
        }
    }
}
