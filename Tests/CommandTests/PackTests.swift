import ProgramTestSupport

@Suite struct PackTests {
    let place: Workplace

    /// Text that no compressor makes much smaller.
    private static func text(_ number: Int) -> String {
        var state = UInt64(number) &* 2_654_435_761 &+ 1
        return String(
            decoding: (0..<20_000).map { _ -> UInt8 in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return 33 + UInt8(state >> 58)
            }, as: UTF8.self)
    }

    init() throws {
        place = Workplace()
        for version in 1...3 {
            try place.add(
                "\(version)",
                [
                    "index.html": "<h1>\(version)</h1>",
                    "app.\(version * 7919).js": Self.text(1) + "release \(version)",
                    "site.css": Self.text(2),
                ])
        }
    }

    private func run(_ arguments: String...) throws -> JSON {
        let answer = try place.done(words: arguments + ["--no-sync", "--json"])
        return try answer.document(.packed)
    }

    @Test func `publish packs everything, and what the version before is missing`() throws {
        let first = try run("publish", "1", "site")
        expect(first.packs.map(\.fromVersion) == [.null] && first.packs[0].objects == 3)
        expect(first.manifestBytes > 0)
        let planned = try run("publish", "2", "site", "--dry-run")
        let second = try run("publish", "2", "site")
        expect(second.packs.map(\.fromVersion), equals: [nil, "1"])
        expect(planned.packs.map(\.fromVersion), equals: [nil, "1"])
        expect(planned.packs.map(\.content), equals: second.packs.map(\.content))
        expect(planned.packs.allSatisfy { $0.bytes.isNull } && planned.dryRun.isTrue)
        expect(second.packs[1].objects, equals: 2)
        expect(second.packs[1].bytes < 700)
        expect(second.packBytes, equals: second.packs.reduce(0) { $0 + $1.bytes.number })
        expect(second.framesCompressed > 0)
        let again = try run("publish", "2", "site")
        expect(again.packs.isEmpty && again.packBytes == 0 && !again.changed)
    }

    @Test func `publish with --no-packs makes none, and pack makes up for it`() throws {
        _ = try run("publish", "1", "site", "--no-packs")
        try expect(run("publish", "2", "site", "--no-packs").packs.isEmpty)
        try expect(place.release()["delivery"] == nil && !place.exists("site/packs"))
        try expect(run("pack", "2", "site", "--dry-run", "--level", "3").packs.count, equals: 2)
        let packed = try run("pack", "2", "site", "--level", "3", "--pack-base", "3")
        expect(packed.packs.map(\.fromVersion) == [.null, "1", "3"] && packed.changed.isTrue)
        try expect(place.release()["delivery"] is String)
        let again = try run("pack", "2", "site")
        expect(again.packs.isEmpty && !again.changed)
        try expect(place.castree("pack", "2", "site").text.hasPrefix("Nothing to pack: version 2"))
    }

    @Test func `publish with --packs-later offers the version before its packs`() throws {
        _ = try run("publish", "1", "site")
        let answer = try place.done("publish", "2", "site", "--no-sync", "--packs-later")
        expect(answer.errors.contains("version 2 is offered; its packs follow"))
        expect(answer.text.contains("Packed what version 1 is missing: 2 objects"))
        try expect(place.release()["delivery"] is String)
    }

    @Test func `the newest releases keep their packs, as many as --keep-packs says`() throws {
        for version in ["1", "2", "3"] {
            _ = try run("publish", version, "site", "--keep-packs", "1", "--packs-from", "1")
        }
        try expect(place.release()["delivery"] is String)
        try expect(place.release(1)["delivery"] == nil && place.release(2)["delivery"] == nil)
        let pruned = try place.castree("prune", "site", "--grace", "0s")
        expect(pruned.text.hasPrefix("Deleted "), "\(pruned)")
        let usage = try place.castree("du", "site", "--json")
        expect(usage.text.contains(#""deliveries":{"files":1,"#), "\(usage)")
    }

    @Test func `du and channels say what packs cost and save`() throws {
        _ = try run("publish", "1", "site")
        _ = try run("publish", "2", "site")
        let usage = try place.castree("du", "site")
        expect(usage.text.contains("stable: 2 from 1: "))
        expect(usage.text.contains(" in 3 requests; raw "))
        // Which of the two kinds of sizes it is.
        expect(usage.text.split(separator: "\n").first?.contains("CONTENT"), equals: true)
        let document = try place.originUsage()
        expect(document.packs.files == 3 && document.deliveries.files == 2)
        let entries = try require(document.channels.first?.releases.first?.packs)
        expect(entries.map(\.fromVersion), equals: [nil, "1"])
        expect(entries[1].requests == 3 && entries[1].rawRequests == 4)
        expect(entries[1].bytes.number < entries[1].rawBytes.number / 10)
        let channels = try place.castree("channels", "site")
        expect(channels.text.contains("2 from 1: "), "\(channels)")
        // A directory that is no origin may be called like a version.
        try place.done("du", "1")
    }

    @Test func `pack tells what is not offered by exit status 3`() throws {
        try expect(place.castree("pack", "1", "site").status, equals: 3)
        _ = try run("publish", "1", "site")
        try expect(place.castree("pack", "2", "site").status, equals: 3)
        try expect(place.castree("publish", "2", "site", "--pack-base", "9").status, equals: 3)
    }

    @Test func `a dry run of what is offered says so, and which packs would be made`() throws {
        _ = try run("publish", "1", "site", "--no-packs")
        let bare = try place.castree("publish", "1", "site", "--no-packs", "--dry-run")
        expect(bare.text.contains("Channel stable of site already offers version 1; "))
        let later = try place.castree("publish", "1", "site", "--packs-later", "--dry-run")
        expect(later.text.contains("already offers version 1; "))
        expect(later.text.contains("Would pack everything: "))
        let packed = try run("pack", "1", "site", "--verify", "--pack-base", "2")
        expect(packed.packs.map(\.fromVersion), equals: [nil, "2"])
        let more = try place.castree("publish", "1", "site", "--pack-base", "3")
        expect(more.text.contains("Packed what version 3 is missing"))
        expect(more.text.contains("2 packs stay as they are."))
    }

    @Test func `du says what it takes where it is given something else`() throws {
        _ = try run("publish", "1", "site")
        let refused = [
            ["site", "--html", "x.html"], ["site", "--by", "type"], ["http://127.0.0.1/app"],
            ["1", "./site"],
        ]
        for arguments in refused {
            try place.ended(2, "du", words: arguments)
        }
        try place.ended(3, "du", "site/nope", saying: "the directory of an origin")
        try expect(place.castree("du", "--help").text.contains("[VERSION|ORIGIN"))
        try place.ended(3, "du", "nope", "--store", "nowhere", saying: "nope is no origin")
    }

    @Test func `channels names what it can, and says where nothing is offered`() throws {
        _ = try run("publish", "1", "site")
        _ = try run("publish", "2", "site")
        try place.done("withdraw", "1", "site")
        try expect(
            place.castree("channels", "site").text.contains(
                "2 from a content that no channel here lists ("))
        _ = try run("publish", "3", "site", "--channel", "beta", "--pack-base", "2")
        try expect(place.castree("channels", "site").text.contains("beta: 3 from nothing: "))
        try place.done("withdraw", "3", "site", "--channel", "beta")
        try expect(place.castree("channels", "site").text.contains("nothing"))
    }
}
