import StorageTestSupport

@testable import ClientSystems
@testable import HotPush
@testable import Origin

@Suite("Which update Expo's clients get") struct ExpoChoiceTests {
    /// An offer as the tests remember it, apart from what the code keeps.
    private struct Offered {
        /// `nil` for going back.
        var version: Int?
        /// `nil` for all runtime versions.
        var runtime: String?
        var perMille: Int
        var ids: [String: String]
        var isLive = true
    }

    /// A device's place in a roll-out by long division over the digits of SHA-256(salt, NUL, device): another way than
    /// the code's.
    static func place(_ device: String) throws -> Int {
        let digest = try address(of: Array("model\u{0}\(device)".utf8))
        return digest.description.prefix(16).reduce(0) {
            ($0 * 16 + ($1.hexDigitValue ?? 0)) % 1000
        }
    }

    /// The rule in words: the newest release that is for the platform, the runtime version and the device.
    ///
    /// Nothing, if the device runs it; not found, if the channel never had anything for the runtime version.
    private static func wanted(
        _ offers: [Offered], platform: String, runtime: String, device: String?, current: String?,
        embedded: String?
    ) throws -> String {
        var place = 1000
        if let device { place = try Self.place(device) }
        for offer in offers.reversed() {
            let isOut = offer.perMille < 1000 && place >= offer.perMille
            // A roll-out takes nothing back from who has it.
            let isHeld = offer.version != nil && offer.ids[platform] == current
            if !offer.isLive || isOut && !isHeld || (offer.runtime ?? runtime) != runtime {
                continue
            }
            guard let id = offer.ids[platform], offer.version != nil else {
                return embedded == nil || embedded == current ? "204" : "directive"
            }
            return id == current ? "204" : id
        }
        return offers.contains { $0.version != nil && $0.runtime == runtime } ? "204" : "404"
    }

    private static func got(_ request: ClientRequest, _ origin: ModelOrigin) throws -> String {
        let answer = try require(try Expo.answer(request, ExpoTree.configuration(), origin))
        guard answer.status == 200 else {
            expect(answer.body == .none || answer.status == 404)
            return "\(answer.status)"
        }
        let parts = try require(ExpoTree.parts(answer, try origin.bytes(of: answer)))
        if parts[0].name == "directive" {
            expect(parts.count, equals: 1)
            return "directive"
        }
        return try JSONValue.parse(parts[0].body)["id"]?.asString ?? ""
    }

    @Test
    func `is the one that a rule in other words gives, through all that publishers do`() throws {
        var random = SeededRandom(seed: 20)
        var counts: [String: Int] = [:]
        for _ in 0..<12 {
            var origin = ModelOrigin()
            let versions = try (0..<3).map {
                try origin.add("\($0)", ExpoTree.files("script \($0)", config: nil))
            }
            var offers: [Offered] = []
            for step in 0..<10 {
                let choice = Int.random(in: 0..<5, using: &random)
                let runtime = Bool.random(using: &random) ? "1" : "2"
                let perMille = [1000, 1000, 400, 0].randomElement(using: &random) ?? 1000
                if choice == 4,
                    let place = offers.lastIndex(where: { $0.isLive && $0.version != nil }),
                    let version = offers[place].version
                {
                    origin.withdraw(.version(versions[version]))
                    offers[place].isLive = false
                } else {
                    let version = choice < 3 ? choice : nil
                    let target =
                        version.map { ChannelRelease.Target.version(versions[$0]) } ?? .embedded
                    let isForAll = version == nil && step % 2 == 0
                    let made = try origin.publish(
                        target, now: Int64(step / 3), for: Expo.self,
                        ExpoTree.configuration(),
                        rollout: perMille == 1000 ? nil : perMille,
                        requirements: isForAll
                            ? [] : [Requirement(kind: "runtimeVersion", value: runtime)])
                    for place in offers.indices where offers[place].version == version {
                        offers[place].isLive = false
                    }
                    offers.append(
                        Offered(
                            version: version, runtime: isForAll ? nil : runtime, perMille: perMille,
                            ids: Dictionary(
                                made.documents.filter { !$0.platform.isEmpty }.map {
                                    ($0.platform, $0.id)
                                },
                                uniquingKeysWith: { $1 })))
                }
                try compare(offers, origin, step, &counts)
            }
        }
        // Each kind of answer was wanted often enough to mean something.
        expect(
            ["204", "404", "directive", "update"].allSatisfy { counts[$0, default: 0] > 50 },
            "\(counts)")
    }

    private func compare(
        _ offers: [Offered], _ origin: ModelOrigin, _ step: Int, _ counts: inout [String: Int]
    ) throws {
        let ids = offers.flatMap(\.ids.values)
        let embedded = "EEEEEEEE-0000-0000-0000-000000000000"
        for platform in ["ios", "android"] {
            for runtime in ["1", "2", "3"] {
                for device in [nil, "device-1", "device-2", "device-3"] {
                    let currents = [nil, embedded, ids.last, ids.first?.uppercased()]
                    let current = currents[(step + runtime.utf8.count) % 4]
                    let known = device == "device-3" ? nil : embedded
                    let wanted = try Self.wanted(
                        offers, platform: platform, runtime: runtime, device: device,
                        current: current?.lowercased(), embedded: known?.lowercased())
                    let got = try Self.got(
                        ExpoTree.request(
                            [
                                "eas-client-id": device, "expo-current-update-id": current,
                                "expo-embedded-update-id": known,
                            ], platform: platform, runtime: runtime), origin)
                    counts[wanted.utf8.count == 36 ? "update" : wanted, default: 0] += 1
                    if got != wanted {
                        Issue.record(
                            "\(platform) \(runtime) \(device ?? "") \(step): \(got), not \(wanted)")
                    }
                }
            }
        }
    }

    @Test(
        "has an id and a time that are newer than all before, and keeps them while nothing else is offered"
    )
    func ids() throws {
        var origin = ModelOrigin()
        let first = try origin.add("1", ExpoTree.files("one"))
        let second = try origin.add("2", ExpoTree.files("two"))
        var offers: [ClientOffer] = []
        // The clock stands still, and goes back.
        let steps: [(ChannelRelease.Target, Int64, Int?)] = [
            (.version(first), 1000, 100), (.version(first), 1000, 500), (.version(first), 5, nil),
            (.version(second), 1000, nil), (.version(first), 1000, nil), (.embedded, 1000, nil),
            (.embedded, 2000, nil), (.version(first), 1000, nil),
        ]
        for (target, now, rollout) in steps {
            offers.append(
                try origin.publish(
                    target, now: now, for: Expo.self, ExpoTree.configuration(),
                    rollout: rollout))
        }
        let addresses = offers.map { $0.documents.map(\.address) }
        // A wider roll-out of the same is the same update.
        expect(addresses[0] == addresses[1] && addresses[1] == addresses[2])
        expect(addresses[5], equals: addresses[6])
        // Whoever goes back continues: clients take what is newest.
        expect(
            Set([addresses[0], addresses[3], addresses[4], addresses[5], addresses[7]]).count,
            equals: 5)
        let times = try [0, 3, 4, 5, 7].map { position in
            let bytes = try require(origin.objects[offers[position].documents[0].address])
            let json = try JSONValue.parse(bytes)
            return try require(
                json["createdAt"]?.asString ?? json["parameters"]?["commitTime"]?.asString)
        }
        expect(times == times.sorted() && Set(times).count == times.count, "\(times)")
        let ids = offers.flatMap { $0.documents.map(\.id) }.filter { !$0.isEmpty }
        expect(
            Set(ids).count, equals: 8,
            "two platforms, and four times that something else was offered")
        expect(offers[5].documents.count == 1 && offers[5].documents[0].platform.isEmpty)
        // Another channel's is another update: an app that changes the channel gets it.
        let other = try ChannelName("beta")
        let there = try origin.publish(
            .version(first), in: other, now: 1000, for: Expo.self,
            ExpoTree.configuration())
        expect(there.sequence == 1 && Set(there.documents.map(\.id)).isDisjoint(with: ids))
    }

    @Test("is a new one if the same release is offered anew, after what was newer is withdrawn")
    func offeredAnew() throws {
        var origin = ModelOrigin()
        let first = try origin.add("1", ExpoTree.files("one"))
        let second = try origin.add("2", ExpoTree.files("two"))
        for version in [first, second] {
            try origin.publish(
                .version(version), now: 1000, for: Expo.self, ExpoTree.configuration())
        }
        let key = ModelOrigin.HistoryKey(system: .expo, channel: .stable)
        let history = try require(origin.histories[key])
        let release = ChannelRelease(.version(first), sequence: 1, createdAt: 1)
        let again = try Expo.offer(
            origin.clientRelease(release, now: 1000, for: ExpoTree.configuration()), after: history
        ).offer
        let ids = history.offers.flatMap { $0.documents.map(\.id) }
        expect(again.sequence == 1 && again.createdAt > history.offers[1].createdAt)
        expect(Set(again.documents.map(\.id)).isDisjoint(with: ids) && ids.count == 4)
        expect(Expo.ordersByTime)
    }

    @Test func `is chosen by the channel that the app names, and none is the empty name`() throws {
        var origin = ModelOrigin()
        let configuration = try ExpoTree.configuration([
            "": "stable", "main": "stable", "beta": "beta",
        ])
        let version = try origin.add("1", ExpoTree.files("one"))
        try origin.publish(.version(version), now: 1, for: Expo.self, configuration)
        for (name, status) in [(nil, 200), ("", 200), ("main", 200), ("beta", 404), ("Main", 404)] {
            let answer = try Expo.answer(
                ExpoTree.request(["expo-channel-name": name]), configuration, origin)
            expect(answer?.status, equals: status, "\(name ?? "none")")
        }
    }

    @Test func `can go back to what was shipped with the app, by a signed order`() throws {
        var origin = ModelOrigin()
        try origin.publish(
            .embedded, now: ExpoAnswerTests.time, for: Expo.self,
            ExpoTree.configuration(),
            signer: TestRSAKey.signer())
        let request = ExpoTree.request([
            "expo-embedded-update-id": "a", "expo-current-update-id": "b",
            "expo-expect-signature": "sig, keyid=\"k\\\"1\"",
        ])
        let answer = try require(try Expo.answer(request, ExpoTree.configuration(), origin))
        let parts = try require(ExpoTree.parts(answer, try origin.bytes(of: answer)))
        let body =
            #"{"type":"rollBackToEmbedded","parameters":{"commitTime":"2026-11-22T22:02:19.000Z"}}"#
        expect(parts.count == 1 && String(decoding: parts[0].body, as: UTF8.self) == body)
        let signature = try Base64.string(TestRSAKey.signer().sign(parts[0].body))
        expect(parts[0].fields["expo-signature"], equals: "sig=\"\(signature)\", keyid=\"k\\\"1\"")
        var alone = request
        alone.fields.removeAll { $0.name == "accept" }
        alone.fields.append(.init("accept", "application/json"))
        try expect(Expo.answer(alone, ExpoTree.configuration(), origin)?.status, equals: 406)
    }
}
