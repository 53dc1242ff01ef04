import StorageTestSupport

/// Many processes, one store: adders, collectors, checkers, switchers, and some that are killed.
///
/// Three rounds, four in a whole run; `CASTREE_STRESS_ROUNDS` asks for more.
@Suite(.serialized) struct ManyProcessesTests {
    static let rounds =
        ProcessInfo.processInfo.environment["CASTREE_STRESS_ROUNDS"].flatMap { Int($0) }
        ?? (TestShare.isWhole ? 4 : 3)

    /// A release: most files are shared by all, some by neighbours, some are its own.
    static func release(_ number: Int) -> [String: String] {
        var files: [String: String] = ["empty": "", "run.sh": "#!/bin/sh\necho \(number % 3)\n"]
        for file in 0..<40 { files["lib/\(file % 5)/\(file).js"] = "shared \(file)" }
        for file in 0..<20 { files["some/\(file).css"] = "neighbour \(file + number / 2)" }
        for file in 0..<10 { files["own/\(file).html"] = "release \(number) \(file)" }
        files["large.bin"] = String(repeating: "large \(number % 4) ", count: 50_000)
        return files
    }

    @Test func `nothing is lost and nothing wrong while all run at once`() throws {
        let directory = TemporaryDirectory()
        let store = directory.appending("store")
        let flags = ["--store", store]
        try expect(Programs.run("castree", ["init"] + flags).status, equals: 0)
        var kept: Set<Int> = []
        var next = 0
        for round in 0..<Self.rounds {
            var adders: [(number: Int, run: Programs.Run)] = []
            for _ in 0..<4 {
                let source = directory.appending("source-\(next)")
                try writeTree(source, Self.release(next))
                let arguments = ["add", source, "--version", "v\(next)", "--quiet"] + flags
                adders.append((next, try Programs.Run("castree", arguments)))
                next += 1
            }
            // One more of them is killed, somewhere in the middle.
            let victimSource = directory.appending("victim-\(round)")
            try writeTree(victimSource, Self.release(1000 + round))
            let victim = try Programs.Run(
                "castree", ["add", victimSource, "--version", "victim\(round)"] + flags)
            let old = kept.filter { $0 < next - 8 }.sorted()
            let retirers = try old.map {
                try Programs.Run("castree", ["retire", "v\($0)"] + flags)
            }
            let collector = try Programs.Run("castree", ["gc"] + flags)
            let checker = try Programs.Run("castree", ["fsck", "--deep", "--json"] + flags)
            expectDone(adders[0].run, "add in round \(round)")
            victim.kill()
            let second = try Programs.Run("castree", ["gc"] + flags)
            kept.insert(adders[0].number)
            for (number, run) in adders.dropFirst() {
                expectDone(run, "add in round \(round)")
                kept.insert(number)
            }
            for run in retirers { expectDone(run, "retire in round \(round)") }
            kept.subtract(old)
            for run in [collector, second] { expectDone(run, "gc in round \(round)") }
            let (status, output) = checker.finish()
            expect(
                [0, 4].contains(status) && findsOnlyLeftovers(output), "round \(round): \(output)")
            _ = victim.finish()
            try verify(store, directory, kept, round)
        }
    }

    private func expectDone(_ run: Programs.Run, _ what: String) {
        let (status, output) = run.finish()
        expect(status, equals: 0, "\(what): \(output)")
    }

    /// A writer that was killed may have left something: that is all that a check may find.
    private func findsOnlyLeftovers(_ output: String) -> Bool {
        output.contains("\"findings\":")
            && output.matches(of: /"kind":"(\w+)"/).allSatisfy { $0.1 == "leftover" }
    }

    private func verify(
        _ store: String, _ directory: TemporaryDirectory, _ kept: Set<Int>, _ round: Int
    ) throws {
        let repair = try Programs.run("castree", ["fsck", "--repair", "--json", "--store", store])
        expect(
            [0, 1].contains(repair.status) && findsOnlyLeftovers(repair.output),
            "round \(round): \(repair.output)")
        let check = try Programs.run("castree-fsck", ["check", "--deep", store])
        expect(check.status, equals: 0, "round \(round): \(check.output)")
        for number in kept {
            let tree = try readTree(store + "/versions/v\(number)")
            expect(tree, equals: Self.release(number), "v\(number) in round \(round)")
        }
    }
}
