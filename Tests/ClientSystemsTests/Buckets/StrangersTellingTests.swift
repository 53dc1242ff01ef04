import BucketTestSupport
import HotPush

@testable import ClientSystems

/// Who could write to an origin once needs no key for what an entry says to the clients of other systems: nobody signs it.
@Suite("What a stranger tells the clients of other systems") struct StrangersTellingTests {
    private typealias Object = [String: Any]

    /// Appends an entry that changes no pointer.
    private func append(
        to world: ToldBucketWorld, _ change: (inout Object, Int) throws -> Void
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

    private func publisher(_ world: ToldBucketWorld, _ keys: TemporaryStore, isSigned: Bool) throws
        -> OriginPublisher
    {
        let key = keys.directory.appending("\(try randomToken()).key")
        try SigningKey.generate().write(to: key)
        let signers = try isSigned ? [KeyFileSigner(file: key)] : []
        return world.publisher(options: { $0.sealing.signers = signers })
    }

    private func telling(
        _ publisher: OriginPublisher, _ change: (inout ClientTelling) -> Void
    ) throws -> OriginPublisher {
        var publisher = publisher
        var telling = try require(publisher.options.telling as? ClientTelling)
        change(&telling)
        publisher.options.telling = telling
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
            let world = try ToldBucketWorld()
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
            let strict = try telling(publisher) { $0.isStrict = true }
            expect(code { try world.publish("2", by: strict) }, equals: .notExpressible)
            let named = try telling(publisher) { $0.systems = [.codePush] }
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
        "is not signed by keys that were never there: whoever adopts goes on without",
        arguments: [false, true])
    func signatures(_ isSigned: Bool) throws {
        let keys = try TemporaryStore()
        let world = try ToldBucketWorld()
        let publisher = try publisher(world, keys, isSigned: isSigned)
        try world.publish("1", by: publisher)
        try world.enable(.codePush, by: publisher)
        var history = try world.history(.codePush)
        var offer = try require(history.offers.last)
        (offer.createdAt, offer.label, history.labelCount) = (offer.createdAt + 1, "v2", 2)
        offer.signatures = ["archive": "x.y.z"]
        history.offers.append(offer)
        let bytes = history.serialized()
        let document = try JSONSerialization.jsonObject(with: Data(bytes)) as? Object
        let offers = try require(document?["offers"] as? [Any])
        try append(to: world) { entry, number in
            var clients = try require(entry["clients"] as? [String: Object])
            let before = (clients["codepush"]?["histories"] as? [String: Int])?["stable"] ?? 0
            clients["codepush"]?["histories"] = ["stable": number]
            entry["clients"] = clients
            let rows: Object = [
                "before": before, "count": offers.count, "labelCount": 2,
                "offers": Array(offers.suffix(1)), "sha256": try ObjectID(of: bytes).description,
            ]
            entry["rows"] = ["codepush": ["stable": rows]]
        }
        let refused = refusal { try world.publish("2", by: publisher) }
        expect(refused?.code == .signingFailed && refused?.message.contains("--adopt") == true)
        try world.publish("2", by: telling(publisher) { $0.adoptsKeys = true })
        for version in ["3", "1"] { try world.publish(version, by: publisher) }
        let newest = try require(world.history(.codePush).offers.last)
        expect(newest.version?.name.description == "1" && !newest.isSigned)
    }
}
