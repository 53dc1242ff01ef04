import StorageTestSupport

/// What plain copies would take, what retiring frees, what a collection frees: held against programs and operations.
///
/// Small files and many directories are where sizes of content say least. On the disk directories take blocks, in memory
/// they take none.
@Suite("Sizes that compare") struct ComparableSizesTests {
    /// The standard output of a program.
    private func run(_ program: String, _ arguments: [String]) throws -> String {
        let done = try OtherProgram([program] + arguments)
        expect(done.status, equals: 0, "\(program) \(arguments)")
        return done.text
    }

    /// `du -s -B1` of some directories together.
    private func du(_ paths: String...) throws -> Int64 {
        let lines = try run("du", ["-s", "-c", "-B1"] + paths).split(separator: "\n")
        return try require(Int64(lines.last?.split(separator: "\t").first ?? ""))
    }

    /// The blocks of all that find(1) finds, each name for itself.
    private func find(_ arguments: String...) throws -> Int64 {
        try run("find", arguments + ["-printf", "%b\n"]).split(separator: "\n")
            .reduce(0) { $0 + (Int64($1) ?? 0) * 512 }
    }

    private func isWithinTwoPercent(_ one: Int64, _ other: Int64) -> Bool {
        abs(one - other) * 50 <= max(one, other)
    }

    /// A version of many small files: every tenth is the same as another one, some are executable, one is larger.
    ///
    /// Versions share the files whose number is no multiple of 3.
    private func files(_ version: Int, count: Int) -> [String: String] {
        var files = ["large.bin": String(repeating: "\(version)", count: 30_000)]
        for number in 0..<count {
            let owner = number % 3 == 0 ? version : 0
            let start = number % 50 == 1 ? "#!/bin/sh\n" : ""
            let content = "\(start)\(owner) \(number - (number % 10 == 9 ? 1 : 0))"
            files["part-\(number % 7)/set-\(number / 20)/\(number)"] =
                content + String(repeating: ".", count: number % 300)
        }
        return files
    }

    @Test(arguments: [(true, TestShare.isWhole ? 100_000 : 1000), (false, 300)])
    func `are what du and find say, and what comes back`(onDisk: Bool, count: Int) throws {
        let temporary = try TemporaryStore(onDisk: onDisk)
        for version in 1...3 {
            try temporary.add("\(version)", files(version, count: count))
        }
        let versions = temporary.versions
        // The kernel fixes the blocks of a file when it writes it back, which may be between two looks.
        var (survey, said) = (try versions.survey(), try du(temporary.path))
        for _ in 0..<5 where survey.store.diskBytes != said {
            (survey, said) = (try versions.survey(), try du(temporary.path))
        }
        let disk = try survey.versions.map { try require($0.disk) }

        // Plain copies: as find says of the trees, and as du says of copies that are really made.
        for (version, share) in zip(survey.versions.map(\.version), disk) {
            try expect(share.plainBytes, equals: find(temporary.tree(version)), "\(version)")
            expect(!share.isEstimated)
        }
        let copies = temporary.directory.appending("copies")
        _ = try run("cp", ["-r", "--no-preserve=links", temporary.path + "/versions", copies])
        let plain = try require(survey.plainDiskBytes)
        expect(plain, equals: disk.reduce(0) { $0 + $1.plainBytes })
        try expect(isWithinTwoPercent(plain, du(copies)), "\(plain)")
        // Content says much less.
        expect(plain > survey.store.apparentBytes * 3)

        // The store: every part that is listed, and no other.
        expect(survey.store.diskBytes, equals: said)
        expect(survey.growth.last?.plainDiskBytes, equals: plain)
        let kept = ["objects", "manifests", "versions"].map { temporary.path + "/" + $0 }
        // All of that comes with versions but the directories that every store has.
        let own = try find(kept[0], "-type", "d") + find(kept[1], kept[2], "-maxdepth", "0")
        try expect(survey.growth.last?.diskBytes, equals: du(kept[0], kept[1], kept[2]) - own)

        // One version asked for alone, and each in the list: the same.
        try expect(versions.usage(of: ["2"]), equals: survey.versions.filter { $0.version == "2" })

        for names in [["1"], ["2", "3"]] {
            let promised = try versions.retirement(of: names)
            if names == ["1"] { expect(promised.diskBytes, equals: disk[2].uniqueBytes) }
            let whole = try du(temporary.path)
            let before = try du(kept[0], kept[1], kept[2])
            for name in names { try versions.retire(name) }
            let retired = try du(kept[0], kept[1], kept[2])
            let planned = try versions.store.planCollection()
            let collected = try versions.collect()
            let after = try du(kept[0], kept[1], kept[2])
            expect(before - after, equals: promised.diskBytes, "\(names)")
            expect(retired - after, equals: collected.diskByteCount, "\(names)")
            expect(planned.diskByteCount, equals: collected.diskByteCount)
            try expect(isWithinTwoPercent(whole - du(temporary.path), promised.diskBytes))
        }
    }

    @Test(arguments: [true, false])
    func `are near where a version has no tree to be measured`(onDisk: Bool) throws {
        let temporary = try TemporaryStore(onDisk: onDisk)
        let versions = temporary.versions
        try temporary.add("1", files(1, count: 300))
        let manifest = try versions.manifest(of: "1")
        try versions.register(
            Manifest(
                version: VersionName("2"), ordinal: 2, createdAt: 1,
                entries: Array(manifest.entries)))
        let survey = try versions.survey()
        let disk = try survey.versions.map { try require($0.disk) }
        expect(disk.map(\.isEstimated), equals: [true, false])
        expect(isWithinTwoPercent(disk[0].plainBytes, disk[1].plainBytes), "\(disk)")
        expect(disk[0].directoryBytes, equals: 0)
        try expect(versions.usage(of: ["2"])[0], equals: survey.versions[0])
        // It would free its manifest.
        let file = try require(try status(temporary.path + "/manifests/2.json"))
        expect(disk[0].uniqueBytes, equals: file.blocks * 512)
        try expect(versions.retirement(of: ["2"]).diskBytes, equals: file.blocks * 512)
    }

    @Test func `name the reserve and what packs were made of as parts of their own`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "1"])
        let place = temporary.path + "/packing/" + String(repeating: "a", count: 32)
        try writeTree(place, ["frames/f": String(repeating: "f", count: 10_000), "packing": ""])
        let disk = try temporary.store.usage().disk
        try expect(disk[.packing].diskBytes, equals: du(temporary.path + "/packing"))
        expect(disk[.packing].files == 2 && disk[.packing].apparentBytes == 10_000)
        try expect(disk[.reserve].diskBytes, equals: du(temporary.path + "/reserve"))
        expect(disk[.reserve].apparentBytes, equals: 2 << 20)
        try expect(disk.total.diskBytes, equals: du(temporary.path))
    }

    @Test("count an executable copy with its object, and with the version that alone shows it")
    func executables() throws {
        let temporary = try TemporaryStore()
        let script = "#!/bin/sh\n" + String(repeating: "#", count: 50_000)
        try temporary.add("1", ["bin/run": script])
        try temporary.add("2", ["bin/run": script, "own": "2"])
        let source = temporary.directory.appending("source-3")
        try writeTree(source, ["run": script])
        chmod(source + "/run", 0o644)
        try temporary.versions.add(directory: source, version: "3")
        let kept = ["objects", "manifests", "versions"].map { temporary.path + "/" + $0 }
        let promised = try temporary.versions.retirement(of: ["1", "2"])
        // The object stays with the third; its copy goes with the last tree that shows it.
        let copy = try require(
            try status(temporary.objectPath(address(of: script), executable: true)))
        expect(promised.diskBytes > copy.blocks * 512 && promised.bytes == 1)
        let before = try du(kept[0], kept[1], kept[2])
        for name in ["1", "2"] { try temporary.versions.retire(name) }
        try temporary.versions.collect()
        try expect(before - du(kept[0], kept[1], kept[2]), equals: promised.diskBytes)
    }
}
