import CASStore
import Expectations
import Foundation
import StorageTestSupport
import Testing
import VersionTree

@testable import HotPush

@Suite("A publisher that signs") struct SealingTests {
    let place: SignedPlace

    init() throws { place = try SignedPlace() }

    @Test("draws the id of a new origin, and puts it into pointer and marker")
    func firstSigning() throws {
        try place.publish("1", place.sealing(place.alice))
        try place.expectSigned(by: place.alice)
        let origin = try require(try place.pointer().origin)
        expect(ChannelPointer.isOriginID(origin))
        let marker = try Damage.contents(place.place.origin + "/origin.json")
        expect(
            String(decoding: marker, as: UTF8.self),
            equals: "{\"castreeOrigin\":2,\"origin\":\"\(origin)\"}\n")
        // Another channel belongs to the same origin, and so does every later release.
        try place.publish("1", place.sealing(place.alice), to: "beta")
        try place.publish("2", place.sealing(place.alice))
        try expect(place.pointer("beta").origin == origin && place.pointer().origin == origin)
        try place.expectSigned(by: place.alice, channel: "beta")
        try expect(place.pointer().releases.count, equals: 2)
    }

    @Test("writes nothing for what is offered and signed already, and signs by a key that lacks")
    func again() throws {
        try place.publish("1", place.sealing(place.alice))
        let before = try place.place.published()
        try expect(!place.publish("1", place.sealing(place.alice)).writesPointer)
        try expect(place.place.published(), equals: before)
        try place.publish(
            "1",
            place.sealing(place.alice, place.bob) { $0.trusted = [try place.key(place.alice)] })
        try place.expectSigned(by: place.alice, place.bob)
    }

    @Test("signs an origin that nobody has signed only if it is told to, and lists what it signs")
    func adoption() throws {
        try place.place.publish("1")
        let before = try place.place.published()
        let error = refusal { try place.publish("2", place.sealing(place.alice)) }
        expect(error?.code == .untrusted && error?.message.contains("--adopt") == true)
        try expect(place.place.published(), equals: before)
        var options = PublisherOptions()
        let notices = SignedNotices()
        options.isDurable = false
        options.notice = { notices.add($0) }
        options.sealing = try place.sealing(place.alice) { $0.adopts = true }
        try place.place.publisher(on: POSIXFileSystem(), options).publish(
            "2", of: place.place.versions)
        try place.expectSigned(by: place.alice)
        expect(notices.all.contains { $0.contains("version 1 (manifest") })
    }

    @Test("never counts back, except from what no clock can have made")
    func countingOn() throws {
        try place.publish("1", place.sealing(place.alice))
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
        let sealing = try place.sealing(place.alice) { $0.expiry = .after(50) }
        try expect(sealing.end(of: early, now: time - 100), equals: time + 50)
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

    @Test("is not replaced by one that does not, unless it says so")
    func unsigned() throws {
        try place.publish("1", place.sealing(place.alice))
        let before = try place.bytes()
        let publisher = place.publisher(PointerSealing())
        let verbs: [() throws -> Void] = [
            { try publisher.publish("2", of: place.place.versions) },
            { _ = try publisher.withdraw(VersionName("1")) },
            { _ = try publisher.plan("2", of: place.place.versions) },
        ]
        for verb in verbs {
            let error = refusal(verb)
            expect(error?.code == .untrusted && error?.message.contains("--unsigned") == true)
        }
        try expect(place.bytes(), equals: before)
        let unsigned = try place.sealing { $0.allowsFewer = true }
        try place.publish("2", unsigned)
        try expect(!place.pointer().isSigned)
    }

    @Test("is not replaced by fewer keys, unless it says so")
    func fewer() throws {
        try place.publish("1", place.sealing(place.alice, place.bob))
        let error = refusal { try place.publish("2", place.sealing(place.alice)) }
        expect(error?.code, equals: .untrusted)
        try place.expectSigned(by: place.alice, place.bob)
        try place.publish("2", place.sealing(place.alice) { $0.allowsFewer = true })
        try place.expectSigned(by: place.alice)
    }

    /// What a stranger who can write to the origin may put in the place of a pointer.
    private func tampered() throws -> [(String, ChannelPointer)] {
        let right = try place.pointer()
        let mallory = try place.sealing(place.mallory)
        var evil = right
        evil.releases[0].isMandatory = true
        var unsigned = right
        unsigned.signatures = []
        var renamed = try mallory.sign(evil, now: 1)
        renamed.signatures = [
            PointerSignature(
                key: right.signatures[0].key, signature: renamed.signatures[0].signature)
        ]
        var beside = try mallory.sign(evil, now: 1)
        beside.signatures = (beside.signatures + right.signatures).sorted { $0.key < $1.key }
        return [
            ("changed", evil), ("unsigned", unsigned),
            ("signed by a stranger", try mallory.sign(evil, now: 1)),
            ("signed under another's name", renamed),
            ("with a stranger's signature beside", beside),
        ]
    }

    @Test("does not sign what a stranger has put there, whatever it does")
    func strangers() throws {
        try place.publish("1", place.sealing(place.alice))
        let sealing = try place.sealing(place.alice)
        let publisher = place.publisher(sealing)
        for (what, pointer) in try tampered() {
            try place.put(pointer)
            let before = try place.bytes()
            let verbs: [() throws -> Void] = [
                { try place.publish("2", sealing) }, { try place.publish("1", sealing) },
                { _ = try publisher.withdraw(VersionName("1")) },
                { _ = try publisher.resign() },
                { _ = try publisher.rotate(TrustRotation(adding: [place.key(place.bob)])) },
            ]
            for verb in verbs { expect(refusal(verb)?.code, equals: .untrusted, "\(what)") }
            try expect(place.bytes(), equals: before, "\(what)")
        }
    }

    @Test("with two keys signs nothing that only one of them has signed")
    func stolenKey() throws {
        let both = try place.sealing(place.alice, place.bob)
        try place.publish("1", both)
        // Bob's key is stolen, and Alice's is not.
        var evil = try place.pointer()
        evil.releases[0].isMandatory = true
        try place.put(try place.sealing(place.bob).sign(evil, now: 1))
        expect(refusal { try place.publish("2", both) }?.code, equals: .untrusted)
    }

    @Test("builds upon what those have signed whom --trust names")
    func trusted() throws {
        try place.publish("1", place.sealing(place.alice))
        expect(
            refusal { try place.publish("2", place.sealing(place.bob)) }?.code, equals: .untrusted)
        let sealing = try place.sealing(place.bob) { $0.trusted = [try place.key(place.alice)] }
        try place.publish("2", sealing)
        try place.expectSigned(by: place.bob)
        try expect(place.pointer().releases.count, equals: 2)
    }

    @Test("notices an old pointer that somebody puts back, and a channel that is gone")
    func oldPointer() throws {
        let sealing = try place.sealing(place.alice)
        try place.publish("1", sealing, to: "beta")
        try place.publish("1", sealing)
        let old = try place.pointer()
        try place.publish("2", sealing)
        let newest = try place.pointer()
        try place.put(old)
        let error = refusal { _ = try place.publisher(sealing).withdraw(VersionName("1")) }
        expect(error?.code == .untrusted && error?.message.contains("old pointer") == true)
        // Gone, with another channel beside it that says which origin this is.
        try place.put(place.pointer("beta"), "beta")
        try FileManager.default.removeItem(atPath: place.path())
        expect(refusal { try place.publish("1", sealing) }?.code, equals: .untrusted)
        // Begun anew on purpose it goes on above all that devices have seen.
        try place.publish("1", place.sealing(place.alice) { $0.adopts = true })
        try expect(place.pointer().sequence > newest.sequence)
        try expect(place.pointer().origin, equals: newest.origin)
    }

    @Test("draws no new id for an origin of which only the marker is left")
    func onlyMarker() throws {
        let sealing = try place.sealing(place.alice)
        try place.publish("1", sealing)
        let before = try place.pointer()
        for channel in ["stable", "beta"] {
            // They are gone the second time.
            Damage.remove(place.path())
            try place.cutLog(after: 0)
            try? FileManager.default.removeItem(atPath: place.memoryFile(place.alice))
            let error = refusal { try place.publish("1", sealing, to: channel) }
            expect(error?.code, equals: .untrusted)
            expect(error?.message.contains("--origin-id \(before.origin ?? "")"), equals: true)
        }
        try place.publish("1", place.sealing(place.alice) { $0.adopts = true })
        try expect(place.pointer().origin, equals: before.origin)
    }

    /// Signed by the same key, it would carry this origin's releases to the devices of the other one.
    @Test("does not build upon a pointer of another origin that somebody has copied here")
    func otherOrigin() throws {
        let sealing = try place.sealing(place.alice)
        let other = SignedPlace(copying: place, "other")
        try other.publish("1", sealing)
        try other.publish("1", sealing, to: "beta")
        let foreign = try other.pointer()
        try place.publish("1", sealing)
        try place.put(foreign)
        let verbs: [() throws -> Void] = [
            { try place.publish("2", sealing) }, { try place.publish("2", sealing, to: "beta") },
            { _ = try place.publisher(sealing).resign() },
            {
                _ = try place.publisher(sealing).rotate(
                    TrustRotation(adding: [place.key(place.bob)]))
            },
        ]
        for verb in verbs { expect(refusal(verb)?.code, equals: .untrusted) }
        try expect(place.pointer(), equals: foreign)
        // Without a memory a channel beside it tells.
        try FileManager.default.removeItem(atPath: place.memoryFile(place.alice))
        try other.publish("2", sealing)
        var moved = try other.pointer()
        moved.origin = String(repeating: "7", count: 32)
        try other.put(sealing.sign(moved, now: 1))
        expect(refusal { try other.publish("1", sealing) }?.code, equals: .untrusted)
    }

    @Test("makes a lost origin anew under its id")
    func lostOrigin() throws {
        let sealing = try place.sealing(place.alice)
        try place.publish("1", sealing)
        let before = try place.pointer()
        try FileManager.default.removeItem(atPath: place.place.origin)
        try place.publish("1", place.sealing(place.alice) { $0.origin = before.origin })
        try expect(place.pointer().origin, equals: before.origin)
        try expect(place.pointer().sequence > before.sequence)
        let other = String(repeating: "0", count: 32)
        expect(
            refusal { try place.publish("2", place.sealing(place.alice) { $0.origin = other }) }?
                .code, equals: .untrusted)
    }

    @Test("takes no id from a channel that a stranger has signed")
    func strangersOrigin() throws {
        try place.publish("1", place.sealing(place.mallory), to: "beta")
        let error = refusal { try place.publish("1", place.sealing(place.alice)) }
        expect(error?.code, equals: .untrusted)
    }

    @Test("is stopped by no signature that somebody adds, once it was looked at")
    func addedSignature() throws {
        let sealing = try place.sealing(place.alice)
        try place.publish("1", sealing)
        var pointer = try place.pointer()
        let added = try place.sealing(place.mallory).sign(pointer, now: 1)
        pointer.signatures = (pointer.signatures + added.signatures).sorted { $0.key < $1.key }
        try place.put(pointer)
        let error = refusal { try place.publish("2", sealing) }
        expect(error?.code == .untrusted && error?.message.contains("--adopt") == true)
        // One that is known has signed, and is not dropped by looking.
        let known = try place.sealing(place.alice) {
            ($0.adopts, $0.trusted) = (true, [try place.key(place.mallory)])
        }
        expect(refusal { try place.publish("2", known) }?.code, equals: .untrusted)
        let notices = SignedNotices()
        var options = PublisherOptions()
        options.isDurable = false
        options.notice = { notices.add($0) }
        options.sealing = try place.sealing(place.alice) { $0.adopts = true }
        try place.place.publisher(on: POSIXFileSystem(), options).resign()
        try place.expectSigned(by: place.alice)
        let mallory = try place.key(place.mallory).id
        expect(notices.all.contains { $0.contains("dropping") && $0.contains(mallory) })
    }

    @Test("signs what is offered already for the time that is given, and refuses what is over")
    func renewal() throws {
        let clock = place.place.clock
        func expiring(_ expiry: PointerSealing.Expiry) throws -> PointerSealing {
            try place.sealing(place.alice) { $0.expiry = expiry }
        }
        try place.publish("1", expiring(.after(60)))
        try expect(!place.publish("1", expiring(.kept)).writesPointer)
        try place.publish("1", expiring(.after(3600)))
        try expect(place.pointer().expiresAt, equals: clock.now + 3600)
        clock.advance(by: 3601)
        let error = refusal { try place.publish("1", expiring(.kept)) }
        expect(error?.code == .badPointer && error?.message.contains("--valid-for") == true)
        try place.publish("1", expiring(.never))
        try expect(place.pointer().expiresAt == nil)
        try expect(!place.publish("1", expiring(.never)).writesPointer)
    }

    @Test("says until when, keeps that, and does not sign what nobody would obey")
    func expiry() throws {
        let clock = place.place.clock
        try place.publish("1", place.sealing(place.alice) { $0.expiry = .after(3600) })
        let end = clock.now + 3600
        try expect(place.pointer().expiresAt, equals: end)
        clock.advance(by: 60)
        try place.publish("2", place.sealing(place.alice))
        try expect(place.pointer().expiresAt, equals: end)
        clock.advance(by: 3600)
        let error = refusal { try place.publish("1", place.sealing(place.alice)) }
        expect(error?.code == .badPointer && error?.message.contains("--valid-for") == true)
        let renewing = try place.sealing(place.alice) { $0.expiry = .after(60) }
        try expect(place.publisher(renewing).resign().map(\.expiresAt), equals: [clock.now + 60])
        try expect(place.pointer().releases.count, equals: 2)
        let never = try place.sealing(place.alice) { $0.expiry = .never }
        try expect(place.publisher(never).resign().map(\.expiresAt), equals: [nil])
        try place.expectSigned(by: place.alice)
    }

    @Test(
        "prunes a signed channel only with the key; without it nothing is trimmed, all else collected"
    )
    func pruning() throws {
        let sealing = try place.sealing(place.alice)
        for version in ["1", "2"] { try place.publish(version, sealing) }
        try place.publish("1", sealing, to: "beta")
        _ = try place.publisher(sealing).withdraw(VersionName("1"), from: ChannelName("beta"))
        try place.place.store.add("3", ["only.txt": "three"])
        try place.publish("3", sealing, to: "beta")
        _ = try place.publisher(sealing).withdraw(VersionName("3"), from: ChannelName("beta"))
        let before = try place.bytes()
        let retention = OriginRetention(releaseCount: 1, graceSeconds: 0)
        let plan = try place.publisher(PointerSealing()).collect(retention)
        expect(plan.trimmedCount == 0 && plan.fileCount == 2)
        try expect(place.bytes(), equals: before)
        try expect(place.publisher(sealing).collect(retention).trimmedCount, equals: 1)
        try expect(place.pointer().releases.count, equals: 1)
        try place.expectSigned(by: place.alice)
        // With a key that must not build upon it nothing is deleted.
        try place.publish("1", sealing)
        let whole = try place.place.published()
        let stranger = try place.publisher(place.sealing(place.mallory))
        expect(refusal { try stranger.collect(retention) }?.code, equals: .untrusted)
        try expect(place.place.published(), equals: whole)
    }

    @Test("signs nothing with a key that is not the one it says")
    func wrongKey() throws {
        struct Liar: PointerSigner {
            let key: VerificationKey
            let memory: SignedSequences? = nil
            let other: SigningKey
            func sign(_ bytes: [UInt8]) throws(StoreError) -> [UInt8] { try other.sign(bytes) }
        }
        var sealing = PointerSealing()
        sealing.signers = [Liar(key: try place.key(place.alice), other: try SigningKey.generate())]
        expect(refusal { try place.publish("1", sealing) }?.code, equals: .badKey)
        try expect(DirectoryOrigin(place.place.origin).pointer(.stable) == nil)
        sealing = try place.sealing(place.alice, place.alice)
        expect(refusal { try sealing.validate() }?.code, equals: .badKey)
    }
}
