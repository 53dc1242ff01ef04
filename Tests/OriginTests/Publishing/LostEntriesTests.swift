import OriginTestSupport

/// An origin in a directory whose log has lost its last entries: docs/buckets.md, *If the log is gone*.
@Suite struct LostEntriesTests {
    private let place: PublishingPlace
    private let first: PublishingPlace

    /// Entries: 1 makes the origin, 2 and 3 publish, 4 publishes to beta, 5 publishes, and 6 withdraws what 3 has published.
    init() throws {
        place = try PublishingPlace()
        try place.store.add("3", ["index.html": "<h1>three</h1>"])
        for version in ["1", "2"] { try place.publish(version) }
        try place.publish("2", to: "beta")
        try place.publish("3")
        first = place.withOrigin("first")
        try FileManager.default.copyItem(atPath: place.origin, toPath: first.origin)
        _ = try place.publisher().withdraw(VersionName("2"))
    }

    enum Verb: CaseIterable, Sendable {
        case publish, publishAgain, publishElsewhere, plan, withdraw, pack, enable, prune, planPrune
        case copy

        func run(_ place: PublishingPlace) throws {
            let publisher = place.publisher()
            switch self {
            case .publish: try place.publish("1")
            case .publishAgain: try place.publish("3")
            case .publishElsewhere: try place.publish("3", to: "new")
            case .plan: _ = try publisher.plan("1", of: place.versions)
            case .withdraw: _ = try publisher.withdraw(VersionName("3"))
            case .pack: _ = try publisher.pack("3", of: place.versions)
            case .enable: _ = try publisher.engine().beginAnnouncing(of: [.stable], nil) { _ in }
            case .prune: try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
            case .planPrune:
                _ = try OriginPruner(publisher.engine(isDraft: true)).prune(
                    keeping: 10, grace: 0, isDryRun: true)
            case .copy: try place.copy(to: place.withOrigin("target"))
            }
        }
    }

    private func lose(from number: Int64, through last: Int64, in place: PublishingPlace) {
        for number in number...last {
            Damage.remove("\(place.origin)/\(OriginLayout.logEntry(number))")
        }
    }

    private func findings(_ mender: OriginMender? = nil) throws -> [OriginFinding] {
        let storage = try DirectoryStorage(place.origin, scratch: OriginLayout.work)
        return try OriginAudit(storage, repairingFrom: mender).run().findings
    }

    @Test(arguments: Verb.allCases, [6, 4, 2] as [Int64])
    func `no verb builds upon what is left, and each says what to do`(
        _ verb: Verb, _ number: Int64
    ) throws {
        lose(from: number, through: 6, in: place)
        let before = try place.published()
        for _ in 0..<2 {
            expectRefusal(.damagedOrigin, saying: "names entry", "restore log/") {
                try verb.run(place)
            }
            try expect(place.published(), equals: before)
        }
    }

    @Test func `what another channel's pointer names is missed, too`() throws {
        // Entry 5 is that of stable, and 6 that of beta.
        let place = first
        _ = try place.publisher().withdraw(VersionName("2"), from: ChannelName("beta"))
        lose(from: 6, through: 6, in: place)
        let before = try place.published()
        expectRefusal(.damagedOrigin) { try place.publish("1") }
        try expect(place.published(), equals: before)
    }

    @Test func `a check finds it, and after a repair the log continues from what is left`() throws {
        lose(from: 6, through: 6, in: place)
        let found = try findings()
        expect(found.map(\.kind), equals: [.wrongPointer])
        expect(found[0].message.contains("restore them"))
        try expect(findings(OriginMender([])).map(\.isRepaired), equals: [true])
        try place.publish("1")
        try expect(findings(), equals: [])
    }

    @Test(arguments: ["1", "2", "3"])
    func `a directory whose log is gone is taken over by whoever says so, whatever is published`(
        _ version: String
    ) throws {
        Damage.remove("\(place.origin)/log")
        expectRefusal(.damagedOrigin) { try place.publish(version) }
        let publisher = place.publisher { ($0.isDurable, $0.takesOver) = (false, true) }
        let offered = try publisher.publish(version, of: place.versions).pointer.releases
        try expect(findings(), equals: [])
        let pointer = try require(try DirectoryOrigin(place.origin).pointer(.stable))
        expect(pointer.releases == offered && pointer.log == (version == "3" ? nil : 2))
    }

    @Test(arguments: 1...5 as ClosedRange<Int64>, [true, false])
    func `a check finds every entry that is damaged or lost, and says nothing else`(
        _ number: Int64, isLost: Bool
    ) throws {
        let entry = OriginLayout.logEntry(number)
        if isLost {
            Damage.remove("\(place.origin)/\(entry)")
        } else {
            try Damage.truncate("\(place.origin)/\(entry)", to: 100)
        }
        let found = try findings()
        expect(found.first?.kind, equals: isLost ? .missingEntry : .damagedEntry)
        expect(found.first?.path, equals: entry)
        expect(Set(found.map(\.kind)).isSubset(of: [.missingEntry, .damagedEntry]), "\(found)")
    }
    @Test(
        "without an old entry the rest is mended, and a log begun anew loses and brings back nothing",
        arguments: 1...5 as ClosedRange<Int64>, [true, false])
    func begunAnew(_ number: Int64, isLost: Bool) throws {
        let origin = try DirectoryOrigin(place.origin)
        func offered() throws -> [[ChannelRelease]?] {
            try [.stable, ChannelName("beta")].map { try origin.pointer($0)?.releases }
        }
        let before = try offered()
        let entry = "\(place.origin)/\(OriginLayout.logEntry(number))"
        if isLost { Damage.remove(entry) } else { try Damage.truncate(entry, to: 100) }
        for verb in [Verb.prune, .planPrune] {
            expectRefusal(saying: "begin the log anew") { try verb.run(place) }
        }
        // Devices still see what was withdrawn, and its content is gone.
        try place.set("channels/stable.json", first.bytes("channels/stable.json"))
        Damage.remove("\(place.origin)/objects")
        try expect(offered() != before)
        let found = try findings(OriginMender([place.versions]))
        expect(Set(found.map(\.kind)).isSuperset(of: [.wrongPointer, .missingFile]))
        expect(
            found.allSatisfy { $0.isRepaired != [.missingEntry, .damagedEntry].contains($0.kind) },
            "\(found)")
        try expect(offered(), equals: before)
        Damage.remove("\(place.origin)/log")
        let publisher = place.publisher { ($0.isDurable, $0.takesOver) = (false, true) }
        try publisher.publish("3", of: place.versions)
        try expect(offered(), equals: before)
        try expect(findings(), equals: [])
        try place.publisher().collect(OriginRetention(releaseCount: 10, graceSeconds: 0))
        try expect(findings(), equals: [])
    }
}
