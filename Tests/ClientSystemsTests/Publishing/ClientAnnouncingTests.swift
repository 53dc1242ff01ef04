import Archives
import BucketTestSupport
import HotPush
import Origin

@testable import ClientSystems

@Suite("Announcing to the clients of other systems") struct ClientAnnouncingTests {
    let place: AnnouncingPlace

    init() throws { place = try AnnouncingPlace() }

    @Test func `writes nothing and hardly looks where no system is enabled`() throws {
        let plain = place.withOrigin("plain")
        let (told, untold) = (FaultyFileSystem(), FaultyFileSystem())
        var publisher = place.publisher(on: told)
        try publisher.publish("1", of: place.versions)
        publisher = plain.publisher(on: untold)
        publisher.options.announcing = nil
        try publisher.publish("1", of: place.versions)
        // Whose entry it is, is drawn.
        try expect(
            place.published().filter { !$0.key.hasPrefix("log/") },
            equals: plain.published().filter { !$0.key.hasPrefix("log/") })
        expect(told.operations.count <= untold.operations.count + 2)
        expect(
            told.operations.filter { $0.verb == .write }.count,
            equals: untold.operations.filter { $0.verb == .write }.count)
    }

    @Test func `begins with what the channels offer, and a second time changes nothing`() throws {
        try place.publish("1")
        try place.publish("2")
        let before = try require(try place.reader.pointer(.stable))
        try place.enable(.codePush, .expo)
        let pointer = try require(try place.reader.pointer(.stable))
        expect(pointer.releases.map(\.sequence), equals: before.releases.map(\.sequence))
        expect(pointer.releases.allSatisfy { $0.facts != nil })
        for system in [ClientSystem.codePush, .expo] {
            try expect(place.channel(system).live.map(\.release), equals: pointer.releases)
        }
        try expect(place.history(.codePush).offers.map(\.label), equals: ["v1", "v2"])
        let marker = try Damage.contents(place.origin + "/origin.json")
        expect(String(decoding: marker, as: UTF8.self), equals: "{\"castreeOrigin\":2}\n")
        let files = try place.published()
        place.clock.advance(100)
        try place.enable(.codePush, .expo)
        try expect(place.published(), equals: files)
        // What two versions share was compressed once.
        expect(files.keys.filter { $0.hasPrefix("deflated/") }.count, equals: 2)
    }

    @Test(
        "gives each release its offer before the pointer, and what was below a withdrawn one is live again"
    )
    func story() throws {
        try place.publish("1")
        try place.enable(.codePush, .expo)
        try expect(place.publish("2").facts?.deflatedCopies.count, equals: 1)
        try expect(place.publish("2").writesPointer, equals: false)
        try place.publish("3")
        let labels = { () throws -> [String?] in
            try place.channel(.codePush).live.map(\.offer.label)
        }
        try expect(labels(), equals: ["v3", "v2", "v1"])
        let second = try place.channel(.expo).live[1].offer
        place.clock.advance(10)
        _ = try place.publisher().withdraw(VersionName("3"))
        try expect(labels(), equals: ["v2", "v1"])
        // Clients that go by times take only what is later than what they run.
        let returned = try place.channel(.expo).live
        let third = try require(
            try place.history(.expo).offers.first { $0.version?.name.description == "3" })
        expect(returned[0].offer.createdAt > third.createdAt)
        expect(returned[0].offer.createdAt > returned[1].offer.createdAt)
        expect(returned[0].offer.firstOfferedAt, equals: second.firstOfferedAt)
        let files = try place.published()
        try expect(place.publish("2").writesPointer, equals: false)
        try expect(place.published(), equals: files)
        // Going back is a new offer of an old content.
        try place.publish("1")
        try expect(labels(), equals: ["v4", "v2"])
        let offers = try place.history(.codePush).offers
        expect(offers.last?.firstOfferedAt, equals: offers.first?.firstOfferedAt)
        _ = try place.publisher().withdraw(VersionName("2"), toEmbedded: true)
        try expect(place.channel(.codePush).live[0].offer.target, equals: .embedded)
        try expect(place.channel(.expo).live[0].offer.target, equals: .embedded)
    }

    @Test("knows what was offered first: to offer that to more clients is no new release for them")
    func widening() throws {
        func publisher() -> Publisher {
            place.clock.advance(10)
            return place.publisher(ClientAnnouncing(rules: [CodePush.self]))
        }
        try publisher().publish("1", of: place.versions)
        try ClientAnnouncing(rules: [CodePush.self]).enable(
            AnnouncingPlace.configuration(.codePush), by: publisher())
        let tenth = ReleaseOffer(rollout: Rollout(perMille: 100, salt: "s"))
        try publisher().publish("2", of: place.versions, as: tenth)
        try publisher().publish("3", of: place.versions)
        _ = try publisher().withdraw(VersionName("3"))
        let planned = try ClientAnnouncing(rules: [CodePush.self]).outcomes(
            of: publisher().plan("2", of: place.versions), place.versions,
            by: place.publisher().engine(isDraft: true))
        expect(planned.map { $0.prepared?.offer.label }, equals: ["v2"])
        try publisher().publish("2", of: place.versions)
        let live = try place.channel(.codePush).live
        expect(live.map(\.offer.label), equals: ["v2", "v1"])
        expect(live[0].release.rollout == nil)
    }

    @Test("keeps the newest offers and those of what is offered, and never gives a label twice")
    func trimming() throws {
        try place.publish("1")
        var configuration = AnnouncingPlace.configuration(.codePush)
        configuration.historyCount = 2
        try place.announcing().enable(configuration, by: place.publisher())
        for _ in 0..<3 {
            try place.publish("2")
            place.clock.advance(10)
            _ = try place.publisher().withdraw(VersionName("2"))
        }
        let history = try place.history(.codePush)
        expect(history.offers.map(\.label), equals: ["v1", "v3", "v4"])
        try expect(place.channel(.codePush).live.map(\.offer.label), equals: ["v1"])
        // Lost or damaged, it is written again from the log.
        let path = place.origin + "/for/codepush/stable.json"
        Damage.remove(path)
        try place.publish("2")
        try expect(place.channel(.codePush).live.map(\.offer.label), equals: ["v5", "v1"])
        try expect(place.history(.codePush).labelCount, equals: 5)
        try Damage.overwriteOrCreate(path, with: Array("{}".utf8))
        try place.publish("3")
        try expect(place.channel(.codePush).live.map(\.offer.label), equals: ["v6", "v5", "v1"])
    }

    @Test(
        "continues from an origin without a log, and a withdrawal also where a history is damaged: no label is given twice"
    )
    func unlogged() throws {
        for damage in [nil, [], Array("{\"half\":".utf8)] as [[UInt8]?] {
            let place = try AnnouncingPlace()
            try place.publish("1")
            try place.enable(.codePush, .expo)
            try place.publish("2")
            try place.unlog()
            let path = place.origin + "/for/codepush/stable.json"
            if let damage {
                try Damage.overwrite(path, with: damage)
                expectRefusal(saying: "for/codepush/stable.json") { try place.publish("3") }
                try expect(place.offered(), equals: ["2", "1"])
            } else {
                Damage.remove(path)
            }
            try Damage.overwriteOrCreate(
                place.origin + "/.publish/labels.json", with: Array("{\"codepush stable\":7}".utf8))
            let told = try place.history(.expo).offers
            place.clock.advance(10)
            _ = try place.publisher().withdraw(VersionName("2"))
            try expect(place.offered(), equals: ["1"])
            try place.publish("3")
            try expect(place.channel(.codePush).live.map(\.offer.label), equals: ["v9", "v8"])
            try expect(place.history(.expo).offers.starts(with: told))
        }
    }

    @Test func `writes a document again that is missing or damaged, as it was`() throws {
        try place.publish("1")
        try place.enable(.expo, .codePush)
        try place.publish("2")
        let (offers, files) = try (place.history(.expo).offers, place.published())
        let path = { (offer: ClientOffer) in
            place.origin + "/" + OriginLayout.clientDocument(offer.documents[0].address, of: "expo")
        }
        Damage.remove(path(offers[0]))
        for bytes in [[], [7], [UInt8](repeating: 7, count: 2 << 20)] {
            try Damage.overwriteOrCreate(path(offers[1]), with: bytes)
            try place.publish("2")
            try expect(place.history(.expo).offers, equals: offers)
            try expect(place.published(), equals: files)
        }
    }

    @Test func `prunes no document that a history names, also where its file is lost`() throws {
        try place.publish("1")
        try place.enable(.expo)
        try place.publish("2")
        let offers = try place.history(.expo).offers
        Damage.remove(place.origin + "/for/expo/stable.json")
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
        _ = try place.publisher().collect(retention)
        try expect(place.channel(.expo).live.count, equals: 1)
        try expect(place.history(.expo).offers, equals: offers)
        expect(
            Damage.names(place.origin + "/for/expo/documents"),
            equals: offers.map { $0.documents[0].address.description }.sorted())
    }

    @Test
    func `leaves a system out that refuses a release, unless it was asked for by name`() throws {
        try place.publish("1")
        try place.enable(.codePush, .expo)
        try place.publish("refused")
        expect(
            place.notices.all.contains(
                "version refused is not offered to the clients of codepush: there is a refused.txt")
        )
        try expect(place.channel(.codePush).live.count, equals: 1)
        try expect(place.channel(.expo).live.count, equals: 2)
        try place.publish("lossy")
        expect(place.notices.all.contains("codepush: there is a lossy.txt"))
        expect(place.notices.all.count { $0.contains("refused.txt") }, equals: 1)
        try expect(place.channel(.codePush).live.count, equals: 2)
        let only = place.announcing([.codePush])
        expect(code { try place.publish("refused", only) }, equals: .notExpressible)
        // What no server would send is not told.
        let timed = place.announcing([.expo])
        expect(code { try place.publish("long", timed) }, equals: .notExpressible)
        try expect(place.offered(), equals: ["lossy", "refused", "1"])
        // Who is left out hears of it later.
        try place.publish("3", place.announcing([.codePush]))
        try expect(place.channel(.expo).live.count, equals: 3)
        try place.publish("3")
        try expect(place.channel(.expo).live.count, equals: 4)
        // What is below the newest does not keep it from being published again, nor is it told of again.
        let again = place.announcing([.codePush])
        try place.publish("3", again)
        expect(again.outcomes.isEmpty)
        expect(place.notices.all.count { $0.contains("refused.txt") }, equals: 1)
        let told = try place.clients()
        expect(code { try place.announcing([.chcp]).check(.stable, in: told) }, equals: .notOffered)
    }

    @Test func `does not offer unsigned what was signed before`() throws {
        try place.publish("1")
        try place.enable(.codePush)
        try place.publish("2", place.announcing(nil, [.codePush: ModelSigner()]))
        expect(code { try place.publish("3") }, equals: .signingFailed)
        try expect(place.offered(), equals: ["2", "1"])
        // What is offered already is withdrawn without the key.
        _ = try place.publisher().withdraw(VersionName("2"))
        try place.publish("3", place.announcing(nil, [.codePush: ModelSigner()]))
        try expect(place.channel(.codePush).live[0].offer.signatures.count, equals: 1)
        // What goes back to the app's own has no signature, and ends nothing.
        let signed = place.publisher(place.announcing(nil, [.codePush: ModelSigner()]))
        _ = try signed.withdraw(VersionName("3"), toEmbedded: true)
        try expect(place.channel(.codePush).live[0].offer.isSigned, equals: false)
        expect(code { try place.publish("1") }, equals: .signingFailed)
    }

    @Test func `tells again what says something else since the operator has set it anew`() throws {
        try place.publish("1")
        try place.publish("2")
        try place.enable(.codePush, .expo)
        let before = try [ClientSystem.codePush, .expo].map { try place.channel($0).live }
        for system in [ClientSystem.codePush, .expo] {
            var configuration = AnnouncingPlace.configuration(system)
            configuration.baseURL = "https://other.example.org"
            try place.announcing().enable(configuration, by: place.publisher())
        }
        // URLs stand in documents alone.
        try expect(place.channel(.codePush).live, equals: before[0])
        let documents = try place.channel(.expo).live
        expect(documents.map(\.release), equals: before[1].map(\.release))
        let last = try require(before[1].first).offer.createdAt
        expect(documents.allSatisfy { $0.offer.createdAt > last })
        expect(documents[0].offer.createdAt > documents[1].offer.createdAt)
        // Another folder is another archive.
        var configuration = AnnouncingPlace.configuration(.codePush)
        configuration.baseURL = "https://other.example.org"
        configuration.folder = "www"
        try place.announcing().enable(configuration, by: place.publisher())
        try expect(place.channel(.codePush).live.map(\.offer.label), equals: ["v4", "v3"])
        let files = try place.published()
        try place.announcing().enable(configuration, by: place.publisher())
        try expect(place.published(), equals: files)
    }

    @Test
    func `tells nothing more of a system that was ended, and continues with the same ids`() throws {
        try place.publish("1")
        try place.enable(.codePush)
        _ = try place.announcing().disable(.codePush, by: place.publisher().engine())
        try expect(place.clients().configurations(), equals: [])
        try place.publish("2")
        try expect(place.history(.codePush).offers.count, equals: 1)
        try place.enable(.codePush)
        try expect(place.history(.codePush).offers.map(\.label), equals: ["v1", "v2"])
    }
}
