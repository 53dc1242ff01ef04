import ProgramTestSupport

/// `castree fsck DIRECTORY`: an origin in a directory, as its operator checks and mends it.
@Suite("A check of an origin in a directory") struct DirectoryCheckTests {
    let place: Workplace
    private let files = FileManager.default

    init() throws {
        place = try Workplace(adding: "1", Release.first, "--activate")
        try place.add("2", Release.second)
        for version in ["1", "2"] {
            try place.done("publish", version, "site", "--no-sync")
        }
    }

    private var site: URL { place.directory.appending(path: "site") }

    /// The files of the origin below one of its directories, by their paths in the origin.
    private func paths(_ kind: String) throws -> [String] {
        try files.subpathsOfDirectory(atPath: place.path("site/\(kind)")).sorted()
            .map { kind + "/" + $0 }
            .filter { try place.fileStatus("site/\($0)").st_mode & S_IFMT == S_IFREG }
    }

    private func check(_ more: String...) throws -> (status: Int32, report: JSON) {
        let finished = try place.run(.castree, ["fsck", "site", "--json"] + more)
        return (finished.status, try finished.document(.checkedOrigin))
    }

    /// Each file that is not among those which releases need.
    private static let ownFiles = [
        "origin.json", "channels.json", "channels/beta.json", ".publish/lock",
        ".publish/packed.json",
        ".publish/packing", ".publish/reserve",
    ]

    @Test(
        "without one of its own files is checked, mended, published to and withdrawn from",
        arguments: ownFiles)
    func lostFile(_ path: String) throws {
        try place.castree("publish", "2", "site", "--channel", "beta", "--no-sync", "--no-packs")
        let file = site.appending(path: path)
        let before = try Data(contentsOf: file)
        if path == "origin.json" {
            for garbage in [
                "", "{", "[1]", "{\"castreeOrigin\":\"one\"}",
                String(repeating: " ", count: 70_000),
            ] {
                try Data(garbage.utf8).write(to: file)
                try expect(check().report.findings.map(\.path), equals: ["origin.json"])
                try place.castree("fsck", "site", "--repair")
                try expect(Data(contentsOf: file), equals: before)
            }
        }
        try files.removeItem(at: file)
        if path == "origin.json" {
            let found = try check()
            expect(found.status, equals: 4)
            expect(found.report.findings.map(\.path), equals: ["origin.json"])
            // Its log says that an origin is there: whoever writes puts the marker back.
            for words in [
                ["publish", "1", "site", "--channel", "third", "--no-packs"],
                ["withdraw", "1", "site", "--channel", "third"], ["prune", "site"],
            ] {
                try expect(place.run(.castree, words + ["--no-sync"]).status, equals: 0)
                try expect(Data(contentsOf: file), equals: before)
                try files.removeItem(at: file)
            }
        }
        let repaired = try place.run(.castree, ["fsck", "site", "--repair"])
        expect([0, 1].contains(repaired.status), "\(repaired)")
        if path.hasSuffix("l.json") || path == "origin.json" || path == "channels.json" {
            try expect(Data(contentsOf: file), equals: before)
        }
        try place.castree("publish", "1", "site", "--channel", "other", "--no-sync")
        try place.castree("withdraw", "2", "site", "--no-sync")
        try place.castree("prune", "site", "--no-sync")
        try expect(check().status, equals: 0)
    }

    @Test(
        "with a damaged pointer is published to, withdrawn from and signed, and has it again",
        arguments: ["{", "", "{\"format\":1}", nil])
    func damagedPointer(_ text: String?) throws {
        try place.castree("key", "new", "k.key")
        try place.castree("publish", "2", "site", "--channel", "beta", "--no-sync", "--no-packs")
        let pointer = site.appending(path: "channels/beta.json")
        try files.removeItem(at: pointer)
        if let text {
            try Data(text.utf8).write(to: pointer)
        } else {
            try files.createDirectory(at: pointer, withIntermediateDirectories: false)
        }
        for words in [
            ["publish", "1", "site", "--channel", "third", "--dry-run"],
            ["publish", "1", "site", "--channel", "third", "--no-sync"],
            ["publish", "1", "site", "--channel", "fourth", "--no-packs", "--no-sync"],
            ["withdraw", "2", "site", "--no-sync"],
            ["publish", "1", "site", "--sign-key", "k.key", "--adopt", "--no-packs", "--no-sync"],
            [
                "publish", "2", "site", "--sign-key", "k.key", "--no-packs", "--no-sync",
                "--channel", "x",
            ],
            ["withdraw", "2", "site", "--sign-key", "k.key", "--no-sync", "--channel", "x"],
            ["resign", "site", "--sign-key", "k.key", "--channel", "stable"],
            ["resign", "site", "--sign-key", "k.key", "--adopt"],
        ] {
            try place.done(words: words)
        }
        // What it was is in the log.
        try place.castree("prune", "site", "--sign-key", "k.key", "--no-sync")
        try expect(check().status, equals: 0)
        try expect(String(contentsOf: pointer, encoding: .utf8).contains("\"beta\""))
    }

    // So is a copy that was cut short before the log and the pointers, which go last.
    @Test
    func `that has lost its log and its pointers is none, and no repair says that it is sound`()
        throws
    {
        try place.enable("codepush", "P=stable")
        try place.castree("publish", "1", "site", "--no-sync", "--no-packs")
        for name in ["log", "channels"] {
            try files.removeItem(at: site.appending(path: name))
        }
        let before = try files.subpathsOfDirectory(atPath: site.path).sorted()
        for words in [["fsck", "site"], ["fsck", "site", "--repair"], ["prune", "site"]] {
            let finished = try place.run(.castree, words)
            expect(finished.status, equals: words[0] == "fsck" ? 8 : 3, "\(words): \(finished)")
            expect(finished.errors.contains("was cut short"), "\(finished)")
        }
        try place.ended(1, "publish", "1", "site", "--no-sync", saying: "of the log, which is gone")
        try expect(files.subpathsOfDirectory(atPath: site.path).sorted(), equals: before)
    }

    @Test func `finds nothing wrong with a sound one, and counts what its releases need`() throws {
        let (status, report) = try check("--deep")
        expect(status, equals: 0)
        expect(report.channels == 1 && report.releases == 2)
        let named = try ["objects", "manifests", "packs", "deliveries"].flatMap { try paths($0) }
        expect(report.files, equals: named.count)
        let text = try place.run(.castree, ["fsck", "site"])
        expect(
            text.text.contains("entries of the log, 1 channel and 2 releases: no problems."),
            "\(text)")
    }

    /// How a file of an origin comes to harm.
    enum Harm: String, CaseIterable, CustomTestStringConvertible {
        case missing, cut, flipped, directory, link, fifo
        var testDescription: String { rawValue }

        func failedAttempt(_ path: String) throws {
            let bytes = try Data(contentsOf: URL(filePath: path))
            try FileManager.default.removeItem(atPath: path)
            switch self {
            case .missing: break
            case .cut: try bytes.dropLast().write(to: URL(filePath: path))
            case .flipped:
                try Data([bytes[0] ^ 1] + bytes.dropFirst()).write(to: URL(filePath: path))
            case .directory: expect(mkdir(path, 0o755), equals: 0)
            case .link: expect(symlink("/etc/hostname", path), equals: 0)
            case .fifo: expect(mkfifo(path, 0o644), equals: 0)
            }
        }
    }

    @Test(arguments: ["objects", "manifests", "packs", "deliveries"], Harm.allCases)
    func `names a file that came to harm, and a repair writes it again`(
        _ kind: String, _ harm: Harm
    ) throws {
        let spare = place.directory.appending(path: "spare")
        try files.copyItem(at: site, to: spare)
        let path = try require(try paths(kind).first)
        let sound = files.contents(atPath: site.appending(path: path).path)
        try harm.failedAttempt(site.appending(path: path).path)
        let (status, report) = try check("--deep")
        expect(status, equals: 4)
        expect(report.findings.map(\.path.text).contains(path), "\(report)")
        expect(Set(report.findings.map(\.kind)).isSubset(of: ["missingFile", "damagedFile"]))
        // Packs and deliveries are in no store.
        let repaired = try place.run(
            .castree, ["fsck", "site", "--deep", "--repair", "--from", "./spare"])
        if harm == .directory {
            // Whatever is in it is somebody's.
            expect(repaired.status != 0, "\(repaired)")
            return
        }
        expect(repaired.status, equals: 1, "\(repaired)")
        expect(files.contents(atPath: site.appending(path: path).path), equals: sound)
        try expect(check("--deep").status, equals: 0)
    }

    /// What stands in the way of publishers, or of readers, and what a repair makes of it.
    private static let places = [
        ".publish", ".publish/lock", ".publish/packing", ".publish/packed.json",
        ".publish/reserve", ".publish/frames", "origin.json", "channels", "channels.json",
        "channels/stable.json", "objects", "packs",
    ]

    @Test(arguments: places, [Harm.directory, .link, .fifo])
    func `names what stands in place of something, and a repair moves it away`(
        _ path: String, _ harm: Harm
    ) throws {
        let full = site.appending(path: path).path
        var isDirectory: ObjCBool = false
        expect(files.fileExists(atPath: full, isDirectory: &isDirectory))
        if harm == .directory, isDirectory.boolValue { return }
        try files.copyItem(at: site, to: place.directory.appending(path: "spare"))
        try files.removeItem(atPath: full)
        try Data("x".utf8).write(to: URL(filePath: full))
        try harm.failedAttempt(full)
        let before = try check()
        expect(before.status == 4 && !before.report.findings.isEmpty, "\(path) \(before)")
        try place.run(
            .castree, ["fsck", "site", "--repair", "--from", "./spare", "--json"]
        ).ended(1, in: "\(path)")
        for words in [
            ["fsck", "site"], ["publish", "1", "site", "--channel", "b"], ["prune", "site"],
        ] {
            try place.run(.castree, words).ended(in: "\(path) \(words)")
        }
    }

    @Test(arguments: [
        "objects", "manifests", "packs", "deliveries", "channels", "log", "for", "e",
    ])
    func `says of a directory that is a link elsewhere that all of it is to be moved`(
        _ name: String
    ) throws {
        let (here, there) = (site.appending(path: name), place.directory.appending(path: "disk"))
        let isThere = files.fileExists(atPath: here.path)
        if isThere {
            try files.moveItem(at: here, to: there)
        } else {
            try files.createDirectory(at: there, withIntermediateDirectories: false)
        }
        try files.createSymbolicLink(at: here, withDestinationURL: there)
        let sentence =
            "a symbolic link stands in place of the origin's directory \(name), and nothing is read or written through it"
        // Also while the disk is not mounted.
        for target in [there, place.directory.appending(path: "away")] {
            if target != there { try files.moveItem(at: there, to: target) }
            for options in [[], ["--repair"]] {
                let finished = try place.ended(4, "fsck", "site", "--json", words: options)
                let findings = try finished.document(.checkedOrigin).findings
                expect(findings.map(\.path.text) == [name], "\(findings)")
                expect(
                    findings[0].kind == "strayFile" && findings[0].message.text.hasPrefix(sentence))
            }
            for words in [
                ["publish", "1", "site"], ["publish", "1", "site", "--dry-run"],
                ["withdraw", "2", "site"], ["prune", "site"], ["du", "site"],
            ] {
                // Nothing that it does without holds up a withdrawal.
                let isUnneeded = ["packs", "deliveries", "deflated", "facts", "for"].contains(name)
                if isUnneeded, words[0] == "withdraw" { continue }
                let refused = try place.ended(1, words: words, saying: sentence)
                expect(refused.errors.contains("To keep an origin on another disk, move all of it"))
            }
            try expect(files.destinationOfSymbolicLink(atPath: here.path), equals: there.path)
        }
        try files.removeItem(at: here)
        if isThere {
            try files.moveItem(at: place.directory.appending(path: "away"), to: here)
        }
        try expect(check("--deep").status, equals: 0)
        try place.castree("publish", "1", "site", "--channel", "b", "--no-sync")
    }

    @Test func `a prune that cannot delete says what and why, and ends with 1`() throws {
        let stuck = "deliveries/\(String(repeating: "a", count: 64)).json"
        try place.write(["site/\(stuck)": "x"], to: ".")
        // Root acts as the owner of an origin.
        if geteuid() == 0 {
            let all = try files.subpathsOfDirectory(atPath: site.path)
            for path in [site.path] + all.map({ site.appending(path: $0).path }) {
                expect(lchown(path, 65_534, 65_534), equals: 0)
            }
            chmod(place.directory.path, 0o755)
        }
        chmod(site.appending(path: "deliveries").path, 0o555)
        for _ in 0..<2 {
            let pruned = try place.ended(1, "prune", "site", "--no-sync", "--json")
            let report = try pruned.document(.pruned)
            expect(report.refused == 1 && report.stuck.map(\.path.text) == [stuck], "\(report)")
            expect(
                pruned.errors.contains(stuck) && pruned.errors.contains("Permission denied"),
                "\(pruned)")
        }
        chmod(site.appending(path: "deliveries").path, 0o755)
        try expect(place.run(.castree, ["prune", "site", "--no-sync"]).status, equals: 0)
    }

    @Test(arguments: ["packs", "deliveries"], [Harm.missing, .cut, .flipped])
    func `says what makes packs and deliveries again that nobody has`(
        _ kind: String, _ harm: Harm
    ) throws {
        for path in try paths(kind) { try harm.failedAttempt(site.appending(path: path).path) }
        let repaired = try place.ended(4, "fsck", "site", "--deep", "--repair")
        expect(
            repaired.text.contains("'castree pack VERSION site --verify' makes them again"),
            "\(repaired)")
        for version in ["1", "2"] {
            try place.done("pack", version, "site", "--verify", "--no-sync")
        }
        // A delivery that is another one now is needed until a prune.
        try place.castree("prune", "site", "--grace", "0s", "--no-sync")
        try expect(check("--deep").status, equals: 0)
    }

    @Test func `says what becomes of packs that no channel names any more`() throws {
        for path in try paths("deliveries") { try files.removeItem(at: site.appending(path: path)) }
        try place.castree("withdraw", "2", "site", "--no-sync")
        try place.castree("pack", "1", "site", "--verify", "--no-sync")
        let repaired = try place.ended(4, "fsck", "site", "--repair")
        expect(repaired.text.contains("until a 'castree prune site'"), "\(repaired)")
        try place.castree("prune", "site", "--grace", "0s", "--no-sync")
        try expect(check("--deep").status, equals: 0)
    }

    @Test func `says the same of what is left of an origin, whatever is to be done with it`() throws
    {
        let left = ["objects", "manifests"]
        for name in try files.contentsOfDirectory(atPath: site.path) where !left.contains(name) {
            try files.removeItem(at: site.appending(path: name))
        }
        for words in [
            ["publish", "1"], ["publish", "1", "--force"], ["publish", "1", "--dry-run"],
            ["withdraw", "1"], ["prune"], ["fsck"], ["fsck", "--repair"], ["channels"],
            ["origin", "status"], ["publish", "--all-of", "./site", "target"],
        ] {
            let named = words.contains("--all-of") ? words : words + ["./site"]
            let finished = try place.run(.castree, named)
            expect(
                finished.status != 0
                    && finished.errors.contains("put these back from an older copy"),
                "\(words): \(finished)")
        }
        // With what says that it is an origin, it is begun anew, and until then it holds nothing.
        try place.write(["site/origin.json": "{\"castreeOrigin\":1}\n"], to: ".")
        try place.ended(3, "du", "./site")
        try place.castree("publish", "2", "site", "--no-sync")
        try expect(check("--deep").status, equals: 0)
    }

    @Test func `names a copy that was cut off, whatever is missing of it`() throws {
        let whole = try ["objects", "manifests", "packs", "deliveries"].flatMap { try paths($0) }
        for count in stride(from: 0, to: whole.count, by: max(1, whole.count / 5)) {
            let copy = place.directory.appending(path: "copy")
            try? files.removeItem(at: copy)
            try files.copyItem(at: site, to: copy)
            for path in whole[count...] { try files.removeItem(at: copy.appending(path: path)) }
            try place.run(.castree, ["fsck", "copy", "--json"]).ended(4, in: "\(count)")
        }
    }

    @Test(
        arguments: [
            (["fsck", "nowhere"], 8), (["fsck", "release-1"], 8),
            (["fsck", "https://example.org/a"], 16),
            (["fsck", "site", "--probe"], 16), (["fsck", "site", "--since", "7d"], 16),
            (["fsck", "site", "--endpoint", "http://127.0.0.1:1"], 16),
            (["fsck", "site", "--sample", "5"], 16),
            (["fsck", "site", "--repair", "--from", "./nowhere"], 8),
        ] as [([String], Int32)])
    func `refuses what is no origin, or means nothing for one`(
        _ words: [String], _ status: Int32
    ) throws {
        try expect(!place.ended(status, words: words).errors.isEmpty)
    }

    @Test func `says with du what an origin's space is for`() throws {
        let usage = try place.originUsage()
        try expect(usage.objects.files, equals: paths("objects").count)
        expect(usage.releases.map(\.version), equals: ["2", "1"])
        expect(usage.offered.files > usage.objects.files && usage.publisher.files > 0)
    }
}
