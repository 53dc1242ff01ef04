import ProgramTestSupport

@Suite struct MaintenanceTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", Release.first, "--activate")
        try place.add("2", Release.second)
    }

    @Test func `gc deletes exactly what its dry run announced`() throws {
        try place.castree("retire", "2")
        let planned = try place.castree("gc", "--dry-run", "--json").document(.collected)
        expect(planned.objects, equals: 2)
        expect(planned.bytes, equals: "<h1>two</h1>more()".utf8.count)
        expect(planned.dryRun.isTrue)
        let answer = try place.done("gc", "--json")
        let done = try answer.document(.collected)
        expect(done.objects, equals: planned.objects)
        expect(done.bytes, equals: planned.bytes)
        expect(!done.dryRun)
        try expect(place.castree("gc", "--json").document(.collected).objects, equals: 0)
        try place.done("fsck", "--deep")
    }

    // DESIGN.md, "The index is derived". No file may be larger than so many blocks: each limit ends the change elsewhere.
    @Test(
        arguments: ["add release-3 --version 3", "retire 2"],
        Array(stride(from: 8, through: 80, by: 8)))
    func `a change of the index that the disk has taken in part is not believed`(
        _ words: String, _ blocks: Int
    ) throws {
        try place.write(
            ["a": "a", "b": "b", "c": "c", "d": "d", "index.html": "<h1>two</h1>"], to: "release-3")
        _ = try place.run(
            .shell, ["-c", "ulimit -f \(blocks); trap '' XFSZ; exec \"$CASTREE\" \(words)"],
            environment: ["CASTREE": ProgramUnderTest.castree.url.path])
        func answers() throws -> [String] {
            try [["versions"], ["gc", "--dry-run"], ["du"]].map {
                let text = try place.run(.castree, $0 + ["--json"]).text
                // The index itself may be smaller when it has just been made, and whose the garbage was it knows alone.
                return text.replacing(/"(disk|largest)":.*/, with: "")
            }
        }
        let found = try answers()
        try place.remove(".castree/index.sqlite")
        try expect(answers(), equals: found)
        // What a failed command has left goes.
        try place.castree("fsck", "--repair")
        try place.done("fsck")
    }

    @Test func `a file size limit that the index meets is named`() throws {
        try place.remove(".castree/index.sqlite")
        let finished = try place.run(
            .shell, ["-c", "ulimit -f 1; trap '' XFSZ; exec \"$CASTREE\" fsck --repair"],
            environment: ["CASTREE": ProgramUnderTest.castree.url.path])
        expect(
            finished.errors.contains("unable to use the index: ")
                && finished.errors.contains("a file size limit is in the way (ulimit -f"),
            "\(finished)")
    }

    @Test func `a store and its copy of hard links part for good once each is used`() throws {
        try place.shell("cp -al .castree copy").ended()
        for (store, name) in [(".castree", "3"), ("copy", "4")] {
            try place.write(["index.html": name], to: "release-\(name)")
            try place.castree("add", "release-\(name)", "--version", name, "--store", store)
        }
        for _ in 1...2 {
            for (store, name) in [(".castree", "3"), ("copy", "4")] {
                let checked = try place.done("fsck", "--store", store)
                expect(checked.errors.isEmpty, "\(store): \(checked)")
                let versions = try place.castree("versions", "--store", store, "--json").text
                let events = try place.castree("log", "--store", store, "--json").text
                for other in ["3", "4"] {
                    expect(versions.contains("\"version\":\"\(other)\"") == (other == name))
                    expect(events.contains("\"version\":\"\(other)\"") == (other == name))
                }
            }
        }
    }

    @Test func `gc names the largest garbage when it is asked first`() throws {
        let address = try place.address(of: "index.html", in: "2")
        try place.castree("retire", "2")
        try expect(place.done("gc", "--dry-run").text.contains(address))
        expect(place.exists(place.object(address)))
    }

    @Test func `retire says what the next gc frees, and gc says that it did`() throws {
        let own = "<h1>two</h1>more()".utf8.count
        let retired = try place.castree("retire", "2", "--json").document(.retired)
        expect(retired.unusedObjects == 2 && retired.unusedBytes == own, "\(retired)")
        expect(retired.references > retired.unusedObjects)
        let collected = try place.castree("gc", "--json").document(.collected)
        expect(collected.objects == 2 && collected.bytes == own, "\(collected)")
        // In words, and of a version that shares all it has.
        try place.add("3", Release.second)
        try place.add("4", Release.second)
        let shared = try place.castree("retire", "4").text
        expect(shared.contains("other versions use them, too"), "\(shared)")
        let last = try place.castree("retire", "3").text
        expect(
            last.contains("castree gc now frees what only this version used: 2 objects, 18 B"),
            "\(last)")
        try expect(place.castree("gc").text.hasPrefix("Deleted 2 objects, 18 B; "))
    }

    @Test func `gc retires by policy what it said it would, and nothing that is needed`() throws {
        try place.add("3", ["index.html": "<h1>three</h1>"])
        let arguments = ["gc", "--keep", "1", "--older-than", "0s", "--max-size", "1", "--json"]
        let planned = try place.run(.castree, arguments + ["--dry-run"])
            .document(.retention)
        // "1" is current, "3" is the newest.
        expect(planned.retired.map(\.version), equals: ["2"])
        expect(planned.kept.map(\.version), equals: ["3", "1"])
        expect(
            (planned.retired.elements + planned.kept).allSatisfy { $0.reason.text.contains(" ") })
        expect(planned.objects, equals: 2)
        expect(planned.retired[0].bytes, equals: "<h1>two</h1>more()".utf8.count)
        let done = try place.run(.castree, arguments).document(.retention)
        expect(done.retired.map(\.version), equals: ["2"])
        expect(done.objects == planned.objects && done.bytes == planned.bytes)
        expect(done.bytesLeft == planned.bytesLeft && done.maxBytes == 1)
        expect(!place.exists(".castree/versions/2"))
        try place.done("fsck", "--deep")
    }

    @Test func `gc keeps as many good versions as it is told, else all, and says so`() throws {
        for number in 3...6 { try place.add("\(number)", ["index.html": "\(number)"]) }
        for version in ["1", "2", "3", "4", "5"] { try place.start(version) }
        try place.castree("protect", "1")
        func gone(_ arguments: String...) throws -> [String] {
            let plan = try place.run(.castree, ["gc", "--dry-run", "--json"] + arguments)
            return try plan.document(.retention).retired.map(\.version.text)
        }
        try expect(gone("--keep", "0"), equals: ["6"])
        try expect(gone("--keep-good", "2"), equals: ["3", "2"])
        try expect(gone("--keep-good", "1"), equals: ["4", "3", "2"])
        try expect(gone("--keep-good", "9").isEmpty)
        try expect(gone("--keep-good", "2", "--keep", "0"), equals: ["6", "3", "2"])
        try expect(gone("--keep-good", "2", "--keep", "2"), equals: ["2"])
        try expect(gone("--keep-good", "1", "--older-than", "1h").isEmpty)
        let kept = try place.castree("gc", "--keep", "1")
        expect(kept.text.contains("3 versions stay, known good; --keep-good N"), "\(kept)")
        try expect(place.castree("gc", "--keep-good", "2").text.contains("Retired version 3"))
        try expect(!place.castree("gc", "--keep-good", "2").text.contains("--keep-good N"))
        try expect(place.castree("gc", "--keep-good", "0").status, equals: 2)
    }

    @Test func `gc says why a version goes or stays, and whose an object was`() throws {
        let plan = try place.castree("gc", "--dry-run", "--keep", "0").text
        expect(plan.contains("Would retire 1 version:"))
        expect(plan.contains("nothing needs it"))
        expect(plan.contains("it is current"))
        expect(plan.contains("last in version 2, which would be retired"))
        try place.castree("retire", "2")
        try expect(place.castree("gc", "--dry-run").text.contains("last in version 2, retired "))
    }

    @Test(arguments: [
        ["--keep", "-1"], ["--keep", "some"], ["--older-than", "30"], ["--older-than", "d"],
        ["--max-size", "0"], ["--max-size", "20X"],
    ])
    func `gc refuses a policy that it does not understand`(options: [String]) throws {
        try expect(place.run(.castree, ["gc"] + options).status, equals: 2)
        expect(place.exists(".castree/versions/2"))
    }

    @Test func `du tells store, versions and largest objects`() throws {
        let answer = try place.done("du", "--json")
        let usage = try answer.document(.usage)
        let bytes = { (files: [String: String]) in files.values.reduce(0) { $0 + $1.utf8.count } }
        let apparent = bytes(Release.first) + bytes(Release.second)
        expect(usage.store.objects, equals: 8)
        expect(usage.store.apparentBytes, equals: apparent)
        expect(
            usage.store.objectBytes, equals: bytes(Release.first) + "<h1>two</h1>more()".utf8.count)
        expect(usage.store.stagedBytes == 0 && usage.store.unreferencedBytes == 0)
        expect(usage.store.diskBytes > 0)
        let ratio = Double(apparent) / usage.store.objectBytes.double
        expect(abs(usage.store.ratio.double - ratio) < 1e-9)
        expect(usage.versions.map(\.version), equals: ["2", "1"])
        expect(usage.versions[1].files, equals: Release.first.count)
        expect(usage.versions[1].apparentBytes, equals: bytes(Release.first))
        expect(usage.versions[1].uniqueBytes, equals: "<h1>one</h1>".utf8.count)
        expect(
            usage.versions[1].sharedBytes, equals: bytes(Release.first) - "<h1>one</h1>".utf8.count)
        expect(usage.largest.map(\.bytes), equals: usage.largest.map(\.bytes).sorted { $0 > $1 })
        let app = try require(usage.largest.first { $0.paths.contains("1:js/app.js") })
        expect(app.references, equals: 2)
        expect(app.paths.contains("2:js/app.js"))
    }

    @Test func `du shows the versions asked for, and as many objects as asked for`() throws {
        let usage = try place.castree("du", "1", "--largest", "3", "--json")
            .document(.usage)
        expect(usage.versions.map(\.version), equals: ["1"])
        expect(usage.largest.count, equals: 3)
    }

    @Test func `sizes are exact with --bytes`() throws {
        let large = String(repeating: "x", count: 123_456)
        try place.add("3", ["large": large])
        try expect(place.castree("du").text.contains("120.6 KiB"))
        try expect(place.castree("du", "--bytes").text.contains("123456 B"))
    }

    @Test func `report tells everything but secrets and content`() throws {
        try place.castree("boot")
        let boot = try place.lifecycle().boot
        let token = boot.token
        let document = try place.done("report", "--json")
        let members = try document.members()
        expect(
            members.isSuperset(of: [
                "castree", "system", "store", "usage", "versions", "lifecycle", "events",
            ]))
        let text = try place.castree("report")
        expect(text.text.contains("castree 0.1.0"))
        for report in [document, text] {
            expect(!report.text.contains(token.text))
            expect(!report.text.contains("index.html"))
        }
    }

    @Test func `report tells what the commands before it have done`() throws {
        try place.start()
        try place.castree("activate", "2", "--at-next-boot")
        try place.castree("boot")
        try place.castree("rollback", "--reason", "see http://user:pw@h.example/?key=secret")
        try place.castree("forgive", "2")
        try place.castree("retire", "2")
        try place.castree("gc")
        let report = try place.castree("report", "--json").document(.report)
        let names = report.events.map(\.event)
        expect(
            names,
            equals: [
                "add", "switch", "add", "boot", "confirm", "pending", "switch", "boot", "ban",
                "rollback", "forgive", "retire", "collect",
            ])
        expect(report.events.map(\.sequence), equals: Array(1...report.events.count))
        expect(report.events.allSatisfy { $0.at.text.hasSuffix("Z") && !$0.sentence.text.isEmpty })
        let text = try place.castree("report").text
        expect(text.contains("rolled back from version 2 to 1: see http://h.example/?key=*"))
        expect(!text.contains("secret") && !text.contains("user:pw"))
    }

    @Test func `report goes to a file, and replaces one that is there`() throws {
        try place.write(["report.txt": String(repeating: "old ", count: 10_000)], to: ".")
        try place.done("report", "report.txt")
        let text = try place.contents("report.txt")
        expect(text.hasPrefix("castree 0.1.0"))
        expect(!text.contains("old "))
        try place.done("report", "report.json", "--json")
        let report = try JSONSerialization.jsonObject(
            with: Data(contentsOf: place.directory.appending(path: "report.json")))
        expect((report as? [String: Any])?["castree"] as? String == "0.1.0")
    }

    @Test func `report tells what is broken instead of failing`() throws {
        let file = place.directory.appending(path: ".castree/lifecycle.json")
        try Data("{".utf8).write(to: file)
        let document = try place.done("report", "--json")
        expect(document.text.contains("\"lifecycle\":{\"error\":{\"code\":\"badLifecycle\""))
    }
}
