import HotPush
import StorageTestSupport

@testable import ClientSystems

/// Clients that ask while a publisher fails: the old answers or the new ones, whole.
@Suite("Telling the clients of other systems on a failing disk") struct TellingFaultTests {
    struct Verb: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var run: @Sendable (TellingPlace, Publisher) throws -> Void
        var before: [String]
        var after: [String]
    }

    static let publish = Verb(
        testDescription: "publish",
        run: { place, publisher in try publisher.publish("2", of: place.versions) },
        before: ["1"], after: ["2", "1"])
    static let withdraw = Verb(
        testDescription: "withdraw",
        run: { _, publisher in
            do { _ = try publisher.withdraw(VersionName("3")) } catch {
                // The second attempt, after one that failed behind the rename.
                guard .notOffered ~= error else { throw error }
            }
        }, before: ["3", "1"], after: ["1"])
    static let enable = Verb(
        testDescription: "enable",
        run: { place, publisher in
            for system in [ClientSystem.codePush, .expo] {
                try place.telling().enable(TellingPlace.configuration(system), by: publisher)
            }
        }, before: ["1"], after: ["1"])
    static let collect = Verb(
        testDescription: "collect",
        run: { _, publisher in
            try publisher.collect(OriginRetention(releaseCount: 1, graceSeconds: 0))
        }, before: ["3", "1"], after: ["3"])

    let store: TellingPlace

    init() throws { store = try TellingPlace() }

    private func makePlace(for verb: Verb) throws -> TellingPlace {
        let place = store.withOrigin("origin-\(UUID().uuidString)")
        try place.publish("1")
        if verb.testDescription != Self.enable.testDescription {
            try place.enable(.codePush, .expo)
        }
        if verb.before.count > 1 { try place.publish("3") }
        return place
    }

    /// - Returns: whether the fault was reached.
    private func survive(_ verb: Verb, _ fault: FaultyFileSystem.Fault) throws -> Bool {
        let place = try makePlace(for: verb)
        defer { Damage.remove(place.origin) }
        let disk = FaultyFileSystem()
        disk.arm(fault)
        let failure = code { try verb.run(place, place.publisher(on: disk)) }
        let comment: Comment =
            "\(verb.testDescription) met \(fault) at \(disk.firedAt?.description ?? "the end")"
        let found = try place.offered()
        expect(found == verb.before || found == verb.after, comment)
        if failure == nil { expect(found, equals: verb.after, comment) }
        try look(place, all: verb.testDescription != Self.enable.testDescription, comment)
        // Repeated without the fault it is done, and nothing is left of the attempt.
        try verb.run(place, place.publisher())
        try expect(place.offered(), equals: verb.after, comment)
        try look(place, all: true, comment)
        let left = Damage.names(place.origin).filter {
            $0.contains("/.") || $0.hasPrefix(".publish/staging/")
                || $0.hasPrefix(".publish/work-")
        }
        expect(left, equals: [], comment)
        let labels = try place.history(.codePush).offers.map(\.label)
        expect(Set(labels).count, equals: labels.count, comment)
        return disk.hasFired
    }

    /// All that a channel offers is there, with all that its clients are told of it.
    private func look(_ place: TellingPlace, all: Bool, _ comment: Comment) throws {
        for system in [ClientSystem.codePush, .expo] {
            let live = try place.channel(system).live
            if all { expect(live.count, equals: (try place.offered().count), comment) }
        }
    }

    private func count(_ verb: Verb, from start: Int, _ fault: (Int) -> FaultyFileSystem.Fault)
        throws -> Int
    {
        let share = TestShare(oneIn: 12, of: "telling \(verb.testDescription)")
        return try share.count { try survive(verb, fault(start + $0)) }
    }

    @Test(arguments: [publish, withdraw, enable, collect])
    func `leaves old answers or new ones when it is killed after every call`(_ verb: Verb) throws {
        try expect(count(verb, from: 0) { .stop(after: $0) } > 3)
    }

    @Test(arguments: [publish, enable])
    func `leaves old answers or new ones when the disk is full for a moment`(_ verb: Verb) throws {
        let verbs = FaultyFileSystem.Verb.allocating
        try expect(count(verb, from: 1) { .fail(ENOSPC, at: $0, of: verbs) } > 1)
    }

    @Test("makes twins durable before facts, facts before histories, and these before the pointer")
    func order() throws {
        let place = try makePlace(for: Self.publish)
        let disk = FaultyFileSystem()
        try place.publisher(on: disk, isDurable: true).publish("2", of: place.versions)
        var isSynced = true
        var renamed: [String] = []
        for operation in disk.operations {
            switch operation.verb {
            case .write: isSynced = false
            case .syncAll, .sync: isSynced = true
            case .rename where operation.path.hasPrefix(place.origin):
                expect(isSynced, "\(operation)")
                let path = operation.path.dropFirst(place.origin.utf8.count + 1)
                let parts = path.split(separator: "/")
                let directory =
                    parts[0] == "for"
                    ? parts.dropLast().joined(separator: "/") : String(parts[0])
                if renamed.last != directory { renamed.append(directory) }
            default: break
            }
        }
        expect(
            renamed.filter { $0 != ".publish" },
            equals: [
                "objects", "manifests", "deflated", "facts", "for/expo/documents", "for/codepush",
                "for/expo", "channels",
            ])
    }

    @Test func `offers what it did before where there is no room for twins`() throws {
        let place = try makePlace(for: Self.publish)
        let files = try place.told()
        let disk = FaultyFileSystem()
        disk.arm(.fail(ENOSPC, at: 1, of: [.write], path: "/twin-"))
        expectRefusal(.outOfSpace, saying: "channel stable offers what it did before") {
            try place.publisher(on: disk).publish("2", of: place.versions)
        }
        try expect(place.told(), equals: files)
    }
}
