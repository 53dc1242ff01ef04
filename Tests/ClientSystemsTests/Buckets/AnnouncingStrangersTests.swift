import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

/// Who could write to an origin once needs no key for what an entry says to the clients of other systems: nobody signs it.
@Suite("What a stranger announces to the clients of other systems") struct AnnouncingStrangersTests
{
    private typealias Object = [String: Any]

    /// Appends an entry that changes no pointer.
    private func append(
        to world: AnnouncedBucketWorld, _ change: (inout Object, Int) throws -> Void
    ) throws {
        let number = world.store.files.keys.count { $0.hasPrefix("log/") } + 1
        func key(_ number: Int) -> String { String(format: "log/%010d.json", number) }
        let bytes = try require(world.store.files[key(number - 1)]).bytes
        var entry = try require(try JSONSerialization.jsonObject(with: Data(bytes)) as? Object)
        entry["by"] = String(repeating: "f", count: 32)
        entry["castreeLog"] = 2
        (entry["pointers"], entry["configurations"], entry["rows"]) = (Object(), nil, nil)
        try change(&entry, number)
        let forged = try JSONSerialization.data(withJSONObject: entry, options: .sortedKeys)
        world.store.set(key(number), Array(forged))
    }

    /// Appends what an entry says of the history of CodePush's clients.
    private func appendRows(_ rows: Object, to world: AnnouncedBucketWorld) throws {
        try append(to: world) { entry, number in
            var clients = try require(entry["clients"] as? [String: Object])
            let before = (clients["codepush"]?["histories"] as? [String: Int])?["stable"] ?? 0
            clients["codepush"]?["histories"] = ["stable": number]
            entry["clients"] = clients
            entry["rows"] = ["codepush": ["stable": rows.merging(["before": before]) { $1 }]]
        }
    }

    /// Appends an entry by which that history has one more offer.
    private func appendHistory(
        to world: AnnouncedBucketWorld, _ change: (inout ClientHistory, inout ClientOffer) -> Void
    ) throws {
        var history = try world.history(.codePush)
        var offer = try require(history.offers.last)
        history.labelCount += 1
        (offer.createdAt, offer.label) = (offer.createdAt + 1, "v\(history.labelCount)")
        change(&history, &offer)
        history.offers.append(offer)
        let bytes = history.serialized()
        let document = try JSONSerialization.jsonObject(with: Data(bytes)) as? Object
        let offers = try require(document?["offers"] as? [Any])
        try appendRows(
            [
                "count": offers.count, "labelCount": Int(history.labelCount),
                "offers": Array(offers.suffix(1)), "sha256": try ObjectID(of: bytes).description,
            ], to: world)
    }

    private func publisher(_ world: AnnouncedBucketWorld, _ keys: TemporaryStore, isSigned: Bool)
        throws
        -> OriginPublisher
    {
        let key = keys.directory.appending("\(try randomToken()).key")
        try SigningKey.generate().write(to: key)
        let signers = try isSigned ? [KeyFileSigner(file: key)] : []
        return world.publisher(options: { $0.signing.signers = signers })
    }

    private func announcing(
        _ publisher: OriginPublisher, _ change: (inout ClientAnnouncing) -> Void
    ) throws -> OriginPublisher {
        var publisher = publisher
        var announcing = try require(publisher.options.announcing as? ClientAnnouncing)
        change(&announcing)
        publisher.options.announcing = announcing
        return publisher
    }

    @Test(
        "keeps no release from all others: a system whose configuration is none is left out, and said",
        arguments: [false, true], [nil, ClientSystem.expo, .codePush])
    func configurations(_ isSigned: Bool, _ enabled: ClientSystem?) throws {
        let keys = try TemporaryStore()
        for forged in [
            Object(), ["castreeClients": 1], ["castreeClients": 1, "system": "expo"],
            ["castreeClients": 1, "system": "codepush", "baseURL": "https://evil.example"],
        ] {
            let world = try AnnouncedBucketWorld()
            let publisher = try publisher(world, keys, isSigned: isSigned)
            try world.publish("1", by: publisher)
            if let enabled { try world.enable(enabled, by: publisher) }
            try append(to: world) { entry, number in
                var clients = entry["clients"] as? Object ?? [:]
                var places = clients["codepush"] as? Object ?? [:]
                places["configuration"] = number
                clients["codepush"] = places
                (entry["clients"], entry["configurations"]) = (clients, ["codepush": forged])
            }
            let strict = try announcing(publisher) { $0.isStrict = true }
            expect(code { try world.publish("2", by: strict) }, equals: .notExpressible)
            let named = try announcing(publisher) { $0.systems = [.codePush] }
            expect(code { try world.publish("2", by: named) }, equals: .badClients)
            try expect(world.publish("2", by: publisher).pointerProblem == nil)
            expect(world.notices.all.contains { $0.contains("clients of codepush: for/codepush/") })
            if enabled == .expo {
                let newest = try world.history(.expo).offers.last
                expect(newest?.version?.name.description, equals: "2")
            }
            // What the message advises.
            try world.enable(.codePush, by: publisher)
            try world.publish("3", by: publisher)
            let newest = try world.history(.codePush).offers.last
            expect(newest?.version?.name.description, equals: "3")
        }
    }

    @Test(
        "is not signed by keys that were never there: a publisher whose keys tell continues without, any other adopts",
        arguments: [false, true])
    func signatures(_ isSigned: Bool) throws {
        let keys = try TemporaryStore()
        let world = try AnnouncedBucketWorld()
        let publisher = try publisher(world, keys, isSigned: isSigned)
        try world.publish("1", by: publisher)
        try world.enable(.codePush, by: publisher)
        for label in ["x", "y"] {
            try appendHistory(to: world) { $1.signatures = ["archive": label] }
        }
        if isSigned {
            try world.publish("2", by: publisher)
            expect(world.notices.all.contains { $0.contains("added signed offers") })
            try expect(world.history(.codePush).offers.allSatisfy { !$0.isSigned })
        } else {
            let refused = refusal { try world.publish("2", by: publisher) }
            expect(refused?.code == .signingFailed && refused?.message.contains("--adopt") == true)
            try world.publish("2", by: announcing(publisher) { $0.adoptsKeys = true })
        }
        for version in ["3", "1"] { try world.publish(version, by: publisher) }
        let newest = try require(world.history(.codePush).offers.last)
        expect(newest.version?.name.description == "1" && !newest.isSigned)
    }

    @Test func `frees no publisher from the key by which clients were offered what they have`()
        throws
    {
        let keys = try TemporaryStore()
        let world = try AnnouncedBucketWorld()
        let publisher = try publisher(world, keys, isSigned: true)
        try world.publish("1", by: publisher)
        try world.enable(.codePush, by: publisher)
        let signer = try announcing(publisher) { $0.signers = [.codePush: ModelSigner()] }
        try world.publish("2", by: signer)
        try appendHistory(to: world) { $1.signatures = ["archive": "x"] }
        expect(code { try world.publish("3", by: publisher) }, equals: .signingFailed)
        try world.publish("3", by: signer)
        try expect(world.history(.codePush).offers.last?.isSigned, equals: true)
    }

    @Test func `is passed over also by keys that have replaced those which had signed it`() throws {
        let keys = try TemporaryStore()
        let world = try AnnouncedBucketWorld()
        let (old, new) = (keys.directory.appending("old"), keys.directory.appending("new"))
        for key in [old, new] { try SigningKey.generate().write(to: key) }
        func publisher(_ files: String...) throws -> OriginPublisher {
            let signers = try files.map { try KeyFileSigner(file: $0) }
            return world.publisher(options: { $0.signing.signers = signers })
        }
        try world.publish("1", by: publisher(old))
        try world.enable(.codePush, by: publisher(old))
        try world.publish("2", by: publisher(old))
        _ = try publisher(old, new).rotate(
            TrustRotation(
                adding: [SigningKey(file: new).verificationKey],
                removing: [SigningKey(file: old).verificationKey.id]))
        for label in ["x", "y"] {
            try appendHistory(to: world) { $1.signatures = ["archive": label] }
        }
        for version in ["3", "4"] { try world.publish(version, by: publisher(new)) }
        let offers = try world.history(.codePush).offers
        expect(offers.suffix(3).map { $0.version?.name.description }, equals: ["2", "3", "4"])
    }

    /// Appends rows with offers that say nothing.
    private func appendOffers(_ counts: [Int], to world: AnnouncedBucketWorld) throws {
        var (history, time) = (try world.history(.codePush), 1 << 50)
        for count in counts {
            let new: [Object] = (1...count).map { number in
                ["createdAt": time + number, "embedded": true, "firstOfferedAt": 0, "sequence": 1]
            }
            time += count
            var file = try require(
                try JSONSerialization.jsonObject(with: Data(history.serialized())) as? Object)
            file["offers"] = try require(file["offers"] as? [Any]) + new
            let bytes = try JSONSerialization.data(
                withJSONObject: file, options: [.sortedKeys, .withoutEscapingSlashes])
            history = try ClientHistory(parsing: Array(bytes) + [10], of: .stable, .codePush)
            try appendRows(
                [
                    "count": history.offers.count, "labelCount": Int(history.labelCount),
                    "offers": new, "sha256": try ObjectID(of: history.serialized()).description,
                ], to: world)
        }
    }

    @Test(
        "stops no release and no withdrawal, however many offers there are",
        arguments: [[4_000], [10_000], [10_000, 10_000, 10_000, 10_000, 10_000, 10_000, 10_000]])
    func manyOffers(_ counts: [Int]) throws {
        let keys = try TemporaryStore()
        let world = try AnnouncedBucketWorld()
        let publisher = try publisher(world, keys, isSigned: true)
        try world.publish("1", by: publisher)
        try world.enable(.codePush, by: publisher)
        try world.publish("2", by: publisher)
        try appendOffers(counts, to: world)
        if counts.count == 1 { _ = try publisher.withdraw(VersionName("2")) }
        for version in ["3", "4"] { try world.publish(version, by: publisher) }
        let offers = try world.history(.codePush).offers
        expect(offers.count < 10 && offers.contains { $0.label == "v1" }, "\(offers.count)")
        expect(offers.last?.version?.name.description, equals: "4")
    }

    @Test func `stops no release where no entry has space for the history before it`() throws {
        let keys = try TemporaryStore()
        let world = try AnnouncedBucketWorld()
        let publisher = try publisher(world, keys, isSigned: true)
        try world.publish("1", by: publisher)
        try world.enable(.codePush, by: publisher)
        for _ in 0..<5 {
            try appendHistory(to: world) {
                $1.id = String(repeating: "x", count: 300_000)
            }
        }
        try world.publish("2", by: publisher)
        try expect(world.history(.codePush).serialized().count > 1 << 20)
        try appendRows(
            [
                "count": 1, "labelCount": 1, "offers": [[String: Int]](),
                "sha256": String(repeating: "0", count: 64),
            ], to: world)
        for version in ["3", "4"] { try world.publish(version, by: publisher) }
        let offers = try world.history(.codePush).offers
        expect(offers.suffix(3).map { $0.version?.name.description }, equals: ["2", "3", "4"])
    }

    @Test("is read once where there are many rows that nobody can make a history of")
    func manyRows() throws {
        let keys = try TemporaryStore()
        var costs: [Int] = []
        for count in [40, 80] {
            let world = try AnnouncedBucketWorld()
            let publisher = try publisher(world, keys, isSigned: true)
            try world.publish("1", by: publisher)
            try world.enable(.codePush, by: publisher)
            try world.publish("2", by: publisher)
            let padding = String(repeating: "x", count: 500 << 10)
            for _ in 0..<count {
                try appendRows(
                    [
                        "count": 100_000, "labelCount": 9,
                        "offers": [["createdAt": 1, "x": padding]],
                        "sha256": String(repeating: "0", count: 64),
                    ], to: world)
            }
            let before = world.store.requestCount
            try world.publish("3", by: publisher)
            costs.append(world.store.requestCount - before)
            try expect(world.history(.codePush).offers.map(\.label), equals: ["v1", "v2", "v3"])
        }
        expect(costs[1] <= costs[0] * 5 / 2, "\(costs)")
    }

    @Test(arguments: [false, true])
    func
        `numbers and times of a stranger's, above which there are none, keep no release from clients`(
            _ isSigned: Bool
        ) throws
    {
        let keys = try TemporaryStore()
        let (max, last) = (ChannelPointer.sequenceMax, Int64(253_402_300_799_999))
        let changes: [(inout ClientHistory, inout ClientOffer) -> Void] = [
            { ($0.labelCount, $1.label) = (max, "v\(max)") },
            { ($0.labelCount, $1.label) = (max - 1, "v\(max - 1)") },
            { history, _ in history.labelCount = max },
            { $1.createdAt = max }, { $1.createdAt = max - 1 }, { $1.createdAt = last },
            { $1.firstOfferedAt = max },
            {
                ($0.labelCount, $1.label) = (max, "v\(max)")
                ($1.createdAt, $1.firstOfferedAt) = (max, max)
            },
        ]
        for (position, change) in changes.enumerated() {
            let world = try AnnouncedBucketWorld()
            let publisher = try publisher(world, keys, isSigned: isSigned)
            try world.publish("1", by: publisher)
            try world.enable(.codePush, by: publisher)
            try world.publish("2", by: publisher)
            try appendHistory(to: world, change)
            for version in ["3", "4", "1"] {
                try expect(world.publish(version, by: publisher).pointerProblem == nil)
                let offers = try world.history(.codePush).offers
                expect(offers.last?.version?.name.description, equals: version, "\(position)")
                expect(offers.allSatisfy { $0.createdAt < last + 1000 }, "\(position)")
            }
            world.checkEnd()
            expect(world.broken, equals: [], "\(position)")
        }
    }

    @Test
    func
        `rows that nobody can make a history of keep no release and no withdrawal from devices, and labels continue`()
        throws
    {
        // Nobody can make the history again from what rows say, or nobody reads it.
        let unread =
            #"{"castreeHistory":1,"channel":"stable","labelCount":9007199254740991,"offers":"#
            + #"[{"createdAt":1}],"system":"codepush"}"# + "\n"
        let digest = try ObjectID(of: Array(unread.utf8)).description
        for (isWithdrawnFirst, isMade) in [
            (false, false), (true, false), (false, true), (true, true),
        ] {
            let world = try AnnouncedBucketWorld(offering: "1")
            try world.enable(.codePush, by: world.publisher())
            try world.publish("2", by: world.publisher())
            try appendRows(
                [
                    "count": isMade ? 1 : 2, "labelCount": (1 << 53) - 1,
                    "offers": isMade ? [["createdAt": 1]] : [[String: Int]](),
                    "sha256": isMade ? digest : String(repeating: "0", count: 64),
                ], to: world)
            func offered() throws -> [String] {
                let file = try require(world.store.files["channels/stable.json"])
                return try ChannelPointer(parsing: file.bytes, of: .stable).releases.compactMap {
                    $0.version?.name.description
                }
            }
            if isWithdrawnFirst {
                try expect(world.publisher().withdraw(VersionName("2")).pointerProblem == nil)
                try expect(offered(), equals: ["1"])
            }
            try expect(world.publish("3", by: world.publisher()).pointerProblem == nil)
            try expect(offered().first, equals: "3")
            let offers = try world.history(.codePush).offers
            expect(offers.map(\.label), equals: ["v1", "v2", "v3"])
            let reason = isMade ? "is refused" : "cannot be made again"
            expect(world.notices.all.contains { $0.contains(reason) })
            try world.publish("4", by: world.publisher())
            let history = try world.history(.codePush)
            expect(history.offers.last?.label, equals: "v4")
            var copy = try ClientHistory(
                parsing: try require(world.store.files["for/codepush/stable.json"]).bytes,
                of: .stable, .codePush)
            copy.log = nil
            expect(copy, equals: history)
            expect(world.broken, equals: [])
        }
    }
}
