import ProgramTestSupport

/// `castree fsck` and `castree-fsck`, whose exit statuses are those of fsck(8).
@Suite struct CheckTests {
    let place: Workplace

    init() throws { place = try Workplace(adding: "1", Release.first, "--activate") }

    private func damage() throws -> String {
        let address = try place.address(of: "index.html", in: "1")
        try place.damage(place.object(address))
        return address
    }

    @Test(arguments: [
        ["fsck"], ["fsck", "--deep"], ["fsck", "--repair"], ["fsck", "--deep", "--repair"],
    ])
    func `a sound store is clean`(_ arguments: [String]) throws {
        let checked = try place.done(words: arguments + ["--json"])
        let report = try checked.document(.checked)
        expect(report.findings.isEmpty)
        expect(report.checkedObjects, equals: Release.first.count)
        expect(report.checkedBytes, equals: Release.first.values.reduce(0) { $0 + $1.utf8.count })
        expect(report.checkedTrees, equals: 1)
    }

    @Test(arguments: [
        ["fsck", "--probe"], ["fsck", "https://example.org/app"], ["fsck", "s3://NO/app"],
        ["fsck", "s3://updates/app", "--since", "7d"],
        ["fsck", "s3://updates/app", "--repair", "--dry-run"],
        ["fsck", "s3://updates/app", "--sample", "5"],
        ["fsck", "s3://updates/app", "--limit-rate", "5M"],
        ["fsck", "--endpoint", "http://127.0.0.1:1"], ["fsck", "--timeout", "5s"],
        ["fsck", "--from", "./origin", "--anonymous"],
        ["fsck", "S3://updates/app"], ["fsck", "s3:/updates"], ["fsck", "s3://updates//app"],
    ])
    func `what means nothing for a store, or for an origin, is refused`(
        _ arguments: [String]
    ) throws {
        try expect(place.run(.castree, arguments).status, equals: 16)
    }

    @Test func `a repair of a bucket refuses a store or an origin that is not there`() throws {
        let bucket = [
            "fsck", "s3://updates/app", "--endpoint", "http://127.0.0.1:1", "--anonymous",
        ]
        let store = try place.ended(
            8, words: bucket + ["--repair", "--store", "nowhere", "--json"])
        try expect(store.error().code, equals: "noStore")
        let origin = try place.ended(8, words: bucket + ["--from", "./nowhere", "--json"])
        try expect(origin.error().code, equals: "noOrigin")
    }

    @Test func `damage is found, told with its place, and left alone`() throws {
        let address = try damage()
        for deep in [[], ["--deep"]] {
            let checked = try place.ended(4, "fsck", "--json", words: deep)
            let finding = try require(try checked.document(.checked).findings.first)
            expect(finding.kind, equals: "damagedObject")
            expect(finding.object, equals: address)
            expect(finding.version, equals: "1")
            expect(finding.path, equals: "index.html")
            expect(!finding.repaired)
        }
        let told = try place.castree("fsck")
        expect(told.text.contains("damagedObject"))
        expect(told.text.contains("castree fsck --repair"))
        expect(place.exists(place.object(address)))
    }

    @Test(arguments: ["damagedObject", "missingObject", "notAFile", "damagedTwin"])
    func `what several versions show is one problem that names each place`(_ kind: String) throws {
        try place.add("2", Release.second)
        try place.add("3", ["again": "#! /bin/sh\n", "tool": "#! /bin/sh\n"])
        let address = try place.address(of: "tools/serve", in: "1")
        let object = place.directory.appending(path: place.object(address)).path
        switch kind {
        case "damagedObject": try place.damage(place.object(address))
        case "missingObject": Damage.remove(object)
        case "notAFile": try Damage.replace(object, by: .directory)
        default: try place.damage(place.object(address) + ".x")
        }
        let checked = try place.ended(4, "fsck")
        let lines = checked.text.split(separator: "\n").filter { $0.contains(address) }
        expect(lines.count, equals: 1, "\(checked)")
        let places = "1:tools/serve, 2:tools/serve, 3:again and 3:tool"
        expect(lines.first?.contains("used by \(places)"), equals: true, "\(checked)")
        // For programs each place is a finding, as ever.
        let report = try place.castree("fsck", "--json").document(.checked)
        let found = report.findings.filter { $0.kind == kind }
        expect(
            found.map { "\($0.version):\($0.path)" },
            equals: ["1:tools/serve", "2:tools/serve", "3:again", "3:tool"])
        expect(report.problems, equals: report.findings.count - 3)
        expect(checked.text.contains(": \(report.problems) problem"), "\(checked)")
        let last = try place.castree("status").text
        expect(last.contains("left \(report.problems) problem"), "\(last)")
    }

    @Test func `damage is repaired with --repair, and then the store is clean`() throws {
        _ = try damage()
        try place.add("2", Release.second, "--activate")
        let repaired = try place.ended(1, "fsck", "--repair", "--json")
        try expect(repaired.document(.checked).findings.allSatisfy(\.repaired.isTrue))
        try place.done("fsck")
    }

    @Test func `a current version that lost content is left, until the content is back`() throws {
        _ = try damage()
        let repaired = try place.ended(4, "fsck", "--repair", "--json")
        let findings = try repaired.document(.checked).findings
        expect(findings.map(\.kind), equals: ["damagedObject", "incompleteVersion"])
        expect(findings.map(\.repaired), equals: [true, false])
        try expect(place.castree("fsck").status, equals: 4)
        try place.done("add", "release-1", "--version", "1")
        try place.done("fsck")
    }

    @Test("a repair is advised while it would mend something, and not for what it has left")
    func advised() throws {
        _ = try damage()
        let advice = "'castree fsck --repair' repairs what can be repaired without guessing."
        let found = try place.castree("fsck")
        expect(found.text.contains(advice), "\(found)")
        let repaired = try place.castree("fsck", "--repair")
        expect(repaired.text.contains("The rest needs a person"), "\(repaired)")
        let left = try place.ended(4, "fsck")
        expect(!left.text.contains("--repair"), "\(left)")
        expect(left.text.contains("This needs a person, or the content"), "\(left)")
    }

    @Test func `a version of which nobody has anything any more is retired, as its finding says`()
        throws
    {
        try place.write(["index.html": "older"], to: "older")
        try place.done("adopt", "older", "--version", "0")
        try place.add("2", Release.second, "--activate")
        try place.start()
        try place.shell(
            "cd .castree && rm -rf manifests/0.json && chmod -R u+w versions/0 && rm -r versions/0"
        )
        .ended()
        try place.ended(4, "fsck", "--repair")
        let left = try place.ended(4, "fsck").text
        expect(
            left.contains("castree retire 0, but adopt a newer one first (castree adopt)"),
            "\(left)")
        try place.write(["index.html": "newer"], to: "newer")
        try place.done("adopt", "newer", "--version", "3")
        try place.done("retire", "0")
        try place.done("fsck")
    }

    @Test func `what killed adds have left is a leftover, and no problem of modes`() throws {
        for number in 1...6 {
            let lease = "\(99_999_900 + number)-0123456789abcdef"
            try place.write([lease: ""], to: ".castree/leases")
            for mode in [0o400, 0o444, 0o555, 0o644] as [mode_t] {
                let name = String(repeating: "\(mode % 10)", count: 64)
                try place.write([name: "half"], to: ".castree/staging/\(lease)")
                chmod(place.path(".castree/staging/\(lease)/\(name)"), mode)
            }
        }
        let found = try place.castree("fsck", "--json").document(.checked).findings
        expect(Set(found.map(\.kind)), equals: ["leftover"])
        try expect(place.castree("fsck", "--repair").status, equals: 1)
        try place.done("fsck")
    }

    @Test func `what cannot be repaired is left, with status 4`() throws {
        // A manifest is made again from its tree; without one nothing says what was in it.
        let tree = ".castree/versions/1"
        try place.shell("find \(tree) -type d -exec chmod 755 {} + && rm -rf \(tree)").ended()
        try place.write(["1.json": "x"], to: ".castree/manifests")
        for repair in [[], ["--repair"]] {
            let checked = try place.ended(4, "fsck", "--json", words: repair)
            let findings = try checked.document(.checked).findings
            let finding = try require(findings.first { $0.kind == "damagedManifest" })
            expect(finding.object.isNull)
            expect(!finding.repaired)
            expect(checked.text.contains("\"object\":null"))
        }
    }

    @Test func `a store that cannot be checked is status 8`() throws {
        let refused = try place.ended(8, "--store", "nowhere", "fsck", "--json")
        try expect(refused.error().code, equals: "noStore")
        try place.write(["FORMAT": "castree 99\n"], to: "future")
        try expect(place.castree("--store", "future", "fsck").status, equals: 8)
    }

    @Test func `a wrong command line is status 16`() throws {
        try expect(place.castree("fsck", "--deeper").status, equals: 16)
        try expect(place.castree("fsck", "one", "surplus").status, equals: 16)
        try expect(place.checker().status, equals: 16)
        try expect(place.checker("--wrong", ".castree").status, equals: 16)
        try expect(place.checker("chekc", ".castree").errors.contains("'check'"))
    }

    @Test func `castree-fsck checks a store that is an operand`() throws {
        for arguments in [[".castree"], ["check", ".castree"], ["check", "--deep", ".castree"]] {
            let checked = try place.run(.checker, arguments + ["--json"]).ended()
            try expect(checked.document(.checked).checkedObjects, equals: Release.first.count)
        }
        try expect(place.checker("nowhere").status, equals: 8)
    }

    @Test func `castree-fsck finds and repairs as castree fsck does`() throws {
        _ = try damage()
        let ours = try place.castree("fsck", "--json")
        let theirs = try place.checker("--json", ".castree")
        expect(ours.text, equals: theirs.text)
        expect(theirs.status, equals: 4)
        try expect(place.checker(".castree").text.contains("castree-fsck repair .castree"))
        // The current version is missing an object until it is added again.
        try expect(place.checker("repair", ".castree").status, equals: 4)
        try place.done("add", "release-1", "--version", "1")
        try expect(place.checker(".castree").status, equals: 0)
    }

    @Test func `castree-fsck collects and measures as castree does`() throws {
        try place.add("2", Release.second)
        try place.castree("retire", "2")
        // A second may pass between the two.
        let moment = /"takenAt":\d+/
        let usage = try place.castree("du", "1", "--json").text.replacing(moment, with: "")
        let other = try place.checker("du", ".castree", "1", "--json").text
        expect(other.contains(moment) && other.replacing(moment, with: "") == usage)
        try expect(place.checker("du", ".castree", "9").status, equals: 3)
        let plan = try place.castree("gc", "--dry-run", "--json")
        try expect(place.checker("gc", "--dry-run", ".castree", "--json").text, equals: plan.text)
        let done = try place.checker("gc", ".castree", "--json").document(.collected)
        expect(done.objects, equals: 2)
        try expect(place.checker("gc", "nowhere").status, equals: 3)
        try expect(place.checker("gc", "--wrong", ".castree").status, equals: 2)
    }
}
