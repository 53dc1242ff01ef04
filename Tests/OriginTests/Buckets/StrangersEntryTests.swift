import OriginTestSupport

@testable import Origin

/// Who may put files into a bucket and has no key appends an entry to the log of a signed origin, which nobody can take
/// back: who has the key publishes, withdraws and prunes as before, and devices take what is published.
@Suite("A stranger's entry in the log of a signed origin") struct StrangersEntryTests {
    private let people: SignedPlace
    private let world: BucketWorld
    /// What the key has signed before the stranger came.
    private let noted: [UInt8]

    init() throws {
        people = try SignedPlace()
        let world = try BucketWorld()
        self.world = world
        let alice = try people.signing(people.alice)
        let publisher = world.publisher(options: { $0.signing = alice })
        for version in ["1", "2", "3"] { try world.publish(version, by: publisher) }
        try world.publish("1", to: "beta", by: publisher)
        _ = try OriginPruner(publisher).prune(keeping: 2, grace: 0)
        try world.publish("2", to: "beta", by: publisher)
        noted = try Damage.contents(people.memoryFile(people.alice))
    }

    private static let values: [(String, JSONValue?)] = [
        ("missing", nil), ("no text", .string("x")), ("no number", .array([.null])),
        ("0", .integer(0)), ("-1", .integer(-1)), ("2^53-1", .integer((1 << 53) - 1)),
        ("Int64.max", .integer(.max)),
    ]

    /// A member somewhere in an entry, and what stands there.
    private struct Forgery {
        let name: String
        let bytes: [UInt8]
    }

    /// The entry that follows, changed nowhere: what every forgery begins with.
    private func honest(_ state: Origin.OriginState, withPointer: Bool) throws -> JSONValue {
        var entry = try LogEntry(after: state, .prune, now: world.store.clock.now)
        if withPointer {
            var pointer = try require(state.pointers[.stable]).renewed(now: entry.createdAt)
            pointer.log = state.number + 1
            entry.pointers[.stable] = pointer
            entry.channels[.stable] = state.number + 1
        }
        return try JSONValue.parse(entry.serialized())
    }

    private func forgeries(_ state: Origin.OriginState) throws -> [Forgery] {
        var other = state.entry
        (other.epoch, other.keptFrom, other.prunedAt) = (0, 1, 0)
        other.channels = [.stable: 1]
        (other.pointers, other.kind) = ([:], .resign)
        other.author = String(repeating: "a", count: 32)
        let another = try JSONValue.parse(other.serialized())
        var forgeries = [
            ("", []), ("{}", Array("{}".utf8)), ("no JSON", Array("{\"castreeLog\":1".utf8)),
            ("zeros", [UInt8](repeating: 0, count: 300)),
            ("too large", [UInt8](repeating: 32, count: 2 << 20)),
        ].map { Forgery(name: $0, bytes: $1) }
        func add(_ name: String, _ document: JSONValue) {
            forgeries.append(
                Forgery(name: name, bytes: JSONWriter.serialize(document, sortedKeys: true) + [10]))
        }
        for withPointer in [false, true] {
            let whole = try honest(state, withPointer: withPointer)
            for path in Self.paths(whole) {
                let place = path.joined(separator: ".") + (withPointer ? " beside a pointer" : "")
                for (value, replacement) in Self.values {
                    add("\(place) \(value)", whole.replacing(path[...], by: replacement))
                }
                if path.count == 1, let replacement = another[path[0]] {
                    add("\(place) of another", whole.replacing(path[...], by: replacement))
                }
            }
            for key in ["clients", "configurations", "rows", "probe"] {
                for (value, replacement) in Self.values {
                    add("\(key) \(value)", whole.replacing([key], by: replacement))
                }
            }
            add(
                "an epoch too many", whole.replacing(["epoch"], by: .integer(state.entry.epoch + 2))
            )
            add("an epoch beyond the log", whole.replacing(["epoch"], by: .integer(100)))
            add("no channels", whole.replacing(["channels"], by: .object([])))
            add("kept from here", whole.replacing(["kept"], by: .integer(state.number + 1)))
        }
        return forgeries
    }

    /// The members of an entry, and those in it that are not a release's.
    private static func paths(_ document: JSONValue) -> [[String]] {
        (document.asObject ?? []).flatMap { member -> [[String]] in
            let below = paths(member.value).map { [member.key] + $0 }
            return [[member.key]] + below
        }
    }

    @Test func `keeps nobody from publishing, withdrawing and pruning, whatever it says`() throws {
        let start = try world.state()
        let number = start.number + 1
        let forgeries = try forgeries(start)
        expect(forgeries.count > 250)
        let alice = try people.signing(people.alice)
        let keys = try TrustedKeys([people.key(people.alice)])
        for forgery in forgeries {
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            world.store.set(OriginLayout.logEntry(number), forgery.bytes)
            let notices = Notices()
            func publisher() -> OriginPublisher {
                world.publisher(options: { ($0.signing, $0.notice) = (alice, notices.sink) })
            }
            // Somebody prunes every night, without a key.
            let pruned = refusal {
                try OriginPruner(world.publisher()).prune(keeping: 1, grace: 3_600)
            }
            let isNewer = forgery.name.contains("castree") && pruned != nil
            expect(pruned?.code, equals: isNewer ? .unsupportedFormat : nil, "\(forgery.name)")
            let refused = refusal {
                try world.publish("4", by: publisher())
                _ = try publisher().withdraw(VersionName("4"))
                try world.publish("5", by: publisher())
                _ = try OriginPruner(publisher()).prune(keeping: 1, grace: 0)
                try world.publish("4", to: "beta", by: publisher())
            }
            expect(refused == nil, "\(forgery.name): \(refused?.message ?? "")")
            for (channel, version) in [("stable", "5"), ("beta", "4")] {
                let name = try ChannelName(channel)
                let file = try require(world.store.files["channels/\(channel).json"])
                let pointer = try ChannelPointer(parsing: file.bytes, of: name)
                expect(keys.judge(pointer).objection == nil, "\(forgery.name)")
                let newest = pointer.releases.first?.version?.name.description
                expect(newest, equals: version, "\(forgery.name)")
            }
            world.expectEnd("\(forgery.name)")
            let findings = try OriginAudit(world.bucket()).run().findings
            let named = Set(findings.compactMap(\.path))
            expect(
                named.isSubset(of: [OriginLayout.logEntry(number)]), "\(forgery.name): \(findings)")
            // What follows from the entry before is as good as one of castree's: nothing but pointers is signed.
            let followed = (try? LogEntry(parsing: forgery.bytes, number: number)).map {
                EntryOutline($0, number).breaches(
                    number, after: EntryOutline(start.entry, start.number))
            }
            expect(named.isEmpty, equals: followed == [], "\(forgery.name)")
            let isSaid = notices.all.contains { $0.contains("entry \(number) of the log") }
            expect(isSaid || followed == [], "\(forgery.name): \(notices.all)")
        }
    }
    /// Appends entries that name the pointer of a signed channel, each too large for many of them to be held in memory.
    private func flood(
        _ world: BucketWorld, _ count: Int64,
        _ change: (inout LogEntry, Int64) -> Void = { _, _ in }
    ) throws {
        let state = try world.state()
        var (entry, pointer) = (state.entry, try require(state.pointers[.stable]))
        entry.foreign = [.init(key: "x", value: .string(String(repeating: "x", count: 400 << 10)))]
        for number in state.number + 1..<state.number + 1 + count {
            pointer.log = number
            (entry.pointers, entry.channels[.stable]) = ([.stable: pointer], number)
            entry.author = try LogEntry.drawAuthor()
            change(&entry, number)
            world.store.set(OriginLayout.logEntry(number), entry.serialized())
        }
    }

    @Test(
        "costs a few requests where there are many, and it is said which are passed over",
        arguments: ["publish", "withdraw", "resign", "prune"])
    func many(_ verb: String) throws {
        let alice = try people.signing(people.alice)
        let start = try world.state().number
        var costs: [Int] = []
        for count in [0, 32] as [Int64] {
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            try flood(world, count)
            let notices = Notices()
            let publisher = world.publisher(options: {
                ($0.signing, $0.notice) = (alice, notices.sink)
            })
            let before = world.store.requestCount
            switch verb {
            case "publish": try world.publish("4", by: publisher)
            case "withdraw": _ = try publisher.withdraw(VersionName("3"))
            case "resign": _ = try publisher.resign()
            default: _ = try OriginPruner(publisher).prune(keeping: 1, grace: 0)
            }
            costs.append(world.store.requestCount - before)
            guard count > 0, verb != "prune" else { continue }
            let isSaid = notices.all.contains {
                $0.contains("in entry \(start + count) of the log")
                    && $0.contains("any other after entry")
            }
            expect(isSaid, "\(notices.all)")
        }
        expect(costs[1] - costs[0] <= 32 * 12, "\(costs)")
    }

    @Test("costs a prune a few looks at each of many prunes, whatever times they say")
    func prunes() throws {
        let alice = try people.signing(people.alice)
        var costs: [Int] = []
        for count in [32, 64] as [Int64] {
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            _ = try world.publisher(options: { $0.signing = alice }).withdraw(VersionName("3"))
            let state = try world.state().entry
            try flood(world, count) { entry, number in
                (entry.kind, entry.prunedAt, entry.createdAt) = (.prune, number, 1)
                (entry.pointers, entry.channels) = ([:], state.channels)
            }
            let asked = Atomic<Int>(0)
            var disk = LyingStorage(world.bucket())
            disk.isOnDisk = true
            disk.content = { key in
                if key.hasPrefix("log/") { asked.add(1, ordering: .relaxed) }
                return nil
            }
            let clock = world.store.clock
            var options = PublisherOptions()
            (options.signing, options.isDurable) = (alice, false)
            let publisher = OriginPublisher(
                disk, options: options, now: { clock.now }, pause: { _ in clock.advance(1) })
            _ = try OriginPruner(publisher).prune(keeping: 1, grace: 0)
            costs.append(asked.load(ordering: .relaxed))
        }
        expect(costs[1] - costs[0] <= 32 * 24, "\(costs)")
    }

    @Test("is not followed by one that nobody would read: it is refused before anything is written")
    func readBeforeWritten() throws {
        let state = try require(try OriginLog(world.bucket()).state(from: 0))
        let sound = try LogEntry(after: state, .publish, now: world.store.clock.now)
        func refused(_ change: (inout LogEntry) throws -> Void) throws -> StoreError.Code? {
            var entry = sound
            try change(&entry)
            return code {
                try LogCommit.check(entry, state.number + 1, after: state.entry, of: world.bucket())
            }
        }
        try expect(refused { _ in } == nil)
        let pointer = try require(state.pointers[.stable])
        func place(_ pointer: ChannelPointer, in entry: inout LogEntry) {
            entry.pointers[.stable] = pointer
            entry.channels[.stable] = state.number + 1
        }
        let system = try require(AnnouncedSystem("codepush"))
        let name = HistoryName(system: system, channel: .stable)
        let changes: [(inout LogEntry) throws -> Void] = [
            { $0.epoch += 2 }, { $0.epoch = 100 }, { $0.epoch = -1 }, { $0.keptFrom = 0 },
            { $0.keptFrom -= 1 }, { $0.prunedAt = 1 }, { $0.createdAt = -1 },
            { $0.createdAt = 1 << 53 }, { $0.channels[.stable] = nil },
            { $0.channels[.stable] = state.number + 1 },
            { place(pointer, in: &$0) },
            {
                var pointer = pointer
                (pointer.log, pointer.sequence) = (state.number + 1, 1 << 53)
                place(pointer, in: &$0)
            },
            {
                $0.clients[system] = ClientPlaces(histories: [.stable: state.number + 1])
                $0.rows[name] = HistoryRows(
                    before: 0, count: 0, labelCount: 1 << 53, offers: [],
                    digest: try ObjectID(of: []))
            },
        ]
        for (position, change) in changes.enumerated() {
            try expect(refused(change), equals: .damagedOrigin, "\(position)")
        }
    }
}

extension JSONValue {
    /// The document with another value at a place; `nil` takes the member away.
    fileprivate func replacing(_ path: ArraySlice<String>, by value: JSONValue?) -> JSONValue {
        guard let key = path.first else { return value ?? .null }
        var members = asObject ?? []
        let rest = path.dropFirst()
        guard let position = members.firstIndex(where: { $0.key == key }) else {
            if let value { members.append(.init(key: key, value: value)) }
            return .object(members)
        }
        if rest.isEmpty, value == nil {
            members.remove(at: position)
        } else {
            members[position] = .init(
                key: key, value: members[position].value.replacing(rest, by: value))
        }
        return .object(members)
    }
}
