import CASStore
import Expectations
import Foundation
import HotPush
import Storage
import StorageTestSupport
import Testing
import VersionTree

/// A reader beside a publisher on a failing disk: the old release or the new one, whole.
@Suite("A publisher on a failing disk") struct PublishingFaultTests {
    /// What somebody does to an origin that offers version 1.
    struct Verb: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var run: @Sendable (PublishingPlace, Publisher) throws -> Void
        /// The releases that a reader may find when it failed half-way, and must find when it is done.
        var before: String?
        var after: String?
    }

    static let publish = Verb(
        testDescription: "publish",
        run: { place, publisher in
            try publisher.publish("2", of: place.versions)
        }, before: "1", after: "2")

    static let publishFirst = Verb(
        testDescription: "publish into nothing",
        run: {
            place, publisher in try publisher.publish("2", of: place.versions)
        }, before: nil, after: "2")

    static let withdraw = Verb(
        testDescription: "withdraw",
        run: { _, publisher in
            do { _ = try publisher.withdraw(VersionName("1")) } catch {
                // The second attempt, after one that failed behind the rename.
                guard .notOffered ~= error else { throw error }
            }
        }, before: "1", after: nil)

    static let collect = Verb(
        testDescription: "collect",
        run: { _, publisher in
            try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        }, before: "1", after: "1")

    static let verbs = [publish, publishFirst, withdraw, collect]

    let store: PublishingPlace

    init() throws { store = try PublishingPlace() }

    private func makePlace(for verb: Verb) throws -> PublishingPlace {
        let place = store.withOrigin("origin-\(UUID().uuidString)")
        if verb.testDescription == Self.publishFirst.testDescription { return place }
        if verb.testDescription == Self.collect.testDescription { try place.publish("2") }
        try place.publish("1")
        return place
    }

    /// What a reader finds; any file that it needs and that is missing or wrong is an issue.
    private func look(_ place: PublishingPlace) throws -> String? {
        guard FileManager.default.fileExists(atPath: place.origin + "/origin.json"),
            let found = try place.read()
        else { return nil }
        let whole = found.version == "1" ? PublishingPlace.first : PublishingPlace.second
        expect(found.files, equals: whole)
        return found.version
    }

    /// - Returns: whether the fault was reached.
    private func survive(
        _ verb: Verb, _ fault: FaultyFileSystem.Fault, isDurable: Bool = false
    ) throws -> Bool {
        let place = try makePlace(for: verb)
        defer { Damage.remove(place.origin) }
        let disk = FaultyFileSystem()
        var options = PublisherOptions()
        options.isDurable = isDurable
        disk.arm(fault)
        let failure = code { try verb.run(place, place.publisher(on: disk, options)) }
        let fired = disk.hasFired
        let at = disk.firedAt?.description ?? "the end"
        let comment: Comment =
            "\(verb.testDescription) met \(fault) at \(at): \(String(describing: failure))"
        let found = try look(place)
        expect(found == verb.before || found == verb.after, comment)
        if failure == nil { expect(found, equals: verb.after, comment) }
        // Repeated without the fault it is done, and nothing is left of the attempt.
        try verb.run(place, place.publisher())
        try expect(look(place), equals: verb.after, comment)
        let left = Damage.names(place.origin).filter {
            $0.contains("/.") || $0.hasPrefix(".origin") || $0.hasPrefix(".publish/staging/")
        }
        expect(left, equals: [], comment)
        return fired
    }

    private func count(
        _ verb: Verb, from start: Int, _ fault: (Int) -> FaultyFileSystem.Fault,
        _ enumeration: String = #function
    ) throws -> Int {
        let share = TestShare(oneIn: 6, of: "\(enumeration) \(verb.testDescription)")
        return try share.count { try survive(verb, fault(start + $0)) }
    }

    @Test("shows the old release or the new one when every call fails once", arguments: verbs)
    func failing(_ verb: Verb) throws {
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

    @Test(
        "shows the old release or the new one when a write is torn", arguments: [publish, withdraw])
    func torn(_ verb: Verb) throws {
        try expect(count(verb, from: 1) { .tear(ENOSPC, at: $0) } > 0)
    }

    @Test("acknowledges nothing when a sync fails", arguments: [publish, publishFirst, withdraw])
    func sync(_ verb: Verb) throws {
        var position = 1
        while true {
            let place = try makePlace(for: verb)
            let disk = FaultyFileSystem()
            disk.arm(.fail(EIO, at: position, of: [.sync, .syncAll]))
            let failure = code {
                try verb.run(place, place.publisher(on: disk, PublisherOptions()))
            }
            guard disk.hasFired else { break }
            expect([.io, .outcomeUnknown].contains(failure), "sync \(position)")
            let found = try look(place)
            expect(found == verb.before || found == verb.after)
            position += 1
        }
        expect(position > 2)
    }

    @Test("makes bytes durable before their names, and all of it before the pointer")
    func order() throws {
        let place = try makePlace(for: Self.publish)
        let disk = FaultyFileSystem()
        try place.publisher(on: disk, PublisherOptions()).publish("2", of: place.versions)
        var isSynced = true
        var renamed: [String] = []
        for operation in disk.operations {
            switch operation.verb {
            case .write where operation.path.contains("/put-"): isSynced = false
            case .sync, .syncAll: isSynced = true
            case .rename:
                expect(isSynced, "\(operation)")
                let path = operation.path.dropFirst(place.origin.utf8.count + 1)
                let directory = String(path.prefix { $0 != "/" })
                if renamed.last != directory { renamed.append(directory) }
            default: break
            }
        }
        expect(renamed, equals: ["objects", "manifests", "channels"])
        // Many objects, few syncs.
        let syncs = disk.operations.filter { $0.verb == .sync || $0.verb == .syncAll }
        expect(syncs.count <= 9, "\(syncs)")
    }
}
