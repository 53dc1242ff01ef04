import HotPush
import Origin
import StorageTestSupport

/// Promise I12: no command deletes the last copy of content that somebody needs.
///
/// What is needed is taken before the damage; copies are found by hashing every file below the store, whatever it is
/// called. Whatever is done to a store, and whatever is run then: the set of needed contents of which there is a
/// copy never shrinks, and after a repair each of them is an object again.
@Suite("Content that somebody needs", .serialized) struct LastCopyTests {
    typealias Victim = TamperingTests.Victim
    typealias Tampering = TamperingTests.Tampering

    /// A command, as a user would run it on a store that was damaged.
    struct Verb: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Whether all that has a copy must be an object afterwards.
        var repairs = false
        /// Whether no object of what is needed may go, whatever else shows it.
        var collectsOnly = false
        /// The version that the verb is asked to retire.
        var retires: String?
        /// Whether it collects after a repair: that may have let the lifecycle forget a version of which nothing else
        /// is left.
        var collectsRepaired = false
        var run: @Sendable (Victim, any FileSystem) throws -> Void
    }

    /// All of them, or those whose names `CASTREE_TEST_VERBS` lists, with commas.
    static let verbs: [Verb] = {
        guard let names = ProcessInfo.processInfo.environment["CASTREE_TEST_VERBS"] else {
            return allVerbs
        }
        let wanted = Set(names.split(separator: ",").map(String.init))
        return allVerbs.filter { wanted.contains($0.testDescription) }
    }()

    private static let allVerbs: [Verb] = [
        Verb(testDescription: "repair", repairs: true) { _ = try repair($0, $1) },
        Verb(testDescription: "a deep repair", repairs: true) {
            _ = try repair($0, $1, isDeep: true)
        },
        Verb(testDescription: "a collection", collectsOnly: true) {
            try $0.place.open(on: $1).collect()
        },
        Verb(testDescription: "an add") { victim, disk in
            let source = victim.place.beside + "/source-4"
            try writeTree(source, ["index.html": "four", "lib/a.js": "shared"])
            _ = try victim.place.open(on: disk).add(directory: source, version: "4")
        },
        Verb(testDescription: "adding what is there again") { victim, disk in
            try victim.place.add("0", to: victim.place.open(on: disk))
        },
        Verb(testDescription: "retiring another version", retires: "2") {
            try $0.place.open(on: $1).retire("2")
            _ = try $0.place.open(on: $1).collect()
        },
        Verb(testDescription: "a switch") { try $0.place.open(on: $1).activate("2") },
        Verb(testDescription: "a start") { _ = try $0.place.open(on: $1).boot() },
        Verb(testDescription: "a checkout") { victim, disk in
            _ = try victim.place.open(on: disk).checkout(
                "1", to: victim.place.beside + "/checked-out", mode: .copy)
        },
        Verb(testDescription: "a pull") { victim, disk in
            try Self.pull("4", into: victim.place.open(on: disk))
        },
        Verb(testDescription: "pulling what is there again") { victim, disk in
            try Self.pull("0", into: victim.place.open(on: disk))
        },
        Verb(testDescription: "a repair from an origin", repairs: true) { victim, disk in
            let origin = try Self.origin.get().path
            let repair = OriginRepair(
                into: try victim.place.open(on: disk), over: DirectoryTransport(origin))
            let source = RepairSource { (lost) throws(StoreError) in
                try repair.restore(lost, from: .directory(origin))
            }
            _ = try victim.place.open(on: disk).repair(from: source) { _ in true }
        },
        Verb(
            testDescription: "a collection between repairs", repairs: true, collectsRepaired: true
        ) { victim, disk in
            _ = try? repair(victim, disk)
            _ = try? victim.place.open(on: disk).collect()
            _ = try repair(victim, disk)
        },
        Verb(testDescription: "a repair between collections", collectsRepaired: true) {
            victim, disk in
            _ = try? victim.place.open(on: disk).collect()
            _ = try? repair(victim, disk)
            try victim.place.open(on: disk).collect()
        },
    ]

    /// Somewhere else that has versions 0 and 4, each offered in a channel of its name.
    private static let origin = Result { try Origin() }

    private struct Origin {
        let directory = TemporaryDirectory(inMemory: true)
        var path: String { directory.appending("origin") }

        init() throws {
            let publishing = try VersionStore.create(
                at: directory.appending("publisher"), options: Place.options(false)
            ).versions
            let contents = ["0": Place.contents["0"] ?? [:], "4": ["index.html": "four"]]
            for (version, files) in contents {
                try writeTree(directory.appending(version), files)
                _ = try publishing.add(directory: directory.appending(version), version: version)
                var options = PublisherOptions()
                options.isDurable = false
                try Publisher(path, options: options).publish(
                    version, of: publishing,
                    as: ReleaseOffer(channel: try ChannelName("v" + version)))
            }
        }
    }

    private static func pull(_ version: String, into versions: VersionStore) throws {
        let origin = try origin.get().path
        var options = PullOptions()
        options.channel = "v" + version
        options.destination = .kept
        _ = try Pull(into: versions, over: DirectoryTransport(origin), options).run(origin)
    }

    private static func repair(
        _ victim: Victim, _ disk: any FileSystem, isDeep: Bool = false
    ) throws -> CheckReport {
        try victim.place.open(on: disk).repair(CheckOptions(isDeep: isDeep)) { _ in true }
    }

    // MARK: One damage

    @Test(arguments: verbs)
    func `stays, whatever one thing was done to the store, after`(_ verb: Verb) throws {
        let all = TamperingTests.tamperings
        let taken = TestShare(oneIn: 24, of: verb.testDescription).of(all)
        for tampering in taken { try hold([tampering], verb) }
        print("last copies, \(verb.testDescription): \(taken.count) of \(all.count) damages")
    }

    // MARK: Two

    /// Pairs that have lost something once are always tried.
    private static let found = [
        [
            "deletes the manifest and the index of what is shown",
            "loses all trees, and moves an object into a directory in another's place",
        ],
        [
            "makes two objects one file",
            "renames a tree to the name of a lease, and forgets version 0",
        ],
        [
            "takes a known good version out of the lifecycle",
            "renames a tree to the name of a lease, and forgets version 0",
        ],
    ]

    /// One pair in so many is tried, but all with CASTREE_TEST_ALL, and all in which one of the damages has a part of its
    /// name in `CASTREE_TEST_DAMAGES`, with bars between.
    private static let share = TestShare.isWhole ? 400 : 4000

    @Test(arguments: verbs)
    func `stays, whatever two things were done to the store, after`(_ verb: Verb) throws {
        let environment = ProcessInfo.processInfo.environment
        let parts = environment["CASTREE_TEST_DAMAGES"]?.split(separator: "|") ?? []
        let seed = TestShare.seed
        var random = SeededRandom(seed: seed ^ UInt64(verb.testDescription.utf8.count))
        var count = 0
        for first in TamperingTests.tamperings {
            for second in TamperingTests.tamperings {
                let names = [first, second].map(\.testDescription)
                let isChosen =
                    parts.isEmpty
                    ? random.next() % UInt64(Self.share) == 0
                    : parts.contains { part in names.contains { $0.contains(part) } }
                guard
                    isChosen || Self.found.contains(names)
                        || environment["CASTREE_TEST_ALL"] != nil
                else { continue }
                count += 1
                try hold([first, second], verb)
            }
        }
        print(
            "last copies, \(verb.testDescription): \(count) pairs of damages, CASTREE_TEST_SEED=\(seed)"
        )
    }

    // MARK: What must hold

    private func hold(_ tamperings: [Tampering], _ verb: Verb) throws {
        for problem in try Self.problems(tamperings, verb) { Issue.record("\(problem)") }
    }

    /// What of the promise does not hold.
    private static func problems(
        _ tamperings: [Tampering], _ verb: Verb, on disk: any FileSystem = POSIXFileSystem()
    ) throws -> [String] {
        let victim = try Victim()
        let needed = try needed(besides: verb.retires)
        for tampering in tamperings {
            // What one has taken away the other need not find.
            do { try tampering.act(victim) } catch { continue }
        }
        let traceless = try traceless(victim)
        var before = try contentsBelow(victim.place.store).intersection(needed.keys)
            .subtracting(abandoned(victim, besides: verb.retires))
            .subtracting(unspoken(traceless, victim))
        let objects = try contentsBelow(victim.path("objects")).intersection(before)
        // Of the others nobody can know that they are needed once manifest, index and trees are gone; their copies stay,
        // but for what a writer that died could have left.
        let known = try before.filter { try isObject($0, victim) }.union(
            contentsBelow(victim.path("versions")))
        let leftovers = try contentsBelow(victim.path("leases")).union(
            contentsBelow(victim.path("staging"))
        ).subtracting(known)
        var refusal: String?
        do { try verb.run(victim, disk) } catch let error as StoreError { refusal = error.message }
        let after = try contentsBelow(victim.place.store)
        if verb.collectsRepaired { try before.subtract(unspoken(traceless, victim)) }
        let what = tamperings.map(\.testDescription).joined(separator: ", and ")
        var problems: [String] = []
        var lost = before.subtracting(after)
        if !lost.isDisjoint(with: leftovers) {
            let unnamed = try victim.place.open().store.unnamed(lost.intersection(leftovers))
            lost.subtract(unnamed)
            before.subtract(unnamed)
        }
        let gone = lost.compactMap { needed[$0] }.sorted()
        if !gone.isEmpty {
            problems.append(
                "\(verb.testDescription) deleted the last copy of \(gone) after somebody \(what); "
                    + (refusal ?? "done"))
        }
        // Whoever collects takes no object of it, also where a tree still shows it.
        if verb.collectsOnly {
            let taken = try objects.subtracting(contentsBelow(victim.path("objects")))
            let names = taken.compactMap { needed[$0] }.sorted()
            if !names.isEmpty {
                problems.append("\(verb.testDescription) took \(names) after somebody \(what)")
            }
        }
        guard verb.repairs, refusal == nil else {
            return problems
        }
        let store = try victim.place.open().store
        for address in before where (try? store.read(address, limit: 1 << 20)) == nil {
            if !known.contains(address), try !store.unnamed([address]).isEmpty { continue }
            problems.append(
                "after \(verb.testDescription), \(needed[address] ?? "") is no object; somebody \(what)"
            )
        }
        return problems
    }

    /// Whether the right bytes stand in an object's own place.
    private static func isObject(_ address: ObjectID, _ victim: Victim) throws -> Bool {
        let digits = address.description
        let path = victim.path("objects/\(digits.prefix(2))/\(digits.dropFirst(2))")
        guard let bytes = try? Damage.contents(path) else { return false }
        var hasher = try ObjectHasher()
        let found = bytes.withUnsafeBytes { hasher.hash($0).address }
        return found == address
    }

    // MARK: The suite, tested

    /// An engine that does not see what it should look for.
    struct Blindness: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var verb: String
        var hides: @Sendable (String) -> Bool
    }

    static let blindnesses = [
        Blindness(testDescription: "a repair that forgets trees", verb: "repair") {
            $0.hasPrefix("versions/")
        },
        Blindness(
            testDescription: "a collection that trusts the list of manifests", verb: "a collection"
        ) { ["1", "lifecycle.json", "current"].contains($0) },
        Blindness(
            testDescription: "a collection that empties quarantine unseen",
            verb: "a collection between repairs"
        ) { $0.hasPrefix("quarantine/") || $0.hasPrefix("versions/") },
    ]

    @Test(arguments: blindnesses)
    func `is seen to go, under`(_ blindness: Blindness) throws {
        let verb = try require(Self.allVerbs.first { $0.testDescription == blindness.verb })
        let disk = BlindDisk(base: POSIXFileSystem(), hides: blindness.hides)
        let isSeen = try TamperingTests.tamperings.contains {
            try !Self.problems([$0], verb, on: disk).isEmpty
        }
        expect(isSeen, "nothing was lost under \(blindness)")
    }

    /// What versions need, by address: also the current one's.
    private static func needed(besides retired: String?) throws -> [ObjectID: String] {
        var needed: [ObjectID: String] = [:]
        for (version, files) in Place.contents where version != retired {
            for text in files.values where !text.isEmpty {
                needed[try address(of: text)] = String(text.prefix(12))
            }
        }
        return needed
    }
}

/// A disk some of whose files are not there for who looks from a directory by certain names.
private struct BlindDisk: FileSystemWrapper {
    let base: any FileSystem
    let hides: @Sendable (String) -> Bool

    func openBeneath(
        _ directory: Int32, _ path: String, _ access: Access
    ) throws(StoreError) -> Descriptor {
        if hides(path) { throw StoreError(.notFound, "hidden") }
        return try base.openBeneath(directory, path, access)
    }

    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        hides(String(cString: path)) ? nil : try base.status(directory, path)
    }

    func symbolicLink(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> String? {
        hides(String(cString: path)) ? nil : try base.symbolicLink(directory, path)
    }
}
