import BucketTestSupport
import CASStore
import Expectations
import Foundation
import Storage
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

@testable import HotPush

@Suite("A publisher that signs in a bucket") struct BucketSigningTests {
    let people: SignedPlace
    let world: BucketWorld

    init() throws {
        people = try SignedPlace()
        world = try BucketWorld()
    }

    private func publisher(
        _ sealing: PointerSealing, _ actor: String = "one",
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> OriginPublisher {
        world.publisher(actor, schedule: schedule, options: { $0.sealing = sealing })
    }

    private func pointer(_ channel: String = "stable") throws -> ChannelPointer {
        let file = try require(world.store.files["channels/\(channel).json"])
        return try ChannelPointer(parsing: file.bytes, of: ChannelName(channel))
    }

    private func expectSigned(by file: String, channel: String = "stable") throws {
        let keys = try TrustedKeys([people.key(file)])
        try expect(keys.judge(pointer(channel)).objection == nil)
    }

    private func kinds() throws -> [String] {
        try world.store.files.keys.filter { $0.hasPrefix("log/") }.sorted().map { key in
            let number = try require(OriginLayout.number(ofLogEntry: key))
            let bytes = try require(world.store.files[key]).bytes
            return try LogEntry(parsing: bytes, number: number).kind.name
        }
    }

    /// What a stranger with write access does: the next entry, and its pointer's copy.
    private func intrude(_ change: (inout ChannelPointer) throws -> Void) throws {
        let log = OriginLog(world.bucket("mallory"))
        let state = try require(try log.state(from: 0))
        var pointer = try require(state.pointers[.stable]).renewed(now: world.store.clock.now)
        try change(&pointer)
        pointer.log = state.number + 1
        var entry = try LogEntry(after: state, .resign, now: world.store.clock.now)
        entry.channels[.stable] = state.number + 1
        entry.pointers[.stable] = pointer
        world.store.set(OriginLayout.logEntry(state.number + 1), entry.serialized())
        world.store.set("channels/stable.json", pointer.serialized())
    }

    @Test("signs the pointer in the entry, and its copy has the same bytes")
    func signing() throws {
        let alice = try publisher(people.sealing(people.alice))
        try world.publish("1", by: alice)
        try world.publish("2", by: alice)
        try expectSigned(by: people.alice)
        let pointer = try pointer()
        expect(pointer.log, equals: 3)
        let state = try require(try OriginLog(world.bucket()).state(from: 0))
        expect(state.pointers[.stable], equals: pointer)
        let origin = try require(pointer.origin)
        expect(
            world.store.files["origin.json"]?.bytes, equals: OriginMarker.serialized(of: origin))
        // Withdrawn, and signed anew.
        _ = try alice.withdraw(VersionName("2"))
        _ = try alice.resign()
        try expectSigned(by: people.alice)
        try expect(kinds(), equals: ["create", "publish", "publish", "withdraw", "resign"])
        try expect(self.pointer().origin, equals: origin)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test("signs anew for each attempt that somebody else was faster than")
    func races() throws {
        let alice = try people.sealing(people.alice)
        try world.publish("1", by: publisher(alice))
        let overtaken = Atomic<Int>(0)
        let slow = publisher(alice, "slow") { request in
            if request.verb == .putIfAbsent, request.key.hasPrefix("log/"),
                overtaken.load(ordering: .relaxed) < 3
            {
                let number = overtaken.add(1, ordering: .relaxed).newValue
                _ = try? world.publish(
                    "\(number + 2)", by: publisher(alice, "fast"))
            }
            return .answered
        }
        try world.publish("2", by: slow)
        try expectSigned(by: people.alice)
        let versions = try pointer().releases.compactMap { $0.version?.name.description }
        expect(versions, equals: ["2", "5", "4", "3", "1"])
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test(
        "does not sign what a stranger has written, and goes on from the newest pointer that is its own"
    )
    func strangers() throws {
        let alice = try people.sealing(people.alice)
        for version in ["1", "2"] { try world.publish(version, by: publisher(alice)) }
        let before = try pointer()
        let mallory = try people.sealing(people.mallory)
        for sealing in [nil, mallory] {
            try intrude { pointer in
                pointer.releases[0].isMandatory = true
                if let sealing { pointer = try sealing.sign(pointer, now: 1) }
            }
        }
        // Without a key that vouches for anything there is nothing to go on from.
        let bob = try publisher(people.sealing(people.bob))
        expect(refusal { try world.publish("3", by: bob) }?.code, equals: .untrusted)
        let entryCount = try kinds().count
        try world.publish("3", by: publisher(alice))
        try expect(kinds().count, equals: entryCount + 1)
        try expectSigned(by: people.alice)
        let after = try pointer()
        expect(after.releases.dropFirst(), equals: before.releases[...])
        expect(after.origin == before.origin && after.sequence > before.sequence)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test("refuses to go back before a change of keys, whoever asks")
    func rotated() throws {
        let (alice, bob) = (try people.sealing(people.alice), try people.sealing(people.bob))
        let both = try people.sealing(people.alice, people.bob)
        for channel in ["beta", "stable"] {
            try world.publish("1", to: channel, by: publisher(alice))
        }
        let rotation = TrustRotation(
            adding: [try people.key(people.bob)], removing: [try people.key(people.alice).id])
        let (step, commits) = try publisher(both).rotate(rotation)
        expect(step.file.version == 2 && commits.count == 2)
        let file = try require(world.store.files["trust/2.json"])
        try TrustFile(parsing: file.bytes, version: 2).check(
            follows: TrustedKeys([people.key(people.alice)]), 1, of: step.file.origin)
        for channel in ["beta", "stable"] {
            try expectSigned(by: people.bob, channel: channel)
            try expect(pointer(channel).trustVersion, equals: 2)
        }
        try expect(kinds().suffix(2), equals: ["rotate", "rotate"])
        expect(refusal { try world.publish("2", by: publisher(alice)) }?.code, equals: .untrusted)
        try world.publish("2", by: publisher(bob))
        try expectSigned(by: people.bob)
        // A prune keeps what devices that are behind need.
        _ = try OriginPruner(publisher(bob)).prune(keeping: 1, grace: 0)
        expect(world.store.files["trust/2.json"] != nil)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test("that is cut short in a rotation goes on with it, and no pointer names what is not there")
    func interruptedRotation() throws {
        let alice = try people.sealing(people.alice)
        let both = try people.sealing(people.alice, people.bob)
        for channel in ["beta", "stable"] {
            try world.publish("1", to: channel, by: publisher(alice))
        }
        let rotation = TrustRotation(
            adding: [try people.key(people.bob)], removing: [try people.key(people.alice).id])
        let (old, new) = (
            try TrustedKeys([people.key(people.alice)]), try TrustedKeys([people.key(people.bob)])
        )
        let count = try TestShare(oneIn: 3).count { index in
            let world = BucketWorld(copying: self.world)
            for key in [people.alice, people.bob] {
                // There is none yet the first time.
                try? FileManager.default.removeItem(atPath: people.memoryFile(key))
            }
            let wasReached = Atomic<Bool>(false)
            let dying = world.publisher("dying") { request in
                guard request.number >= index + 1 else { return .answered }
                wasReached.store(true, ordering: .relaxed)
                return .dropped
            } options: {
                $0.sealing = both
            }
            let failure = refusal { try dying.rotate(rotation) }
            let state = try require(try OriginLog(world.bucket()).state(from: 0))
            for pointer in state.pointers.values {
                let keys = pointer.trustVersion == nil ? old : new
                expect(keys.judge(pointer).objection == nil, "\(index)")
                expect(pointer.trustVersion == nil || world.store.files["trust/2.json"] != nil)
            }
            if failure != nil {
                let again = world.publisher(options: { $0.sealing = both })
                let refused = refusal { try again.rotate(rotation) }
                expect(refused == nil || refused?.message.contains("nothing changes") == true)
            }
            let end = try require(try OriginLog(world.bucket()).state(from: 0))
            expect(end.pointers.values.allSatisfy { new.judge($0).objection == nil }, "\(index)")
            expect(world.broken, equals: [])
            return wasReached.load(ordering: .relaxed)
        }
        expect(count > 5)
    }

    @Test("remembers what it has signed before anybody sees it, and is kept from nothing by that")
    func memoryFirst() throws {
        let alice = try people.sealing(people.alice)
        try world.publish("1", by: publisher(alice))
        let origin = try require(try pointer().origin)
        let noted = try Damage.contents(people.memoryFile(people.alice))
        let memory = try people.memory(people.alice)
        let count = try TestShare(oneIn: 2).count { index in
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            let wasReached = Atomic<Bool>(false)
            let dying = world.publisher("dying") { request in
                guard request.number >= index + 1 else { return .answered }
                wasReached.store(true, ordering: .relaxed)
                return .dropped
            } options: {
                $0.sealing = alice
            }
            _ = refusal { try dying.resign() }
            let used = try memory.used(of: .stable, in: origin)
            let state = try require(try OriginLog(world.bucket()).state(from: 0))
            try expect(require(state.pointers[.stable]).sequence <= used, "\(index)")
            let next = try world.publisher(options: { $0.sealing = alice }).resign()
            expect(next.allSatisfy { $0.pointer.sequence > used }, "\(index)")
            expect(world.broken, equals: [])
            return wasReached.load(ordering: .relaxed)
        }
        expect(count > 2)
    }

    @Test("commits first what a killed publisher has signed, whatever a stranger deletes")
    func finishing() throws {
        let alice = try people.sealing(people.alice)
        for version in ["1", "2"] { try world.publish(version, by: publisher(alice)) }
        let noted = try Damage.contents(people.memoryFile(people.alice))
        let before = world.store.files.mapValues(\.bytes)
        var finishedCount = 0
        // Every request: a single one lies between the two notes.
        let count = try TestShare(oneIn: 1).count { index in
            let world = BucketWorld(copying: self.world)
            try Data(noted).write(to: URL(filePath: people.memoryFile(people.alice)))
            let wasReached = Atomic<Bool>(false)
            let dying = world.publisher("dying") { request in
                guard request.number >= index + 1 else { return .answered }
                wasReached.store(true, ordering: .relaxed)
                return .end(isApplied: true)
            } options: {
                $0.sealing = alice
            }
            _ = refusal { try dying.withdraw(VersionName("2")) }
            let state = try require(try OriginLog(world.bucket()).state(from: 0))
            let wasSeen = try require(state.pointers[.stable]).releases.count == 1
            // The stranger takes back what has been written.
            for key in world.store.files.keys where before[key] == nil { world.store.set(key, nil) }
            for (key, bytes) in before where world.store.files[key]?.bytes != bytes {
                world.store.set(key, bytes)
            }
            let next = world.publisher(options: { $0.sealing = alice })
            let refused = refusal { try next.resign(.stable) }
            expect(refused == nil || refused?.code == .untrusted, "\(index)")
            let after = try require(try OriginLog(world.bucket()).state(from: 0))
            let isFinished = after.pointers[.stable]?.releases.count == 1
            // What was noted as seen is not there: nothing is built upon what is.
            if wasSeen { expect(refused != nil || isFinished, "\(index)") }
            if isFinished { finishedCount += 1 }
            return wasReached.load(ordering: .relaxed)
        }
        expect(count > 2 && finishedCount > 0)
    }

    @Test("prunes with a key, and without one shortens no list")
    func pruning() throws {
        let alice = try people.sealing(people.alice)
        for version in ["1", "2", "3"] { try world.publish(version, by: publisher(alice)) }
        let before = try pointer()
        let plain = OriginPruner(publisher(PointerSealing()))
        try expect(plain.prune(keeping: 1, grace: 0).trimmedCount, equals: 0)
        try expect(pointer(), equals: before)
        try expect(
            OriginPruner(publisher(alice)).prune(keeping: 1, grace: 0).trimmedCount, equals: 2)
        try expectSigned(by: people.alice)
        try expect(pointer().releases.count, equals: 1)
        let mallory = try OriginPruner(publisher(people.sealing(people.mallory)))
        try world.publish("4", by: publisher(alice))
        let whole = world.store.files.mapValues(\.bytes)
        expect(refusal { try mallory.prune(keeping: 1, grace: 0) }?.code, equals: .untrusted)
        expect(world.store.files.mapValues(\.bytes), equals: whole)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test(
        "is not replaced by one that does not, and signs a bucket that nobody has signed when told to"
    )
    func adoption() throws {
        try world.publish("1", by: publisher(PointerSealing()))
        let alice = try people.sealing(people.alice)
        // Also what is offered already: whoever signs it has to have looked.
        for version in ["1", "2"] {
            let refused = refusal { try world.publish(version, by: publisher(alice)) }
            expect(refused?.code == .untrusted && refused?.message.contains("--adopt") == true)
        }
        try expect(!pointer().isSigned)
        let adopting = try people.sealing(people.alice) { $0.adopts = true }
        try world.publish("1", by: publisher(adopting))
        try expectSigned(by: people.alice)
        expect(
            refusal { try world.publish("2", by: publisher(PointerSealing())) }?.code,
            equals: .untrusted)
        try expectSigned(by: people.alice)
    }

    @Test("begins a new log with signed pointers of an old one only if it signs them anew")
    func takenOver() throws {
        let alice = try people.sealing(people.alice)
        for version in ["1", "2"] { try world.publish(version, by: publisher(alice)) }
        let before = try pointer()
        for key in world.store.files.keys where key.hasPrefix("log/") {
            world.store.set(key, nil)
        }
        func taking(_ sealing: PointerSealing) -> OriginPublisher {
            var options = PublisherOptions()
            options.packs.moment = .never
            (options.takesOver, options.sealing) = (true, sealing)
            return OriginPublisher(ModelStorage(world.store), options: options, pause: { _ in })
        }
        let unsigned = refusal { try taking(PointerSealing()).publish("3", of: world.versions) }
        expect(unsigned?.code, equals: .untrusted)
        _ = try taking(alice).publish("3", of: world.versions)
        try expectSigned(by: people.alice)
        let after = try pointer()
        expect(after.releases.count == 3 && after.sequence > before.sequence)
        expect(after.origin == before.origin && after.log == 2)
    }

    @Test("says who would sign, and writes nothing")
    func planned() throws {
        let alice = try people.sealing(people.alice)
        try world.publish("1", by: publisher(alice))
        let whole = world.store.files.mapValues(\.bytes)
        let plan = try publisher(alice).plan("2", of: world.versions)
        expect(plan.pointer.signatures.map(\.key), equals: [try people.key(people.alice).id])
        expect(refusal { try publisher(PointerSealing()).plan("2", of: world.versions) } != nil)
        expect(world.store.files.mapValues(\.bytes), equals: whole)
        // And in a directory.
        try people.publish("1", alice)
        let before = try people.place.published()
        let there = try people.publisher(alice).plan("2", of: people.place.versions)
        expect(there.pointer.signatures.map(\.key), equals: plan.pointer.signatures.map(\.key))
        try expect(people.place.published(), equals: before)
    }

    @Test("goes on from a signed directory that was copied whole, signatures and trust with it")
    func copied() throws {
        try people.publish("1", people.sealing(people.alice))
        let both = try people.sealing(people.alice, people.bob)
        try people.publisher(both).rotate(
            TrustRotation(
                adding: [try people.key(people.bob)], removing: [try people.key(people.alice).id]))
        let source = try OriginCopy.directory(people.place.origin)
        _ = try OriginCopy(
            publisher(PointerSealing()), from: source, scratch: people.place.origin
        ).run()
        for name in ["channels/stable.json", "trust/2.json", "origin.json"] {
            let bytes = try Damage.contents("\(people.place.origin)/\(name)")
            expect(world.store.files[name]?.bytes, equals: bytes, "\(name)")
        }
        let bob = try publisher(people.sealing(people.bob))
        _ = try bob.publish("2", of: people.place.versions)
        try expectSigned(by: people.bob)
        try expect(pointer().trustVersion, equals: 2)
    }
}
