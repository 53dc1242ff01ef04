import BucketTestSupport
import CASStore
import Expectations
import Foundation
import Storage
import StorageTestSupport
import StrictJSON
import Synchronization
import Testing
import VersionTree

@testable import HotPush

/// A directory's origin copied whole into a bucket, and directories that are copies of buckets: docs/buckets.md.
@Suite struct OriginCopyTests {
    /// An origin in a directory that offers two versions, with packs.
    private func directory() throws -> PackingFixture {
        let fixture = try PackingFixture(scale: 10)
        for version in ["r1", "r2"] { try fixture.publish(version) }
        return fixture
    }

    private func copy(
        _ fixture: PackingFixture, to world: BucketWorld,
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) throws -> OriginCopy.Report {
        try OriginCopy(world.publisher(schedule: schedule), from: fixture.place.origin).run()
    }

    @Test func `all of it is copied, byte by byte, and published to as before`() throws {
        let fixture = try directory()
        let world = try BucketWorld()
        let report = try copy(fixture, to: world)
        expect(report.channelCount == 1 && report.behind.isEmpty && report.foundCount == 0)
        var count = 0
        for kind in ["objects", "packs", "manifests", "deliveries", "channels"] {
            let root = "\(fixture.place.origin)/\(kind)"
            for case let name as String in try require(
                FileManager.default.enumerator(atPath: root))
            {
                var isDirectory: ObjCBool = false
                _ = FileManager.default.fileExists(
                    atPath: "\(root)/\(name)", isDirectory: &isDirectory)
                if isDirectory.boolValue { continue }
                count += 1
                let bytes = try Damage.contents("\(root)/\(name)")
                expect(world.store.files["\(kind)/\(name)"]?.bytes, equals: bytes)
            }
        }
        expect(count, equals: report.sent.count + 1)
        try expect(world.offered(), equals: ["r2", "r1"])
        let commit = try world.publisher(packs: .before).publish(
            "r1", of: fixture.place.versions)
        expect(commit.sent.count, equals: 0)
        world.checkEnd()
        expect(world.broken, equals: [])
    }

    @Test func `an origin whose clients of other systems need what is not there is not copied`()
        throws
    {
        let fixture = try directory()
        let path = fixture.place.origin + "/channels/stable.json"
        let text = String(decoding: try Damage.contents(path), as: UTF8.self)
        let facts = "\"facts\":\"\(String(repeating: "ab", count: 32))\",\"manifest\":"
        let told = text.replacing("\"manifest\":", with: facts, maxReplacements: 1)
        try Damage.overwriteOrCreate(path, with: Array(told.utf8))
        let world = try BucketWorld()
        let error = #expect(throws: StoreError.self) { try copy(fixture, to: world) }
        expect(error?.code, equals: .damagedOrigin)
        expect(error?.message.contains("what the clients of other systems need"), equals: true)
        expect(world.store.files.isEmpty)
    }

    @Test func `publishers of the directory wait while it is copied`() throws {
        let fixture = try directory()
        let refusals = Mutex<[StoreError.Code?]>([])
        let world = try BucketWorld()
        _ = try copy(fixture, to: world) { request in
            if request.verb == .put, refusals.withLock({ $0.isEmpty }) {
                let other = fixture.publisher { $0.waitLimit = .zero }
                let found = [
                    code { try other.publish("r1", of: fixture.place.versions) },
                    code { try other.withdraw(VersionName("r2")) }, code { try other.collect() },
                ]
                refusals.withLock { $0 = found }
            }
            return .answered
        }
        expect(refusals.withLock { $0 }, equals: [.busy, .busy, .busy])
        try expect(world.offered(), equals: ["r2", "r1"])
    }

    @Test func `a copy that was killed anywhere goes on, and ends the same`() throws {
        let fixture = try directory()
        let whole = try copy(fixture, to: BucketWorld())
        let share = TestShare(oneIn: 9)
        for number in 1...whole.figures.requestCount where share.takes(number) {
            let world = try BucketWorld()
            _ = try? copy(fixture, to: world) {
                $0.number == number ? .end(isApplied: number % 2 == 0) : .answered
            }
            let again = try copy(fixture, to: world)
            expect(again.sent.count + again.foundCount <= whole.sent.count)
            try expect(world.offered(), equals: ["r2", "r1"])
            world.checkEnd()
            expect(world.broken, equals: [], "killed at request \(number)")
        }
    }

    @Test
    func `a bucket with an origin of its own is refused, and so is a directory that does not fit`()
        throws
    {
        let fixture = try directory()
        let world = try BucketWorld()
        try world.publish("1", by: world.publisher())
        let before = world.store.files
        expect(code { _ = try copy(fixture, to: world) }, equals: .badOrigin)
        expect(world.store.files, equals: before)

        let object = try require(
            Damage.names("\(fixture.place.origin)/objects").first.map {
                "\(fixture.place.origin)/objects/\($0)"
            })
        let file = try require(Damage.names(object).first)
        var bytes = try Damage.contents("\(object)/\(file)")
        let whole = bytes
        bytes[0] ^= 1
        try Data(bytes).write(to: URL(filePath: "\(object)/\(file)"))
        let other = try BucketWorld()
        expect(code { _ = try copy(fixture, to: other) }, equals: .damagedOrigin)
        expect(other.store.files.keys.filter { $0.hasPrefix("log/") }, equals: [])
        try Data(whole.dropLast()).write(to: URL(filePath: "\(object)/\(file)"))
        let empty = try BucketWorld()
        expect(code { _ = try copy(fixture, to: empty) }, equals: .damagedOrigin)
        expect(empty.store.files.isEmpty)
    }

    @Test func `pointers that do not fit into one entry are refused before a file is sent`() throws
    {
        let fixture = try directory()
        let path = "\(fixture.place.origin)/channels"
        var pointer = try ChannelPointer(
            parsing: Damage.contents("\(path)/stable.json"), of: .stable)
        pointer.foreign = [
            .init(key: "notes", value: .string(String(repeating: "x", count: 240_000)))
        ]
        for name in ["a", "b", "c", "d", "e"] {
            pointer.channel = try ChannelName(name)
            try Data(pointer.serialized()).write(to: URL(filePath: "\(path)/\(name).json"))
        }
        let world = try BucketWorld()
        expect(code { _ = try copy(fixture, to: world) }, equals: .tooLarge)
        expect(world.store.files.keys.filter { !$0.hasPrefix("probe/") }, equals: [])
    }

    @Test func `nothing is written to a directory that is a copy of a bucket`() throws {
        let fixture = try directory()
        let origin = fixture.place.origin
        try FileManager.default.createDirectory(
            atPath: "\(origin)/log", withIntermediateDirectories: true)
        // An empty directory of that name is nobody's log.
        try fixture.publish("r2")
        try Data("{}".utf8).write(to: URL(filePath: "\(origin)/log/0000000001.json"))
        let publisher = fixture.publisher()
        let versions = fixture.place.versions
        let deeds: [() throws -> Void] = [
            { _ = try publisher.publish("r1", of: versions) },
            { _ = try publisher.plan("r1", of: versions) },
            { _ = try publisher.withdraw(VersionName("r1")) },
            { _ = try publisher.collect() },
            { _ = try publisher.pack("r1", of: versions) },
            { _ = try copy(fixture, to: BucketWorld()) },
        ]
        for deed in deeds { expect(code { try deed() }, equals: .offeredElsewhere) }
    }
}
