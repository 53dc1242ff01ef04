import CASStore
import Foundation
import StorageTestSupport
import Testing

@testable import VersionTree

// Policies obeyed: what goes, what stays, and that the plan told the truth.

@Suite("Retiring by policy") struct RetentionTests {
    /// Five versions: each has 100 bytes alone and shares 100 with the next.
    private func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        for number in 1...5 {
            try temporary.add(
                "\(number)",
                [
                    "own": text("own \(number)"), "shared": text("shared \(number)"),
                    "before": text("shared \(number - 1)"),
                ])
        }
        return temporary
    }

    private func text(_ start: String) -> String {
        start.padding(toLength: 100, withPad: ".", startingAt: 0)
    }

    private func limit(_ bytes: Int64) -> RetentionPolicy {
        var policy = RetentionPolicy()
        policy.byteCountMax = bytes
        return policy
    }

    @Test("brings the objects under a limit, by as few versions as that takes")
    func size() throws {
        for (bytes, left) in [(Int64(1100), 5), (1099, 4), (700, 3), (699, 2), (500, 2), (1, 1)] {
            let temporary = try makeStore()
            let versions = temporary.versions
            #expect(try versions.store.usage().objectBytes == 1100)
            let plan = try versions.planRetention(limit(bytes))
            let names = plan.retired.reversed().map(\.version)
            let planned = try versions.store.planCollection(retiring: names)
            #expect(plan.kept.count == left, "\(bytes)")
            let retired = try versions.retire(plan)
            #expect(retired == names)
            let collected = try versions.collect()
            #expect(collected.byteCount == planned.byteCount)
            #expect(collected.objectCount == planned.objectCount)
            let usage = try versions.store.usage()
            #expect(usage.objectBytes == plan.byteCount)
            #expect(usage.objectBytes <= bytes || left == 1)
            #expect(try versions.versions().count == left)
            try temporary.expectClean()
        }
    }

    @Test(
        "never touches what is current, pending, known good, embedded or pinned, whatever the limit"
    )
    func needed() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        try versions.activate("1")
        try versions.confirm("1", token: versions.boot().token)
        try versions.activate("2")
        try versions.activateAtNextBoot("3")
        let pin = try versions.pin("4")
        let plan = try versions.planRetention(limit(1))
        #expect(plan.kept.map(\.version) == ["4", "3", "2", "1"])
        #expect(plan.retired.map(\.version) == ["5"])
        try versions.retire(plan)
        try versions.collect()
        #expect(try versions.versions().map(\.version) == ["4", "3", "2", "1"])
        #expect(plan.byteCount == (try versions.store.usage().objectBytes))
        withExtendedLifetime(pin) {}
    }

    @Test("changes nothing by planning, and says whose each object was")
    func planning() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        try versions.retire("1")
        let before = try snapshot(temporary.path + "/objects")
        let plan = try versions.store.planCollection(retiring: ["3", "2", "no such version"])
        var whose: [String: [String]] = [:]
        for garbage in plan.objects {
            let bytes = try #require(try versions.store.read(garbage.address, limit: 100))
            let start = String(decoding: bytes.prefix { $0 != 46 }, as: UTF8.self)
            switch garbage.reason {
            case .retired(let version): whose["was " + version.name, default: []].append(start)
            case .retiring(let version): whose["is " + version, default: []].append(start)
            default: Issue.record("\(garbage.reason)")
            }
        }
        // What 1 and 2 share goes with the last of them; 4 keeps what it shares with 3.
        #expect(whose["was 1"]?.sorted() == ["own 1", "shared 0"])
        #expect(whose["is 3"]?.sorted() == ["own 3"])
        #expect(whose["is 2"]?.sorted() == ["own 2", "shared 1", "shared 2"])
        #expect(try snapshot(temporary.path + "/objects") == before)
        #expect(try versions.versions().count == 4)
    }

    @Test("calls newest only what is, and says among which")
    func newest() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        func reasons(keep count: Int) throws -> [String] {
            var policy = RetentionPolicy()
            policy.newestCount = count
            return try versions.planRetention(policy).kept.map { "\($0.version): \($0.reason)" }
        }
        #expect(try reasons(keep: 1) == ["5: it is the newest"])
        #expect(try reasons(keep: 2).last == "4: it is one of the newest 2")
        try versions.activate("5")
        #expect(
            try reasons(keep: 1) == [
                "5: it is current", "4: it is the newest besides those that are needed",
            ])
        let besides = "3: it is one of the newest 2 besides those that are needed"
        #expect(try reasons(keep: 2).last == besides)
        try versions.activate("4")
        #expect(
            try reasons(keep: 2) == [
                "5: it is one of the newest 2", "4: it is current", besides,
            ])
        // What may still be arriving is newer than what is whole.
        try versions.register(makeManifest("6", ["own": "not here"], ordinal: 0))
        #expect(
            try reasons(keep: 1) == [
                "6: it is incomplete, and may still be arriving",
                "5: it is the newest of the whole ones", "4: it is current",
            ])
    }

    @Test("passes over what is needed or gone by the time it is done")
    func overtaken() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        let plan = try versions.planRetention(RetentionPolicy())
        #expect(plan.retired.map(\.version) == ["4", "3", "2", "1"])
        try versions.activate("2")
        try versions.retire("4")
        #expect(try versions.retire(plan) == ["1", "3"])
        #expect(try versions.versions().map(\.version) == ["5", "2"])
    }

    @Test("agrees with the store on what any versions free together")
    func freed() throws {
        // Random versions over few contents, so that sharing is of every kind.
        for seed in UInt64(1)...8 {
            var state = seed
            func random(_ bound: Int) -> Int {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return Int(state >> 33) % bound
            }
            let temporary = try TemporaryStore()
            for version in 0..<8 {
                var files: [String: String] = [:]
                for file in 0...random(12) {
                    files["f\(file)"] = String(repeating: "x", count: 1 + random(20))
                }
                try temporary.add("v\(version)", files)
            }
            let names = (0..<8).filter { _ in random(2) == 0 }.map { "v\($0)" }
            let (freed, total) = try temporary.versions.store.bytesFreed(retiring: names)
            #expect(total == (try temporary.versions.store.usage().objectBytes))
            for (name, bytes) in zip(names, freed) {
                try temporary.versions.retire(name)
                #expect(try temporary.versions.store.collect().byteCount == bytes, "seed \(seed)")
            }
        }
    }
}
