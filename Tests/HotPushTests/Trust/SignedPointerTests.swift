import OriginTestSupport

@testable import HotPush
@testable import VersionTree

/// What a device makes of signed pointers: joined.md's rules as docs/signing.md tells them, "On the device".
@Suite("A device that trusts keys") struct SignedPointerTests {
    @Test(arguments: SignedOrigin.Kind.allCases)
    func `takes what they have signed, and remembers it`(_ kind: SignedOrigin.Kind) throws {
        let origin = try SignedOrigin(kind)
        let bytes = try origin.offer("1")
        let pointer = try ChannelPointer(parsing: bytes, of: .stable)
        let pull = try origin.client()
        var reply = try pull.inquire(origin.url)
        let keys = origin.keys.map(\.verificationKey.id)
        expect(reply.signers, equals: keys)
        // Before anything comes of it, the sequence stands.
        try expect(origin.trusted?.sequences, equals: ["stable": pointer.sequence])
        try expect(origin.trusted?.version, equals: 1)
        try expect(pull.carryOut(&reply, of: origin.url)?.version, equals: "1")
        try expect(origin.device.versions.lifecycle().current, equals: "1")
        try expect(Damage.mode(origin.device.path + "/trust.json"), equals: 0o600)
        let sentence = try require(origin.sentences().first { $0.contains("verified") })
        expect(sentence.contains(keys[0]) && sentence.contains("\(pointer.sequence)"))
        // The next one changes nothing of it but the sequence.
        try origin.offer("2")
        try expect(origin.pull()?.version, equals: "2")
        try expect(origin.trusted?.sequences, equals: ["stable": pointer.sequence + 1])
        let state = try origin.state()
        try expect(origin.pull()?.isUnchanged, equals: true)
        try expect(origin.state(), equals: state)
    }

    @Test
    func `learns which origin it is from the first pointer that is verified, and says so`() throws {
        let origin = try SignedOrigin(isTrusted: false)
        try origin.trust(origin.keys.map(\.verificationKey), id: nil)
        let pointer = try origin.publish("1")
        origin.write(try origin.signed(pointer, by: [origin.stranger]), at: SignedOrigin.pointer)
        expectRefusal(.untrusted) { try origin.pull() }
        try expect(origin.trusted?.id == nil)
        origin.write(try origin.signed(pointer), at: SignedOrigin.pointer)
        let notices = Notices()
        _ = try origin.pull { $0.notice = notices.sink }
        try expect(origin.trusted?.id, equals: SignedOrigin.id)
        expect(notices.all.count == 1 && notices.all[0].contains(SignedOrigin.id))
    }

    @Test func `says how to continue where the first verified pointer was another origin's`() throws
    {
        let origin = try SignedOrigin(isTrusted: false)
        try origin.trust(origin.keys.map(\.verificationKey), id: nil)
        try origin.offer("1") { $0.origin = SignedOrigin.otherID }
        _ = try origin.pull()
        let next = try origin.publish("2")
        origin.write(try origin.signed(next), at: SignedOrigin.pointer)
        expectRefusal(
            .untrusted, saying: "belongs to another origin", "castree trust remove \(origin.url)",
            "--origin \(origin.url) --origin-id \(SignedOrigin.id)"
        ) { try origin.pull() }
        // Not to whoever has no key: what he claims is not worth a word.
        let forged = try origin.signed(next, by: [origin.stranger])
        origin.write(forged, at: SignedOrigin.pointer)
        let error = expectRefusal(.untrusted) { try origin.pull() }
        expect(error?.message.contains("--origin-id"), equals: false)
    }

    @Test func `writes nothing in a dry run`() throws {
        let origin = try SignedOrigin()
        try origin.offer("1")
        let state = try origin.state()
        let pull = try origin.client { $0.isDryRun = true }
        try expect(pull.inquire(origin.url).signers.count, equals: 1)
        try expect(origin.state(), equals: state)
        origin.write(try origin.publish("2").serialized(), at: SignedOrigin.pointer)
        expectRefusal(.untrusted) { try origin.client { $0.isDryRun = true }.inquire(origin.url) }
    }

    @Test func `asks as many of its keys as it was told`() throws {
        let origin = try SignedOrigin(threshold: 2)
        let pointer = try origin.publish("1")
        for key in origin.keys {
            origin.write(try origin.signed(pointer, by: [key]), at: SignedOrigin.pointer)
            expectRefusal(.untrusted) { try origin.pull() }
        }
        origin.write(try origin.signed(pointer), at: SignedOrigin.pointer)
        try expect(origin.pull()?.version, equals: "1")
    }

    @Test func `holds a mirror that nobody named to the same keys`() throws {
        let origin = try SignedOrigin(isTrusted: false)
        try origin.device.versions.changeTrust { (trust) throws(StoreError) in
            try trust.put(
                TrustedOrigin(
                    places: ["https://example.org/app"], id: SignedOrigin.id,
                    keys: origin.keys.map(\.verificationKey), threshold: 1))
        }
        let pointer = try origin.publish("1")
        origin.write(try origin.signed(pointer, by: [origin.stranger]), at: SignedOrigin.pointer)
        expectRefusal(.untrusted) { try origin.pull() }
        origin.write(try origin.signed(pointer), at: SignedOrigin.pointer)
        try expect(origin.pull()?.version, equals: "1")
    }

    @Test func `judges what it has kept anew when a server says that nothing has changed`() throws {
        let origin = try SignedOrigin(isTrusted: false)
        try origin.offer("1") { $0.expiresAt = origin.now + 100 }
        try expect(origin.pull { $0.destination = .kept }?.version, equals: "1")
        try expect(origin.pull { $0.destination = .kept }?.isUnchanged, equals: true)
        // Since then nobody trusts who signed it.
        try origin.trust([origin.stranger.verificationKey])
        expectRefusal(.untrusted) { try origin.pull { $0.destination = .kept } }
        try origin.trust(origin.keys.map(\.verificationKey))
        try expect(origin.pull { $0.destination = .kept }?.version, equals: "1")
        origin.now += 101
        expectRefusal(.untrusted) { try origin.pull { $0.destination = .current } }
        let statuses = origin.requests.filter { $0.path.hasSuffix("stable.json") }
        expect(statuses.dropFirst().allSatisfy { $0["if-none-match"] != nil })
    }

    @Test(
        "refuses an expired pointer whatever it offers, continues with what runs, and waits for as long as it is told"
    )
    func expired() throws {
        let origin = try SignedOrigin()
        try origin.offer("1") { $0.expiresAt = origin.now + 100 }
        try expect(origin.pull()?.version, equals: "1")
        origin.now += 100
        try expect(origin.pull()?.version, equals: "1", "the last second counts")
        origin.now += 1
        // Also where it offers what runs: somebody may hide what is newer.
        try origin.expectUntrusted()
        try expect(origin.pull { $0.expiryGrace = .seconds(1) }?.isUnchanged, equals: true)
        let graced = try origin.state()
        let time = origin.now
        for change: (inout ChannelPointer) -> Void in [
            { $0.expiresAt = time - 1 },
            { ($0.expiresAt, $0.releases) = (time - 1, []) },
        ] {
            try origin.offer("2", change)
            for isForced in [false, true] {
                expectRefusal(.untrusted, saying: "expired") {
                    try origin.pull { $0.isForced = isForced }
                }
                try expect(origin.state(), equals: graced)
            }
        }
    }

    @Test func `does not believe a clock that is before what it has verified`() throws {
        let origin = try SignedOrigin()
        try origin.offer("1")
        try expect(origin.pull()?.version, equals: "1")
        let latest = origin.place.clock.now
        try origin.offer("2") { $0.expiresAt = latest - 1 }
        origin.now = 0
        expectRefusal(.untrusted) { try origin.pull() }
        try expect(origin.device.versions.lifecycle().current, equals: "1")
    }

    @Test func `does not fetch what expired after it was asked for`() throws {
        let origin = try SignedOrigin()
        try origin.offer("1") { $0.expiresAt = origin.now + 10 }
        let pull = try origin.client()
        guard case .release(let found) = try pull.inquire(origin.url).answer else {
            throw Unexpected("nothing was offered")
        }
        origin.now += 11
        expectRefusal(.untrusted) { try origin.client().fetch(found) }
        try expect(origin.device.versions.versions().isEmpty)
    }

    @Test("says once of an origin that its releases are not signed, and of a directory never")
    func unsigned() throws {
        let origin = try SignedOrigin(isTrusted: false)
        origin.write(try origin.publish("1").serialized(), at: SignedOrigin.pointer)
        let notices = Notices()
        for _ in 0..<3 { _ = try origin.pull { $0.notice = notices.sink } }
        expect(notices.all.count == 1 && notices.all[0].contains("not signed"))
        try origin.offer("2")
        let other = try SignedOrigin(isTrusted: false)
        try other.offer("1")
        _ = try other.pull { $0.notice = notices.sink }
        expect(notices.all.count == 2 && notices.all[1].contains("castree trust add"))
        let pull = try other.client { $0.notice = notices.sink }
        _ = try pull.run(origin.place.origin)
        expect(notices.all.count, equals: 2)
    }

    @Test
    func `takes no manifest from an origin that it does not trust when it repairs itself`() throws {
        let origin = try SignedOrigin()
        try origin.offer("1")
        _ = try origin.pull()
        let lost = LostManifest(
            version: "1", content: nil,
            named: Set(try origin.device.versions.manifest(of: "1").entries.map(\.address)))
        let pointer = try origin.publish("1")
        origin.write(try origin.signed(pointer, by: [origin.stranger]), at: SignedOrigin.pointer)
        try expect(OriginRepair(origin.client().basis).restore([lost], from: origin.url).isEmpty)
        origin.write(try origin.signed(pointer), at: SignedOrigin.pointer)
        try expect(
            OriginRepair(origin.client().basis).restore([lost], from: origin.url), equals: ["1"])
    }

    // The directory is one that no key was ever named for. Known objects may be named otherwise there.
    @Test(arguments: [true, false], [true, false])
    func `takes no manifest without a signature if nothing else proves it`(
        trusts: Bool, knowsObjects: Bool
    ) throws {
        let origin = try SignedOrigin(isTrusted: trusts)
        let mirror = try PublishingPlace()
        try mirror.publish("1")
        let repair = OriginRepair(try origin.client().basis)
        let objects = try mirror.versions.manifest(of: "1").entries.map(\.address)
        let lost = LostManifest(
            version: "1", content: nil, named: knowsObjects ? Set(objects) : nil)
        try expect(repair.restore([lost], from: mirror.origin), equals: trusts ? [] : ["1"])
    }
}
