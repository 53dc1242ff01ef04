import CASStore
import Foundation
import StorageTestSupport
import Testing
import VersionTree

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
        /// The version that the verb is asked to retire.
        var retires: String?
        var run: @Sendable (Victim) throws -> Void
    }

    static let verbs: [Verb] = [
        Verb(testDescription: "repair", repairs: true) { _ = try repair($0) },
        Verb(testDescription: "a deep repair", repairs: true) { _ = try repair($0, isDeep: true) },
        Verb(testDescription: "a collection") { try $0.place.open().collect() },
        Verb(testDescription: "an add") { victim in
            let source = victim.place.beside + "/source-4"
            try writeTree(source, ["index.html": "four", "lib/a.js": "shared"])
            _ = try victim.place.open().add(directory: source, version: "4")
        },
        Verb(testDescription: "adding what is there again") { victim in
            try victim.place.add("0", to: victim.place.open())
        },
        Verb(testDescription: "retiring another version", retires: "2") {
            try $0.place.open().retire("2")
            _ = try $0.place.open().collect()
        },
        Verb(testDescription: "a switch") { try $0.place.open().activate("2") },
        Verb(testDescription: "a start") { _ = try $0.place.open().boot() },
        Verb(testDescription: "a checkout") { victim in
            _ = try victim.place.open().checkout(
                "1", to: victim.place.beside + "/checked-out", mode: .copy)
        },
        Verb(testDescription: "repair, collection, repair", repairs: true) { victim in
            _ = try? repair(victim)
            _ = try? victim.place.open().collect()
            _ = try repair(victim)
        },
        Verb(testDescription: "collection, repair, collection") { victim in
            _ = try? victim.place.open().collect()
            _ = try? repair(victim)
            try victim.place.open().collect()
        },
    ]

    private static func repair(_ victim: Victim, isDeep: Bool = false) throws -> CheckReport {
        try victim.place.open().repair(CheckOptions(isDeep: isDeep)) { _ in true }
    }

    /// Where an object cannot stand whatever is tried: a link of somebody's is in place of its shard.
    private static func blocksObjects(_ tampering: Tampering) -> Bool {
        tampering.testDescription == "puts a link in place of a shard"
    }

    // MARK: One damage

    @Test("stays, whatever one thing was done to the store, after", arguments: verbs)
    func single(_ verb: Verb) throws {
        for tampering in TamperingTests.tamperings { try hold([tampering], verb) }
        print("last copies, \(verb.testDescription): \(TamperingTests.tamperings.count) damages")
    }

    // MARK: Two

    /// Which pairs are tried: all with CASTREE_TEST_ALL, else one in so many, chosen by a seed that is printed.
    private static let share = 400

    @Test("stays, whatever two things were done to the store, after", arguments: verbs)
    func pairs(_ verb: Verb) throws {
        let environment = ProcessInfo.processInfo.environment
        let seed = environment["CASTREE_TEST_SEED"].flatMap { UInt64($0) } ?? 14
        var random = SplitMix(state: seed ^ UInt64(verb.testDescription.utf8.count))
        var count = 0
        for first in TamperingTests.tamperings {
            for second in TamperingTests.tamperings {
                let isChosen = random.next() % UInt64(Self.share) == 0
                guard isChosen || environment["CASTREE_TEST_ALL"] != nil else { continue }
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
        let victim = try Victim()
        let needed = try Self.needed(besides: verb.retires)
        for tampering in tamperings {
            // What one has taken away the other need not find.
            do { try tampering.act(victim) } catch { continue }
        }
        let before = try contents(below: victim.place.store).intersection(needed.keys)
        var refusal: String?
        do { try verb.run(victim) } catch let error as StoreError { refusal = error.message }
        let after = try contents(below: victim.place.store)
        let what = tamperings.map(\.testDescription).joined(separator: ", and ")
        let gone = before.subtracting(after).compactMap { needed[$0] }.sorted()
        #expect(
            gone.isEmpty,
            "\(verb.testDescription) deleted the last copy of \(gone) after somebody \(what); \(refusal ?? "done")"
        )
        guard verb.repairs, refusal == nil, !tamperings.contains(where: Self.blocksObjects) else {
            return
        }
        let store = try victim.place.open().store
        for address in before {
            let bytes = try? store.read(address, limit: 1 << 20)
            #expect(
                bytes != nil,
                "after \(verb.testDescription), \(needed[address] ?? "") is no object; somebody \(what)"
            )
        }
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
