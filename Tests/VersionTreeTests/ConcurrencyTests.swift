import StorageTestSupport

// Many instances on one store at once, as many processes would be.

@Suite struct ConcurrencyTests {
    private static func files(_ version: Int, _ random: inout SeededRandom) -> [String: String] {
        var files: [String: String] = [
            "index.html": "version \(version)", "run.sh": "#!shared", "empty": "",
        ]
        for _ in 0..<Int.random(in: 5...25, using: &random) {
            let shared = Int.random(in: 0..<40, using: &random)
            files["d\(shared % 5)/f\(shared)"] = "shared content \(shared)"
        }
        return files
    }

    // All adders share content, so that they collide in objects, shards and the index.
    @Test(arguments: [UInt64.random(in: 0...UInt64.max)])
    func `keeps every acknowledged version beside collectors and checkers`(_ seed: UInt64) throws {
        print("seed: \(seed)")
        let temporary = try TemporaryStore()
        let rounds = 12
        let acknowledged = Shared<[String: [String: String]]>([:])
        let retired = Shared<Set<String>>([])
        let problems = Shared<[String]>([])
        let running = Shared(4)
        var bodies: [@Sendable () throws -> Void] = []
        for adder in 0..<4 {
            let versions = try temporary.reopened()
            bodies.append {
                defer { running.with { $0 -= 1 } }
                var random = SeededRandom(seed: seed &+ UInt64(adder))
                for round in 0..<rounds {
                    let name = "v\(adder)-\(round)"
                    let files = Self.files(adder * 100 + round, &random)
                    let source = temporary.directory.appending("s-\(name)")
                    do {
                        try writeTree(source, files)
                        let report = try versions.add(directory: source, version: name)
                        if report.files != files.count {
                            problems.with { $0.append("\(name): \(report)") }
                        }
                        acknowledged.with { $0[name] = files }
                        if round % 3 == 2 {
                            let old = "v\(adder)-\(round - 1)"
                            try versions.retire(old)
                            acknowledged.with { $0[old] = nil }
                            retired.with { _ = $0.insert(old) }
                        }
                    } catch {
                        problems.with { $0.append("\(name): \(error)") }
                    }
                }
            }
        }
        let collector = try temporary.reopened()
        bodies.append {
            while running.with({ $0 }) > 0 {
                do { _ = try collector.store.collect() } catch {
                    problems.with { $0.append("collect: \(error)") }
                }
            }
        }
        let checker = try temporary.reopened()
        bodies.append {
            while running.with({ $0 }) > 0 {
                do {
                    let found = try checker.check().findings
                    if !found.isEmpty { problems.with { $0.append("check: \(found)") } }
                } catch {
                    problems.with { $0.append("check: \(error)") }
                }
            }
        }
        try together(bodies)
        expect(problems.with { $0 }, equals: [], "seed \(seed)")
        let expected = acknowledged.with { $0 }
        let last = try temporary.reopened()
        try expect(Set(last.versions().map(\.version)), equals: Set(expected.keys), "seed \(seed)")
        try expect(last.versions().allSatisfy { $0.state == .materialized }, "seed \(seed)")
        for (name, files) in expected {
            try expect(readTree(temporary.tree(name)), equals: files, "\(name), seed \(seed)")
        }
        try temporary.expectClean()
        _ = try last.store.collect()
        let needed = Set(expected.values.flatMap { $0.values }).count
        try expect(last.check().checkedObjects, equals: needed, "seed \(seed)")
        shell("rm -f \(temporary.path)/index.sqlite*")
        try temporary.expectClean()
    }

    @Test func `shares one instance among threads`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        try together(
            (0..<6).map { index in
                {
                    try temporary.add("v\(index)", ["a": "shared", "b": "own \(index)"])
                    try versions.activate("v\(index)")
                    _ = try versions.versions()
                    _ = try versions.check()
                }
            })
        try expect(versions.versions().count, equals: 6)
        try temporary.expectClean()
    }

    @Test func `leaves one version current when all activate at once`() throws {
        let temporary = try TemporaryStore()
        for index in 0..<4 { try temporary.add("v\(index)", ["f": "v\(index)"]) }
        let stores = try (0..<4).map { _ in try temporary.reopened() }
        try together(
            (0..<4).map { index in
                {
                    for _ in 0..<20 {
                        try stores[index].activate("v\(index)")
                    }
                }
            })
        let current = try require(try temporary.versions.lifecycle().current)
        try expect(temporary.shown(), equals: ["f": current])
        try temporary.expectClean()
    }
}
