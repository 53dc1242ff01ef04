import OriginTestSupport

@testable import HotPush
@testable import Origin

@Suite("A publisher that signs") struct PublisherSigningTests {
    @Test("draws the id of a new origin, and puts it into pointer and marker", arguments: places)
    func firstSigning(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        try place.expectSigned(by: place.alice)
        let origin = try require(try place.pointer().origin)
        expect(ChannelPointer.isOriginID(origin))
        let marker = try require(place.place.bytes("origin.json"))
        expect(
            String(decoding: marker, as: UTF8.self),
            equals: "{\"castreeOrigin\":2,\"origin\":\"\(origin)\"}\n")
        // Another channel belongs to the same origin, and so does every later release.
        try place.publish("1", place.signing(place.alice), to: "beta")
        try place.publish("2", place.signing(place.alice))
        try expect(place.pointer("beta").origin == origin && place.pointer().origin == origin)
        try place.expectSigned(by: place.alice, channel: "beta")
        try expect(place.pointer().releases.count, equals: 2)
    }

    @Test func `signs by key files, which nobody else can read`() throws {
        let place = try SignedPlace()
        let keys = try PointerSigning(keyFiles: [place.alice, place.bob])
        try place.publish("1", keys)
        try expect(place.pointer().signatures.count, equals: 2)
        expectRefusal(.badKey) { try PointerSigning(keyFiles: [place.alice, place.alice]) }
        expectRefusal(.notFound) { try PointerSigning(keyFiles: [place.alice + ".lost"]) }
        try require(chmod(place.bob, 0o644) == 0)
        expectRefusal(.permission) { try PointerSigning(keyFiles: [place.bob]) }
    }

    @Test(
        "signs the pointer in the entry of the log, whatever the command, and its copy has the same bytes",
        arguments: places)
    func entries(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let signing = try place.signing(place.alice)
        let publisher = place.publisher(signing)
        let origin = try place.pointer().origin
        let verbs: [(LogEntry.Kind, () throws -> Void)] = [
            (.publish, { try place.publish("2", signing) }),
            (.withdraw, { _ = try publisher.withdraw(VersionName("2")) }),
            (.resign, { _ = try publisher.resign() }),
        ]
        for (kind, verb) in verbs {
            try verb()
            try place.expectSigned(by: place.alice)
            let state = try place.state()
            try expect(state.pointers[.stable], equals: place.pointer())
            try expect(state.entry.kind == kind && place.pointer().origin == origin)
        }
    }

    @Test(arguments: places)
    func `says who would sign, and writes nothing`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let signing = try place.signing(place.alice)
        let before = try place.place.published()
        let plan = try place.publisher(signing).plan("2", of: place.place.versions)
        try expect(plan.pointer.signatures.map(\.key), equals: [place.key(place.alice).id])
        try expect(place.place.published(), equals: before)
    }

    @Test(
        "writes nothing for what is offered and signed already, and signs by a key that is missing",
        arguments: places)
    func again(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let before = try place.place.published()
        try expect(!place.publish("1", place.signing(place.alice)).writesPointer)
        try expect(place.place.published(), equals: before)
        try place.publish(
            "1",
            place.signing(place.alice, place.bob) { $0.trusted = [try place.key(place.alice)] })
        try place.expectSigned(by: place.alice, place.bob)
    }

    @Test(
        "signs an origin that nobody has signed only if it is told to, and lists what it signs",
        arguments: places)
    func adoption(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        try place.place.publish("1")
        let before = try place.place.published()
        // Also what is offered already: whoever signs it has to have looked.
        for version in ["1", "2"] {
            expectRefusal(.untrusted, saying: "--adopt") {
                try place.publish(version, place.signing(place.alice))
            }
        }
        try expect(place.place.published(), equals: before)
        let notices = Notices()
        let adopting = try place.signing(place.alice) { $0.adopts = true }
        try place.publisher(adopting, notices: notices).publish("2", of: place.place.versions)
        try place.expectSigned(by: place.alice)
        expect(notices.all.contains { $0.contains("version 1 (manifest") })
    }

    @Test(arguments: places)
    func `never counts back, except from what no clock can have made`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        var pointer = try place.pointer()
        let ahead = pointer.createdAt + 20 * SequenceBound.lead
        pointer.sequence = ahead
        let now = pointer.createdAt + 1
        let signed = try require(try pointer.withdrawing(VersionName("1"), now: now))
        expect(signed.sequence, equals: ahead + 1)
        // Nor does its time go back, if the clock of whoever signed before was ahead: devices count from there.
        let time = pointer.createdAt
        let early = try require(try pointer.withdrawing(VersionName("1"), now: time - 100))
        expect(early.createdAt, equals: time)
        let signing = try place.signing(place.alice) { $0.expiry = .after(50) }
        try expect(signing.end(of: early, now: time - 100), equals: time + 50)
        // What a thief has signed with the largest sequence is not the end.
        var absurd = pointer
        absurd.sequence = ChannelPointer.sequenceMax
        let next = try require(try absurd.withdrawing(VersionName("1"), now: now))
        expect(next.sequence <= now + 1)
        // Nor does the time stay where a clock was ten years ahead.
        absurd.createdAt = now + 10 * SequenceBound.lead
        try expect(absurd.withdrawing(VersionName("1"), now: now)?.createdAt, equals: now)
        // Nobody remembers one that far ahead if nobody has signed it.
        pointer.signatures = []
        let unsigned = try require(try pointer.withdrawing(VersionName("1"), now: now))
        expect(unsigned.sequence <= now + SequenceBound.lead + 1)
    }

    @Test(arguments: places)
    func `is not replaced by one that does not, unless it says so`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let before = try place.bytes()
        let publisher = place.publisher(PointerSigning())
        let verbs: [() throws -> Void] = [
            { try publisher.publish("2", of: place.place.versions) },
            { _ = try publisher.withdraw(VersionName("1")) },
            { _ = try publisher.plan("2", of: place.place.versions) },
        ]
        for verb in verbs { expectRefusal(.untrusted, saying: "--unsigned") { try verb() } }
        try expect(place.bytes(), equals: before)
        let unsigned = try place.signing { $0.allowsFewer = true }
        try place.publish("2", unsigned)
        try expect(!place.pointer().isSigned)
    }

    @Test(arguments: places)
    func `is not replaced by fewer keys, unless it says so`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        try place.publish("1", place.signing(place.alice, place.bob))
        expectRefusal(.untrusted) { try place.publish("2", place.signing(place.alice)) }
        try place.expectSigned(by: place.alice, place.bob)
        try place.publish("2", place.signing(place.alice) { $0.allowsFewer = true })
        try place.expectSigned(by: place.alice)
    }

    @Test(arguments: places)
    func `builds upon what those have signed whom --trust names`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        expectRefusal(.untrusted) { try place.publish("2", place.signing(place.bob)) }
        let signing = try place.signing(place.bob) { $0.trusted = [try place.key(place.alice)] }
        try place.publish("2", signing)
        try place.expectSigned(by: place.bob)
        try expect(place.pointer().releases.count, equals: 2)
    }

    @Test(
        "notices an old pointer that somebody puts back, and a channel that is gone",
        arguments: places)
    func oldPointer(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", in: ["beta", "stable"])
        let signing = try place.signing(place.alice)
        let old = try place.pointer()
        try place.publish("2", signing)
        let newest = try place.pointer()
        try place.put(old)
        expectRefusal(.untrusted, saying: "old pointer") {
            try place.publisher(signing).withdraw(VersionName("1"))
        }
        // Gone, with another channel beside it that says which origin this is.
        try place.put(place.pointer("beta"), "beta")
        try place.place.set("channels/stable.json", nil)
        expectRefusal(.untrusted) { try place.publish("1", signing) }
        // Begun anew on purpose it continues above all that devices have seen.
        try place.publish("1", place.signing(place.alice) { $0.adopts = true })
        try expect(place.pointer().sequence > newest.sequence)
        try expect(place.pointer().origin, equals: newest.origin)
    }

    @Test func `draws no new id for an origin of which only the marker is left`() throws {
        let place = try SignedPlace(signed: "1")
        let signing = try place.signing(place.alice)
        let before = try place.pointer()
        for channel in ["stable", "beta"] {
            // They are gone the second time.
            try place.place.set("channels/stable.json", nil)
            try place.cutLog(after: 0)
            try place.forget(place.alice)
            expectRefusal(.untrusted, saying: "--origin-id \(before.origin ?? "")") {
                try place.publish("1", signing, to: channel)
            }
        }
        try place.publish("1", place.signing(place.alice) { $0.adopts = true })
        try expect(place.pointer().origin, equals: before.origin)
    }

    @Test(arguments: places)
    func `makes a lost origin anew under its id`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1")
        let before = try place.pointer()
        try place.place.restore([:])
        try place.publish("1", place.signing(place.alice) { $0.origin = before.origin })
        try expect(place.pointer().origin, equals: before.origin)
        try expect(place.pointer().sequence > before.sequence)
        let other = String(repeating: "0", count: 32)
        expectRefusal(.untrusted) {
            try place.publish("2", place.signing(place.alice) { $0.origin = other })
        }
    }

    @Test(
        "says until when, keeps that or what is given for what is offered already, and does not sign what nobody would obey",
        arguments: places)
    func expiry(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        let clock = place.place.clock
        try place.publish("1", place.signing(place.alice) { $0.expiry = .after(3600) })
        let end = clock.now + 3600
        try expect(place.pointer().expiresAt, equals: end)
        try expect(!place.publish("1", place.signing(place.alice)).writesPointer)
        try place.publish("1", place.signing(place.alice) { $0.expiry = .after(60) })
        try expect(place.pointer().expiresAt, equals: clock.now + 60)
        try place.publish("1", place.signing(place.alice) { $0.expiry = .after(3600) })
        clock.advance(60)
        try place.publish("2", place.signing(place.alice))
        try expect(place.pointer().expiresAt, equals: end)
        clock.advance(3600)
        expectRefusal(.badPointer, saying: "--valid-for") {
            try place.publish("1", place.signing(place.alice))
        }
        let renewing = try place.signing(place.alice) { $0.expiry = .after(60) }
        try expect(place.publisher(renewing).resign().map(\.expiresAt), equals: [clock.now + 60])
        try expect(place.pointer().releases.count, equals: 2)
        let never = try place.signing(place.alice) { $0.expiry = .never }
        try expect(place.publisher(never).resign().map(\.expiresAt), equals: [nil])
        try expect(!place.publish("2", never).writesPointer)
        try place.expectSigned(by: place.alice)
    }

    @Test(
        "prunes a signed channel only with the key; without it nothing is trimmed, all else collected",
        arguments: places)
    func pruning(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind, signed: "1", "2")
        let signing = try place.signing(place.alice)
        try place.publish("1", signing, to: "beta")
        _ = try place.publisher(signing).withdraw(VersionName("1"), from: ChannelName("beta"))
        try place.place.store.add("3", ["only.txt": "three"])
        try place.publish("3", signing, to: "beta")
        _ = try place.publisher(signing).withdraw(VersionName("3"), from: ChannelName("beta"))
        let before = try place.bytes()
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
        let plan = try place.publisher(PointerSigning()).collect(retention)
        expect(plan.trimmedCount == 0 && plan.garbage.count >= 2)
        expect(plan.garbage.count == 2 || kind != .directory)
        try expect(place.bytes(), equals: before)
        try expect(place.publisher(signing).collect(retention).trimmedCount, equals: 1)
        try expect(place.pointer().releases.count, equals: 1)
        try place.expectSigned(by: place.alice)
        // With a key that must not build upon it nothing is deleted.
        try place.publish("1", signing)
        let whole = try place.place.published()
        let stranger = try place.publisher(place.signing(place.mallory))
        expectRefusal(.untrusted) { try stranger.collect(retention) }
        try expect(place.place.published(), equals: whole)
    }

    @Test(arguments: places)
    func `signs nothing with a key that is not the one it says`(_ kind: OriginPlace) throws {
        let place = try SignedPlace(kind)
        struct Liar: PointerSigner {
            let key: VerificationKey
            let memory: SignedSequences? = nil
            let other: SigningKey
            func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] { try other.sign(bytes) }
        }
        var signing = PointerSigning()
        signing.signers = [Liar(key: try place.key(place.alice), other: try SigningKey.generate())]
        expectRefusal(.badKey) { try place.publish("1", signing) }
        try expect(place.place.pointer() == nil)
        signing = try place.signing(place.alice, place.alice)
        expectRefusal(.badKey) { try signing.validate() }
    }
}
