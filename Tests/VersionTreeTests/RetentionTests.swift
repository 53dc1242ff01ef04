import StorageTestSupport

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

    @Test func `brings the objects under a limit, by as few versions as that takes`() throws {
        for (bytes, left) in [(Int64(1100), 5), (1099, 4), (700, 3), (699, 2), (500, 2), (1, 1)] {
            let temporary = try makeStore()
            let versions = temporary.versions
            try expect(versions.store.usage().objectBytes, equals: 1100)
            let plan = try versions.planRetention(limit(bytes))
            let names = plan.retired.reversed().map(\.version)
            let planned = try versions.store.planCollection(retiring: names)
            expect(plan.kept.count, equals: left, "\(bytes)")
            try expect(versions.retire(plan), equals: names)
            let collected = try versions.collect()
            expect(collected.byteCount, equals: planned.byteCount)
            expect(collected.objectCount, equals: planned.objectCount)
            let usage = try versions.store.usage()
            expect(usage.objectBytes, equals: plan.byteCount)
            expect(usage.objectBytes <= bytes || left == 1)
            try expect(versions.versions().count, equals: left)
            try temporary.expectClean()
        }
    }

    @Test(
        "never touches what is current, pending, known good, embedded or pinned, whatever the limit"
    )
    func needed() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        try versions.makeKnownGood("1")
        try versions.activate("2")
        try versions.activateAtNextBoot("3")
        let pin = try versions.pin("4")
        let plan = try versions.planRetention(limit(1))
        expect(plan.kept.map(\.version), equals: ["4", "3", "2", "1"])
        expect(plan.retired.map(\.version), equals: ["5"])
        try versions.retire(plan)
        try versions.collect()
        try expect(versions.versions().map(\.version), equals: ["4", "3", "2", "1"])
        expect(plan.byteCount, equals: (try versions.store.usage().objectBytes))
        withExtendedLifetime(pin) {}
    }

    @Test func `changes nothing by planning, and says whose each object was`() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        try versions.retire("1")
        let before = try snapshot(temporary.path + "/objects")
        let plan = try versions.store.planCollection(retiring: ["3", "2", "no such version"])
        var whose: [String: [String]] = [:]
        for garbage in plan.objects {
            let bytes = try require(try versions.store.read(garbage.address, limit: 100))
            let start = String(decoding: bytes.prefix { $0 != 46 }, as: UTF8.self)
            switch garbage.reason {
            case .retired(let version): whose["was " + version.name, default: []].append(start)
            case .retiring(let version): whose["is " + version, default: []].append(start)
            default: Issue.record("\(garbage.reason)")
            }
        }
        // What 1 and 2 share goes with the last of them; 4 keeps what it shares with 3.
        expect(whose["was 1"]?.sorted(), equals: ["own 1", "shared 0"])
        expect(whose["is 3"]?.sorted(), equals: ["own 3"])
        expect(whose["is 2"]?.sorted(), equals: ["own 2", "shared 1", "shared 2"])
        try expect(snapshot(temporary.path + "/objects"), equals: before)
        try expect(versions.versions().count, equals: 4)
    }

    @Test func `calls newest only what is, and says among which`() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        func reasons(keep count: Int) throws -> [String] {
            var policy = RetentionPolicy()
            policy.newestCount = count
            return try versions.planRetention(policy).kept.map { "\($0.version): \($0.reason)" }
        }
        try expect(reasons(keep: 1), equals: ["5: it is the newest"])
        try expect(reasons(keep: 2).last, equals: "4: it is one of the newest 2")
        try versions.activate("5")
        try expect(
            reasons(keep: 1),
            equals: ["5: it is current", "4: it is the newest besides those that are needed"])
        let besides = "3: it is one of the newest 2 besides those that are needed"
        try expect(reasons(keep: 2).last, equals: besides)
        try versions.activate("4")
        try expect(
            reasons(keep: 2),
            equals: ["5: it is one of the newest 2", "4: it is current", besides])
        // What may still be arriving is newer than what is whole.
        try versions.register(makeManifest("6", ["own": "not here"], ordinal: 0))
        try expect(
            reasons(keep: 1),
            equals: [
                "6: it is incomplete, and may still be arriving",
                "5: it is the newest of the whole ones", "4: it is current",
            ])
    }

    @Test func `passes over what is needed or gone by the time it is done`() throws {
        let temporary = try makeStore()
        let versions = temporary.versions
        let plan = try versions.planRetention(RetentionPolicy())
        expect(plan.retired.map(\.version), equals: ["4", "3", "2", "1"])
        try versions.activate("2")
        try versions.retire("4")
        try expect(versions.retire(plan), equals: ["1", "3"])
        try expect(versions.versions().map(\.version), equals: ["5", "2"])
    }

    @Test func `agrees with the store on what any versions free together`() throws {
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
            expect(total, equals: (try temporary.versions.store.usage().objectBytes))
            for (name, bytes) in zip(names, freed) {
                try temporary.versions.retire(name)
                try expect(
                    temporary.versions.store.collect().byteCount, equals: bytes, "seed \(seed)")
            }
        }
    }
}
