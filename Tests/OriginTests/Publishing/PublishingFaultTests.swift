import OriginTestSupport

/// A reader beside a publisher on a failing disk: the old release or the new one, whole, with the packs that it names.
@Suite("A publisher on a failing disk") struct PublishingFaultTests {
    /// What somebody does to an origin that offers r1 with its packs.
    struct Verb: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var packs = PackOptions.Timing.never
        /// The releases that a reader may find when it failed half-way, and must find when it is done.
        var before: String? = "r1"
        var after: String? = "r2"
        var prepare: @Sendable (PackingFixture) throws -> Void = { _ in }
        var run: @Sendable (PackingFixture, Publisher) throws -> Void = {
            try $1.publish("r2", of: $0.place.versions)
        }
    }

    static let publish = Verb(testDescription: "publish")
    static let publishFirst = Verb(
        testDescription: "publish into nothing", before: nil,
        prepare: { Damage.remove($0.place.origin) })
    static let withdraw = Verb(
        testDescription: "withdraw", after: nil,
        run: { _, publisher in
            do { _ = try publisher.withdraw(VersionName("r1")) } catch {
                // The second attempt, after one that failed behind the rename.
                guard .notOffered ~= error else { throw error }
            }
        })
    static let packed = [
        Verb(testDescription: "publish with packs", packs: .before),
        Verb(testDescription: "publish with packs later", packs: .after),
        Verb(
            testDescription: "pack", packs: .before, before: "r2",
            prepare: { try $0.place.publish("r2") },
            run: { try $1.pack("r2", of: $0.place.versions) }),
        Verb(
            testDescription: "collect", packs: .before, before: "r2",
            prepare: { try $0.publish("r2") },
            run: { try $1.collect(OriginRetention(releaseCount: 1, graceSeconds: 0)) }),
    ]
    static let verbs = [publish, publishFirst, withdraw] + packed

    /// A template for the origins: r1 is published with its packs.
    let fixture: PackingFixture

    init() throws { fixture = try PackingFixture(2, scale: 10, publishing: "r1") }

    private func makePlace(for verb: Verb) throws -> PackingFixture {
        let place = try PackingFixture(copying: fixture, to: "origin-\(UUID().uuidString)")
        try verb.prepare(place)
        return place
    }

    private func survive(_ verb: Verb, _ fault: FaultyFileSystem.Fault) throws -> Bool {
        let place = try makePlace(for: verb)
        defer { Damage.remove(place.place.origin) }
        let disk = FaultyFileSystem()
        disk.arm(fault)
        let failure = code { try verb.run(place, place.publisher(verb.packs, on: disk)) }
        let fired = disk.hasFired
        let at = disk.firedAt?.description ?? "the end"
        let comment: Comment =
            "\(verb.testDescription) met \(fault) at \(at): \(String(describing: failure))"
        let found = try place.offered("stable", comment)
        expect(found == verb.before || found == verb.after, comment)
        if failure == nil { expect(found, equals: verb.after, comment) }
        // Repeated without the fault it is done, and nothing is left of the attempt.
        try verb.run(place, place.publisher(verb.packs))
        try expect(place.offered("stable", comment), equals: verb.after, comment)
        if verb.packs != .never { try place.readAll(["r1"]) }
        let left = Damage.names(place.place.origin).filter {
            $0.contains("/.") || $0.contains("/work-") || $0.hasPrefix(".origin")
                || $0.hasPrefix(".publish/staging/")
        }
        expect(left, equals: [], comment)
        return fired
    }

    private func count(
        _ verb: Verb, from start: Int, _ fault: (Int) -> FaultyFileSystem.Fault,
        _ enumeration: String = #function
    ) throws -> Int {
        let share = TestShare(
            oneIn: verb.packs == .never ? 6 : 14, of: "\(enumeration) \(verb.testDescription)")
        return try share.count { try survive(verb, fault(start + $0)) }
    }

    @Test(arguments: verbs)
    func `shows the old release or the new one when every call fails once`(_ verb: Verb) throws {
        try expect(count(verb, from: 1) { .fail(EIO, at: $0) } > 10)
    }

    @Test(
        "shows the old release or the new one when the disk is full for a moment", arguments: verbs)
    func full(_ verb: Verb) throws {
        let verbs = FaultyFileSystem.Verb.allocating
        try expect(count(verb, from: 1) { .fail(ENOSPC, at: $0, of: verbs) } > 3)
    }

    @Test(
        "shows the old release or the new one when it is killed after every call", arguments: verbs)
    func killed(_ verb: Verb) throws {
        try expect(count(verb, from: 0) { .stop(after: $0) } > 10)
    }

    @Test(arguments: [publish, withdraw])
    func `shows the old release or the new one when a write is torn`(_ verb: Verb) throws {
        try expect(count(verb, from: 1) { .tear(ENOSPC, at: $0) } > 0)
    }

    @Test(arguments: [publish, publishFirst, withdraw])
    func `acknowledges nothing when a sync fails`(_ verb: Verb) throws {
        var position = 1
        while true {
            let place = try makePlace(for: verb)
            let disk = FaultyFileSystem()
            disk.arm(.fail(EIO, at: position, of: [.sync, .syncAll]))
            let failure = code {
                try verb.run(place, place.publisher(.never, on: disk) { $0.isDurable = true })
            }
            guard disk.hasFired else { break }
            expect([.io, .outcomeUnknown].contains(failure), "sync \(position)")
            let found = try place.offered()
            expect(found == verb.before || found == verb.after)
            position += 1
        }
        expect(position > 2)
    }

    @Test(
        "makes bytes durable before their names, packs before deliveries, and all before the pointer",
        arguments: [PackOptions.Timing.never, .before])
    func order(_ packs: PackOptions.Timing) throws {
        let place = try makePlace(for: Self.publish)
        let disk = FaultyFileSystem()
        let publisher = place.publisher(packs, on: disk) { $0.isDurable = true }
        try publisher.publish("r2", of: place.place.versions)
        var isSynced = true
        var renamed: [String] = []
        var afterNames = 0
        for operation in disk.operations {
            let path = String(operation.path.dropFirst(place.place.origin.utf8.count + 1))
            if path.hasPrefix(".publish/frames") { continue }
            switch operation.verb {
            case .write where packs == .never && path.contains("/put-"),
                .write where path.contains("/staging/") || path.contains("/pack-"):
                isSynced = false
            case .sync where packs == .never: isSynced = true
            case .syncAll:
                isSynced = true
                afterNames += 1
            case .rename where !path.hasPrefix(".publish"):
                expect(isSynced, "\(operation)")
                let directory = String(path.prefix { $0 != "/" })
                if renamed.last != directory { renamed.append(directory) }
                if directory == "deliveries" { afterNames = 0 }
                if directory == "channels", packs == .before {
                    expect(afterNames > 0, "\(operation)")
                }
            default: break
            }
        }
        let between = packs == .never ? [] : ["packs", "deliveries"]
        expect(renamed, equals: ["objects", "manifests"] + between + ["channels"])
        // Many objects, few syncs.
        let syncs = disk.operations.filter { $0.verb == .sync || $0.verb == .syncAll }
        expect(syncs.count <= 9 || packs == .before, "\(syncs)")
    }
}
