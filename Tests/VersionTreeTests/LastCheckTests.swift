import StorageTestSupport

@testable import VersionTree

/// What the last check came to can be asked later, by any process, and never matters to a check.
@Suite("The memory of the last check") struct LastCheckTests {
    func makeStore() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try temporary.add("1", ["a": "first content", "b": "second content"])
        return temporary
    }

    @Test func `is nothing before the first check, and says then what was looked at`() throws {
        let temporary = try makeStore()
        expect(temporary.versions.lastCheck() == nil)
        let before = secondsNow()
        _ = try temporary.versions.check(CheckOptions(isDeep: true))
        let last = try require(try temporary.reopened().lastCheck())
        expect(last.checkedObjects, equals: 2)
        expect(last.checkedBytes, equals: 27)
        expect(last.skippedObjects, equals: 0)
        expect(last.isDeep)
        expect(!last.isRepair)
        expect(last.findingCount, equals: 0)
        expect(last.findings, equals: [])
        expect((before...secondsNow()).contains(last.endedAt))
    }

    @Test func `has what was found, and after a repair that it was repaired`() throws {
        let temporary = try makeStore()
        try flipByte(temporary.objectPath(address(of: "first content")))
        let report = try temporary.versions.check()
        expect(!report.findings.isEmpty)
        var last = try require(temporary.versions.lastCheck())
        expect(last.findings, equals: report.findings)
        expect(last.findingCount, equals: report.findings.count)
        expect(last.repairedCount, equals: 0)
        let repaired = try temporary.versions.check(repairing: true)
        last = try require(temporary.versions.lastCheck())
        expect(last.isRepair)
        expect(last.repairedCount, equals: repaired.findings.filter(\.isRepaired).count)
        expect(last.repairedCount > 0)
    }

    @Test(
        "counts no stray and no leftover that is gone by now",
        arguments: [
            "objects/junk", "leases/directory/f", "versions/stray/",
            "versions/.1.0123456789abcdef/",
            "versions/.1.4194000-abababababababab/",
        ], [false, true])
    func gone(_ path: String, _ isRepair: Bool) throws {
        let temporary = try makeStore()
        let full = temporary.path + "/" + path
        if path.hasSuffix("/") {
            expect(mkdir(full, 0o755), equals: 0)
        } else {
            try writeFile(full, "somebody's")
        }
        let report = try temporary.versions.look(CheckOptions(), repairing: false)
        expect(report.findings.count, equals: 1, "\(report.findings)")
        temporary.versions.conclude(report, CheckOptions(), repairing: isRepair, after: nil)
        let mends = report.findings.allSatisfy(\.mendsItself) && !isRepair
        try expect(require(temporary.versions.lastCheck()).leftCount, equals: mends ? 0 : 1)
        let top = path.split(separator: "/").prefix(2).joined(separator: "/")
        expect(rename("\(temporary.path)/\(top)", temporary.directory.appending("away")), equals: 0)
        try expect(require(temporary.versions.lastCheck()).leftCount, equals: 0)
    }

    @Test func `keeps what a look at some objects has not looked at, until it is mended`() throws {
        let temporary = try makeStore()
        let damaged = try address(of: "first content")
        try flipByte(temporary.objectPath(damaged))
        let found = try temporary.versions.check().findings
        for seed in 1...8 {
            var options = CheckOptions()
            options.sample = CheckOptions.Sample(share: 0.01, seed: UInt64(seed))
            _ = try temporary.versions.check(options)
            let last = try require(temporary.versions.lastCheck())
            expect(last.findings.map(\.object), equals: found.map(\.object), "\(seed)")
            expect(last.leftCount, equals: found.count, "\(seed)")
        }
        try temporary.add("2", ["c": "first content"])
        var options = CheckOptions()
        options.sample = CheckOptions.Sample(share: 0.01, seed: 1)
        _ = try temporary.versions.check(options)
        let last = try require(temporary.versions.lastCheck())
        expect(last.findings, equals: [])
        expect(last.leftCount, equals: 0)
    }

    @Test func `tells what the next writer or collection cleans up from what stays`() throws {
        let lease = "4711-0123456789abcdef"
        // What castree has not made for a lease stays until somebody removes it.
        for (path, isOfLease) in [
            ("leases/\(lease)", true), ("versions/.1.\(lease)/file", true),
            ("versions/.1.99-dead/file", false),
        ] {
            let temporary = try makeStore()
            try writeFile(temporary.path + "/" + path, "left")
            try expect(temporary.versions.check().findings.map(\.kind), equals: [.leftover])
            let last = try require(temporary.versions.lastCheck())
            expect([last.findingCount, last.repairedCount], equals: [1, 0], "\(path)")
            expect(last.leftoverCount, equals: isOfLease ? 1 : 0, "\(path)")
            expect(last.leftCount, equals: isOfLease ? 0 : 1, "\(path)")
            _ = try temporary.versions.store.collect()
            let left = try temporary.versions.check().findings.count
            expect(left, equals: isOfLease ? 0 : 1, "\(path)")
        }
    }

    @Test
    func `is no finding itself, and what it leaves does not make the next check differ`() throws {
        let temporary = try makeStore()
        for _ in 0..<3 { try expect(temporary.versions.check().findings, equals: []) }
    }

    @Test func `stays small, whatever was found, with what is left first`() throws {
        var report = CheckReport()
        for number in 0..<2000 {
            report.findings.append(
                Finding(
                    .strayFile, path: String(repeating: "é\u{1}", count: 500), "stray \(number)",
                    isRepaired: number < 1990))
        }
        let last = LastCheck(report, isDeep: false, isRepair: true, endedAt: 7)
        expect(last.findingCount, equals: 2000)
        expect(last.repairedCount, equals: 1990)
        expect(last.findings.prefix(10).allSatisfy { !$0.isRepaired })
        expect(last.findings.count <= LastCheck.findingsMax)
        expect(last.serialized.count < LastCheck.fileByteCountMax)
        expect(LastCheck(parsing: last.serialized), equals: last)
    }

    @Test(
        "is nothing where the file is damaged, and the next check writes it anew",
        arguments: ["", "{", "[]", "{\"endedAt\":1}", "\u{0}\u{0}", "{\"endedAt\":\"x\"}"])
    func damaged(text: String) throws {
        let temporary = try makeStore()
        try writeFile(temporary.path + "/last-check.json", text)
        expect(temporary.versions.lastCheck() == nil)
        try expect(temporary.versions.check().findings, equals: [])
        expect(temporary.versions.lastCheck() != nil)
    }

    @Test func `that cannot be kept does not fail the check`() throws {
        let temporary = try makeStore()
        // A directory cannot be replaced by a file.
        expect(shell("mkdir -p '\(temporary.path)/last-check.json/x'"), equals: 0)
        try expect(temporary.versions.check().checkedObjects, equals: 2)
        expect(temporary.versions.lastCheck() == nil)
    }
}

/// How far a version is: by what the store holds, whoever brings it.
@Suite("The progress of an incomplete version") struct VersionProgressTests {
    @Test func `is nothing where every version is complete`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "alpha"])
        try expect(temporary.versions.progress(), equals: [])
    }

    @Test func `counts each object once, and what is staged of those that are missing`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "alpha"])
        let large = String(repeating: "large ", count: 100_000)
        try temporary.versions.register(
            makeManifest("2", ["a": "alpha", "b": large, "copy of b": large, "c": "gamma"]))
        let before = VersionProgress(
            version: "2", missingObjects: 2, missingBytes: 600_005, stagedBytes: 0,
            totalBytes: 600_010)
        try expect(temporary.versions.progress(), equals: [before])
        let incoming = try IncomingContents(temporary.store)
        var item = try incoming.begin(address(of: large), byteCount: 600_000)
        try item.append(Array(large.utf8.prefix(400_000)).span.bytes)
        let half = try require(try temporary.versions.progress().first)
        expect(half.missingBytes, equals: 600_005)
        expect((1...400_000).contains(half.stagedBytes))
        try item.append(Array(large.utf8.dropFirst(400_000)).span.bytes)
        _ = try item.finish()
        try expect(temporary.versions.progress().first?.stagedBytes, equals: 600_000)
        _ = try incoming.commit()
        let after = VersionProgress(
            version: "2", missingObjects: 1, missingBytes: 5, stagedBytes: 0, totalBytes: 600_010)
        try expect(temporary.versions.progress(), equals: [after])
    }
}
