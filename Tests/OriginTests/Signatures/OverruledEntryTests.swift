import OriginTestSupport

@testable import Origin

/// Entries cannot be taken back, and only pointers are signed: docs/buckets.md, "Signed channels".
@Suite("A publisher with a key, after what a stranger without one has added to the log")
struct OverruledEntryTests {
    private struct Scene {
        let people: SignedPlace
        private let before: Origin.OriginState

        init(_ kind: OriginPlace, remembers: Bool) throws {
            people = try SignedPlace(kind, signed: "1", "2")
            let alice = try people.signing(people.alice)
            for version in ["3", "4"] { try people.place.store.add(version, ["a": version]) }
            _ = try people.publisher(alice).withdraw(VersionName("2"))
            try people.publish("3", alice)
            try people.publish("1", alice, to: "beta")
            if !remembers { try people.forget(people.alice) }
            before = try people.state()
        }

        /// Appends what a stranger makes of the newest entry.
        func append(
            _ distance: Int64 = 1, _ change: (inout LogEntry, Int64) throws -> Void = { _, _ in }
        ) throws {
            let log = OriginLog(try people.place.storage())
            let end = try require(try log.end(from: 0))
            var entry = try require(try log.reading(end)?.entry)
            (entry.author, entry.pointerCondition) = (try LogEntry.drawAuthor(), nil)
            (entry.pointers, entry.configurations, entry.rows) = ([:], [:], [:])
            try change(&entry, end + distance)
            try people.place.set(OriginLayout.logEntry(end + distance), entry.serialized())
        }

        /// Gives a channel a pointer that offers nothing.
        func take(_ channel: ChannelName, isSigned: Bool, in entry: inout LogEntry, _ number: Int64)
            throws
        {
            var pointer = try require(before.pointers[.stable])
            (pointer.channel, pointer.log, pointer.releases) = (channel, number, [])
            pointer.sequence += 5
            let key = pointer.signatures[0].key
            pointer.signatures = []
            if isSigned {
                // In the name of the right key.
                let made = try people.signing(people.mallory).sign(pointer, now: 1).signatures[0]
                pointer.signatures = [PointerSignature(key: key, signature: made.signature)]
            }
            (entry.channels[channel], entry.pointers[channel]) = (number, pointer)
        }

        /// Puts the channel back to when it offered what was withdrawn.
        func putBack(in entry: inout LogEntry) throws {
            let log = OriginLog(try people.place.storage())
            let old = try require(
                (1...before.number).last { number in
                    let pointer = try log.entry(number)?.pointers[.stable]
                    return pointer?.releases.first?.version?.name.description == "2"
                })
            entry.channels[.stable] = old
        }

        func run(_ verb: String) throws {
            let alice = try people.signing(people.alice)
            let publisher = people.publisher(alice)
            switch verb {
            case "publish": try people.publish("4", alice)
            case "publish anew": try people.publish("4", alice, to: "gamma")
            case "withdraw": _ = try publisher.withdraw(VersionName("3"))
            case "resign": try publisher.resign()
            case "prune": try publisher.collect(OriginRetention(releaseCount: 9, graceSeconds: 0))
            default: try people.rotate(people.alice, to: people.bob)
            }
        }

        /// Devices that trust the key get what it has signed last.
        func expectOffered(by key: String, _ what: String) throws {
            for channel in ["stable", "beta"] {
                try people.expectSigned(by: key, channel: channel)
                let releases = try people.pointer(channel).liveReleases
                expect(!releases.isEmpty, "\(what)")
                for release in releases {
                    expect(release.version.name.description != "2", "\(what)")
                    _ = try people.place.files(of: release.version)
                }
            }
        }
    }

    private typealias Addition = @Sendable (Scene) throws -> Void

    /// What a stranger adds.
    private static let additions: [(String, Addition)] = [
        (
            "an unknown field of a mebibyte",
            { scene in
                try scene.append { entry, _ in
                    let text = String(repeating: "x", count: (1 << 20) - 4_000)
                    entry.foreign = [.init(key: "x", value: .string(text))]
                }
            }
        ),
        (
            "histories of systems that are none",
            { scene in
                for number in 0..<3 {
                    try scene.append { entry, place in
                        for system in 0..<5 {
                            let system = try require(AnnouncedSystem("none\(number)\(system)"))
                            for position in 0..<600 {
                                let long = "c\(position)" + String(repeating: "x", count: 58)
                                let channel = try ChannelName(long)
                                let name = HistoryName(system: system, channel: channel)
                                entry.clients[system, default: ClientPlaces()]
                                    .histories[channel] = place
                                entry.rows[name] = HistoryRows(
                                    before: 0, count: 0, labelCount: 0, offers: [],
                                    digest: try ObjectID(of: []))
                            }
                        }
                    }
                }
            }
        ),
        (
            "an old place",
            { scene in try scene.append { entry, _ in try scene.putBack(in: &entry) } }
        ),
        (
            "an old place, and a channel that says it is signed",
            { scene in
                try scene.append { entry, _ in try scene.putBack(in: &entry) }
                try scene.append { entry, number in
                    let evil = try ChannelName("evil")
                    try scene.take(evil, isSigned: true, in: &entry, number)
                }
            }
        ),
        (
            "an old place, after which nothing is signed",
            { scene in
                try scene.append { entry, number in
                    for channel in [ChannelName.stable, try ChannelName("beta")] {
                        try scene.take(channel, isSigned: false, in: &entry, number)
                    }
                }
                try scene.append { entry, _ in try scene.putBack(in: &entry) }
            }
        ),
        (
            "more old places than anybody adds",
            { scene in
                for _ in 0..<1_002 {
                    try scene.append { entry, _ in try scene.putBack(in: &entry) }
                }
            }
        ),
        ("an entry beyond a gap", { try $0.append(2) }),
        (
            "an entry of a newer castree beyond a gap",
            { scene in
                let end = try scene.people.state().number
                try scene.people.place.set(
                    OriginLayout.logEntry(end + 2), Array("{\"castreeLog\":9}".utf8))
            }
        ),
    ]

    /// A channel that says that its keys have signed it or not, and what a prune would give up for it.
    private static var takings: [(String, Addition)] {
        var takings: [(String, Addition)] = []
        for (name, isSigned, count) in [
            ("stable", true, 1), ("beta", true, 1), ("beta", false, 1), ("stable", true, 2),
            ("stable", false, 3), ("stable", true, 3),
        ] {
            let addition: Addition = { scene in
                let channel = try ChannelName(name)
                try scene.append { entry, number in
                    try scene.take(channel, isSigned: isSigned, in: &entry, number)
                    entry.createdAt -= 1_000
                }
                if count > 1 {
                    try scene.append { entry, number in
                        (entry.kind, entry.prunedAt) = (.prune, number)
                    }
                }
                if count > 2 { try scene.append { entry, number in entry.keptFrom = number - 1 } }
            }
            takings.append(("\(count) for \(name), signed: \(isSigned)", addition))
        }
        return takings
    }

    private static let verbs = ["publish", "publish anew", "withdraw", "resign", "prune", "rotate"]

    @Test(
        "continues, deletes nothing that it offers, and offers nothing again that it has withdrawn",
        arguments: places, [true, false])
    func goingOn(_ kind: OriginPlace, _ remembers: Bool) throws {
        let share = TestShare(oneIn: 3, of: "\(kind) \(remembers)")
        for (what, add) in Self.additions + Self.takings {
            let isLong = what.hasPrefix("more")
            for verb in isLong ? ["publish"] : share.of(Self.verbs) {
                let scene = try Scene(kind, remembers: remembers)
                let people = scene.people
                try add(scene)
                people.place.clock.advance(86_400)
                let what = "\(verb) after \(what)"
                let key = verb == "rotate" ? people.bob : people.alice
                let signing = try people.signing(key)
                let retention = OriginRetention(releaseCount: 9, graceSeconds: 0)
                for step in 0...3 {
                    let refused = refusal {
                        switch step {
                        case 0: try scene.run(verb)
                        case 1: try people.publish("1", signing)
                        case 2: try people.publisher(signing).collect(retention)
                        default: try people.publish("3", signing)
                        }
                    }
                    expect(refused == nil, "\(what), step \(step): \(refused?.message ?? "")")
                    try scene.expectOffered(by: key, "\(what), step \(step)")
                }
            }
        }
    }

    /// A search for the end doubles its steps; whoever writes may be where it looks, and name any number in a copy.
    @Test("continues before entries far ahead, whichever copy names them", arguments: places)
    func farAhead(_ kind: OriginPlace) throws {
        let steps = (1...33).map { (Int64(1) << $0) - 1 }
        for (what, some) in [("all", steps), ("the last", [steps[32]])] {
            for verb in Self.verbs {
                let scene = try Scene(kind, remembers: true)
                let people = scene.people
                let end = try people.state().number
                let log = OriginLog(try people.place.storage())
                var entry = try require(try log.reading(end)?.entry)
                (entry.pointers, entry.configurations, entry.rows) = ([:], [:], [:])
                for step in some {
                    for place in [step, end + step] where place > end {
                        try people.place.set(OriginLayout.logEntry(place), entry.serialized())
                    }
                }
                var copy = try people.pointer("stable")
                (copy.log, copy.signatures) = (end + steps[32], [])
                try people.place.set(OriginLayout.pointer(.stable), copy.serialized())
                let refused = refusal { try scene.run(verb) }
                expect(refused == nil, "\(verb), \(what): \(refused?.message ?? "")")
                // Another channel's copy is left as it is.
                if verb == "publish anew" { continue }
                try scene.expectOffered(
                    by: verb == "rotate" ? people.bob : people.alice, "\(verb), \(what)")
            }
        }
    }

    @Test(
        "stands again for those who have no key, whichever channel a stranger took",
        arguments: places)
    func restored(_ kind: OriginPlace) throws {
        let share = TestShare(oneIn: 3, of: "\(kind)")
        for (what, add) in share.of(Self.takings) {
            for verb in ["publish", "resign", "prune"] {
                let scene = try Scene(kind, remembers: true)
                try add(scene)
                try scene.run(verb)
                for (channel, pointer) in try scene.people.state().pointers {
                    let seen = try scene.people.pointer(channel.description)
                    expect(seen, equals: pointer, "\(what), \(verb)")
                    expect(!pointer.releases.isEmpty, "\(what), \(verb)")
                }
                for _ in 0...2 {
                    scene.people.place.clock.advance(86_400)
                    try scene.people.publisher(PointerSigning()).collect(
                        OriginRetention(releaseCount: 9, graceSeconds: 0))
                    try scene.expectOffered(by: scene.people.alice, "\(what), \(verb)")
                }
                try expect(
                    OriginAudit(scene.people.place.storage(), .hasty()).run().findings, equals: [],
                    "\(what), \(verb)")
            }
        }
    }
}
