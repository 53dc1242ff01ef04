import CASStore
import Expectations
import Foundation
import StorageTestSupport
import Synchronization
import Testing
import VersionTree

@testable import HotPush

/// What a failing disk leaves of a release with packs: the old one or the new one, with all that it names.
@Suite("A publisher of packs on a failing disk") struct PackFaultTests {
    /// What is done to an origin that offers r1 with its packs.
    struct Verb: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var run: @Sendable (PackingFixture, Publisher) throws -> Void
        /// What makes the place ready.
        var prepare: @Sendable (PackingFixture) throws -> Void = { _ in }
        /// Whether the first release must have packs when it is done.
        var packs = true
    }

    static let publish = Verb(
        testDescription: "publish with packs",
        run: { try $1.publish("r2", of: $0.place.versions) })

    static let later = Verb(
        testDescription: "publish with packs later",
        run: { fixture, publisher in
            var publisher = publisher
            publisher.options.packs.moment = .after
            try publisher.publish("r2", of: fixture.place.versions)
        })

    static let pack = Verb(
        testDescription: "pack",
        run: { try $1.pack("r2", of: $0.place.versions) },
        prepare: { try $0.place.publish("r2") })

    static let collect = Verb(
        testDescription: "collect",
        run: { try $1.collect(OriginRetention(releaseCount: 1, graceSeconds: 0)) },
        prepare: { try $0.publish("r2") })

    static let verbs = [publish, later, pack, collect]

    /// A template for the origins: r1 is published with its packs.
    let fixture: PackingFixture

    init() throws {
        fixture = try PackingFixture(2, scale: 10)
        try fixture.publish("r1")
    }

    private func makePlace(for verb: Verb) throws -> PackingFixture {
        let place = PackingFixture(fixture, origin: "origin-\(UUID().uuidString)")
        try FileManager.default.copyItem(
            atPath: fixture.place.origin, toPath: place.place.origin)
        try verb.prepare(place)
        return place
    }

    /// Everything that the pointer names is there, whole.
    private func look(_ place: PackingFixture, _ comment: Comment) throws {
        let found = try require(try place.place.read())
        expect(
            found.files, equals: PackingFixture.files(found.version == "r1" ? 1 : 2, scale: 10),
            comment)
        for release in try place.pointer().releases {
            guard let published = release.delivery else { continue }
            let version = try require(release.version)
            let delivery = try place.reader.delivery(of: version, published)
            for pack in delivery.packs {
                let path = "\(place.place.origin)/\(OriginLayout.pack(pack.address))"
                try expect(ObjectID(of: Damage.contents(path)), equals: pack.address, comment)
            }
        }
    }

    /// - Returns: whether the fault was reached.
    private func survive(_ verb: Verb, _ fault: FaultyFileSystem.Fault) throws -> Bool {
        let place = try makePlace(for: verb)
        defer { Damage.remove(place.place.origin) }
        let disk = FaultyFileSystem()
        disk.arm(fault)
        let failure = code { try verb.run(place, place.publisher(.before, on: disk)) }
        let at = disk.firedAt?.description ?? "the end"
        let comment: Comment =
            "\(verb.testDescription) met \(fault) at \(at): \(String(describing: failure))"
        try look(place, comment)
        let fired = disk.hasFired
        // Repeated without the fault it is done, and nothing is left of the attempt.
        try verb.run(place, place.publisher())
        try look(place, comment)
        try expect(place.pointer().releases.first?.version?.name.description, equals: "r2", comment)
        try place.readAll(["r1"])
        let left = Damage.names(place.place.origin).filter {
            $0.contains("/.packed") || $0.contains("/work-") || $0.hasPrefix(".origin")
                || $0.hasPrefix(".publish/staging/") || $0.hasPrefix("channels/.")
        }
        expect(left, equals: [], comment)
        return fired
    }

    private func count(
        _ verb: Verb, from start: Int, _ fault: (Int) -> FaultyFileSystem.Fault,
        _ enumeration: String = #function
    ) throws -> Int {
        let share = TestShare(oneIn: 14, of: "\(enumeration) \(verb.testDescription)")
        return try share.count { try survive(verb, fault(start + $0)) }
    }

    @Test("names nothing that is not there whole when every call fails once", arguments: verbs)
    func failing(_ verb: Verb) throws {
        try expect(count(verb, from: 1) { .fail(EIO, at: $0) } > 30)
    }

    @Test(
        "names nothing that is not there whole when the disk is full for a moment", arguments: verbs
    )
    func full(_ verb: Verb) throws {
        let verbs = FaultyFileSystem.Verb.allocating
        try expect(count(verb, from: 1) { .fail(ENOSPC, at: $0, of: verbs) } > 3)
    }

    @Test(
        "names nothing that is not there whole when it is killed after every call", arguments: verbs
    )
    func killed(_ verb: Verb) throws {
        try expect(count(verb, from: 0) { .stop(after: $0) } > 30)
    }

    @Test(
        "makes bytes durable before their names, packs before deliveries, and all before the pointer"
    )
    func order() throws {
        let place = try makePlace(for: Self.publish)
        let disk = FaultyFileSystem()
        let publisher = place.publisher(.before, on: disk) { $0.isDurable = true }
        try publisher.publish("r2", of: place.place.versions)
        var isSynced = true
        var renamed: [String] = []
        var afterNames = 0
        for operation in disk.operations {
            let path = String(operation.path.dropFirst(place.place.origin.utf8.count + 1))
            if path.hasPrefix(".publish/frames") || path.hasPrefix(".publish/sketches") { continue }
            switch operation.verb {
            case .write where path.contains("/staging/") || path.contains("/pack-"):
                isSynced = false
            case .syncAll:
                isSynced = true
                afterNames += 1
            case .rename where !path.hasPrefix(".publish"):
                expect(isSynced, "\(operation)")
                let directory = String(path.prefix { $0 != "/" })
                if renamed.last != directory { renamed.append(directory) }
                if directory == "deliveries" { afterNames = 0 }
                if directory == "channels" { expect(afterNames > 0, "\(operation)") }
            default: break
            }
        }
        expect(renamed, equals: ["objects", "manifests", "packs", "deliveries", "channels"])
    }

    @Test("is asked for room before it compresses, and a release without room has no packs")
    func space() throws {
        try fixture.publisher(.never).publish("r2", of: fixture.place.versions)
        let disk = FullFileSystem()
        let failure = code {
            try fixture.publisher(.before, on: disk).pack("r2", of: fixture.place.versions)
        }
        expect(failure, equals: .outOfSpace)
        let notices = Mutex<[String]>([])
        let offer = ReleaseOffer(rollout: Rollout(perMille: 100, salt: "x"))
        let publisher = fixture.publisher(.before, on: disk) { options in
            options.notice = { text in notices.withLock { $0.append(text) } }
        }
        let plan = try publisher.publish("r2", of: fixture.place.versions, as: offer)
        expect(!plan.isUnchanged && plan.packing == nil)
        try expect(fixture.pointer().releases[0].rollout?.perMille, equals: 100)
        expect(notices.withLock { $0 }.contains { $0.contains("then run castree pack r2 ") })
        expect(
            !Damage.names(fixture.place.origin + "/.publish").contains { $0.hasPrefix("work-") })
    }

    @Test("leaves nothing of packs for which the room was not enough, and the release is offered")
    func fullWhilePacking() throws {
        let place = try makePlace(for: Self.publish)
        defer { Damage.remove(place.place.origin) }
        let frames = place.kept("frames")
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 5, of: [.write]))
        let plan = try place.publisher(.before, on: disk).publish("r2", of: place.place.versions)
        expect(disk.hasFired && !plan.isUnchanged && plan.packing == nil)
        expect(place.kept("frames"), equals: frames)
        try expect(place.pointer().releases[0].delivery == nil)
        let packed = try place.publisher().pack("r2", of: place.place.versions)
        expect(packed?.packs.map(\.version), equals: [nil, "r1"])
    }

    @Test("clears up also while another program is just starting and has everything open")
    func startingProgram() throws {
        let place = try makePlace(for: Self.publish)
        defer { Damage.remove(place.place.origin) }
        let frames = place.kept("frames")
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 5, of: [.write]))
        let child = StartingProgram(base: disk)
        try place.publisher(.before, on: child).publish("r2", of: place.place.versions)
        expect(disk.hasFired && child.count > 0)
        expect(place.kept("frames"), equals: frames)
        // The next one, too, finds nobody at work.
        let packed = try place.publisher(.before, on: child) { $0.waitLimit = .zero }
            .pack("r2", of: place.place.versions)
        expect(packed?.packs.map(\.version), equals: [nil, "r1"])
    }
}

/// A disk whose locked files a program has open, too, that is just starting: between fork and exec.
private final class StartingProgram: FileSystemWrapper {
    let base: any FileSystem
    private let files = Mutex<[Int32]>([])

    init(base: any FileSystem) { self.base = base }

    deinit { files.withLock { files in for file in files { close(file) } } }

    var count: Int { files.withLock { $0.count } }

    func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        let isLocked = try base.lock(file, exclusive: exclusive)
        // Of the same open file, like a child's: the lock is its, too (flock(2)).
        if isLocked { files.withLock { $0.append(fcntl(file, F_DUPFD_CLOEXEC, 0)) } }
        return isLocked
    }
}
