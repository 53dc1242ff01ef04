import OriginTestSupport

@testable import HotPush

/// Manifests that are larger than any app needs, or become so in memory.
@Suite("A manifest of a stranger's") struct ManifestLimitTests {
    private static let address = String(repeating: "ab", count: 32)

    private static func castree(_ count: Int, _ more: String = "") -> String {
        let entries = (0..<count).map {
            #"{"address":"\#(address)","bytes":1,"path":"f\#($0)"\#(more)}"#
        }
        return #"{"castree":1,"version":"1","entries":[\#(entries.joined(separator: ","))]}"#
    }

    private static func meteor(_ count: Int, _ more: String = "") -> String {
        let entries = (0..<count).map {
            """
            {"path":"f\($0)","url":"/f\($0)","where":"client","type":"asset","cacheable":false\(more)}
            """
        }
        return """
            {"format":"web-program-pre1","version":"v","cordovaCompatibilityVersions":{"ios":"1"},
            "manifest":[\(entries.joined(separator: ","))]}
            """
    }

    private static func eightFit(_ count: Int, _ more: String = "") -> String {
        let files = (0..<count).map { #"{"path":"f\#($0)"\#(more)}"# }
        return #"{"commit":"c","files":[\#(files.joined(separator: ","))]}"#
    }

    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let format: any ReleaseFormat
        let document: @Sendable (Int, String) -> String
    }

    static let formats = [
        Case(testDescription: "castree", format: CastreeFormat()) { castree($0, $1) },
        Case(testDescription: "meteor", format: MeteorFormat()) { meteor($0, $1) },
        Case(testDescription: "8fit", format: EightFitFormat()) { eightFit($0, $1) },
    ]

    private func read(_ one: Case, _ text: String, entries: Int = 100) throws -> Release {
        var context = ReleaseContext()
        context.entryCountMax = entries
        return try one.format.read(Array(text.utf8), context)
    }

    @Test(
        "with more entries than are taken is refused at the first one too many, whatever follows it",
        arguments: formats)
    func entries(_ one: Case) throws {
        try expect(read(one, one.document(100, "")).files.count >= 100)
        let text = one.document(101, "")
        // It ends right behind: what comes later was not looked at.
        let cut = String(text.dropLast(2)) + "?"
        expectRefusal(saying: "more than 100 entries", "--max-entries allows more") {
            try read(one, cut)
        }
    }

    @Test(
        "that becomes more in memory than ten times its text is refused while it is read",
        arguments: formats)
    func amplified(_ one: Case) throws {
        let short = #","x":[\#(Array(repeating: "[]", count: 300_000).joined(separator: ","))]"#
        let fields = (0..<300_000).map { #","\#($0)":0"# }.joined()
        let routes = #","routes":[\#((0..<300_000).map { "\"/\($0)\"" }.joined(separator: ","))]"#
        var texts = [fields]
        // Lists that nobody knows are passed over, and cost nothing.
        if !(one.format is MeteorFormat) { texts.append(routes) }
        if one.format is CastreeFormat { texts.append(short) }
        for more in texts {
            let message = expectRefusal { try read(one, one.document(1, more)) }?.message ?? ""
            expect(
                message.contains("of memory") || message.contains("than may be kept"),
                "\(message)")
        }
    }

    @Test(arguments: formats)
    func `of few deep paths counts with the directories that they would make`(_ one: Case) throws {
        let below = String(repeating: "x/", count: 125) + "f"
        let text = one.document(200, "").replacing(/"path":"(f[0-9]+)"/) {
            "\"path\":\"\($0.1)/\(below)\""
        }
        let release = try read(one, text, entries: 250_000)
        expect(release.directoryCount >= 25_200, "\(release.directoryCount)")
        let needed = release.files.count + release.directoryCount
        try release.refuseBeyond(DeviceLimits(entryCount: needed))
        expectRefusal(.tooLarge, saying: "--max-entries allows more") {
            try release.refuseBeyond(DeviceLimits(entryCount: needed - 1))
        }
        guard one.format is CastreeFormat else { return }
        // castree's own is refused while it is read.
        expectRefusal(saying: "entries and directories") {
            try read(one, text, entries: needed - 1)
        }
        try expect(read(one, text, entries: needed).files.count, equals: 200)
    }

    @Test func `is published exactly if a device of the same limits takes it`() throws {
        let fixture = try PullingFixture(offering: "1")
        var taken: [Int] = []
        for limit in 1...40 {
            let publisher = fixture.place.withOrigin("other \(limit)").publisher {
                $0.limits = DeviceLimits(entryCount: limit)
            }
            let planned = code { try publisher.plan("1", of: fixture.place.versions) }
            let published = code { try publisher.publish("1", of: fixture.place.versions) }
            expect(planned, equals: published)
            let pulled = code { try fixture.run { $0.entryCountMax = limit } }
            expect((published == nil) == (pulled == nil), "\(limit)")
            if let published { expect(published, equals: .tooLarge) } else { taken.append(limit) }
        }
        // Some are refused and some are taken, and more is never worse than less.
        expect(
            taken.first.map { $0 > 1 } ?? false && taken == Array((taken.first ?? 0)...40),
            "\(taken)")
    }

    @Test
    func `is taken however much it says of each file, as long as its text is long too`() throws {
        let more =
            #","labels":{"sha512":"\#(String(repeating: "cd", count: 64))"},"note":["a","b"]"#
        let text = Self.castree(3000, more)
        try expect(read(Self.formats[0], text, entries: 3000).files.count, equals: 3000)
    }

    @Test func `of more bytes than its entries may need is not even fetched`() throws {
        let fixture = try PullingFixture(offering: "1")
        let path = OriginLayout.pointer(.stable)
        let published = try fixture.place.published()
        var pointer = try ChannelPointer(parsing: try require(published[path]), of: .stable)
        guard case .version(var version) = pointer.releases[0].target else { return }
        version.manifestByteCount = 1 << 30
        pointer.releases[0].target = .version(version)
        fixture.put(pointer.serialized(), at: "/" + path)
        fixture.origin.forgetRequests()
        expectRefusal(.tooLarge, saying: "--max-entries allows more") { try fixture.run() }
        expect(fixture.origin.requests.map(\.path), equals: ["/" + path])
    }

    @Test(
        "that is small only as it is sent is given up when it has become too large",
        arguments: ["/channels/stable.json", "/__cordova/manifest.json"])
    func packed(_ path: String) throws {
        let fixture = try PullingFixture()
        let text = #"{"manifest":[],"x":""# + String(repeating: "y", count: 3 << 20) + "\"}"
        fixture.put(Array(text.utf8), at: path)
        fixture.origin.always(.gzip, on: path)
        expectRefusal(.tooLarge) { try fixture.run { $0.entryCountMax = 1000 } }
        try expect(fixture.device.reopened().versions().isEmpty)
    }
}
