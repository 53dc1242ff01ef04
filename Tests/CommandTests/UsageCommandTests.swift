import ProgramTestSupport

@Suite struct UsageCommandTests {
    let place: Workplace

    init() throws {
        place = try Workplace(adding: "1", ["index.html": "one", "js/app.js": "shared by 1 and 2"])
        try place.add("2", ["index.html": "two", "js/app.js": "shared by 1 and 2"])
        try place.add("3", ["index.html": "three", "img/a.png": "png of 3"], "--activate")
    }

    /// Runs a line of a shell here, in which `$CASTREE` is the program.
    func shell(_ line: String) throws -> Finished {
        try place.run(
            .shell, ["-c", line], environment: ["CASTREE": ProgramUnderTest.castree.url.path])
    }

    @Test func `du tells growth, sharing and the parts of the disk`() throws {
        let usage = try place.castree("du", "--json").document(.usage)
        expect(usage.growth.map(\.version), equals: ["1", "2", "3"])
        expect(usage.growth.map(\.newBytes), equals: [20, 3, 13])
        expect(usage.growth.map(\.apparentBytes), equals: [20, 40, 53])
        expect(usage.growth.map(\.objectBytes), equals: [20, 23, 36])
        expect(usage.sharing.versions, equals: ["3", "2", "1"])
        expect(usage.sharing.bytes, equals: [[13, 0, 0], [0, 20, 17], [0, 17, 20]])
        expect(usage.store.disk.diskBytes, equals: usage.store.diskBytes)
        expect(
            usage.store.disk.parts.reduce(0) { $0 + $1.diskBytes.number },
            equals: usage.store.diskBytes.number)
        expect(usage.retire.isNull && usage.groups.isNull)
    }

    @Test func `du --retire tells what versions would free together, and frees nothing`() throws {
        let usage = try place.castree("du", "--retire", "1,2", "--json")
            .document(.usage)
        let retire = usage.retire
        expect(retire.versions, equals: ["2", "1"])
        expect(retire.bytes == 23 && retire.objects == 3 && retire.separateBytes == 6)
        expect(retire.refused.isEmpty)
        let one = try place.castree("du", "--retire", "1")
        expect(one.text.contains("on disk: 3 B in 1 object, and its directories and its manifest."))
        expect(retire.diskBytes > retire.bytes && retire.separateDiskBytes < retire.diskBytes)
        let current = try place.castree("du", "--retire", "2", "--retire", "3")
        expect(current.text.contains("Version 3 cannot go now: "))
        try expect(place.castree("du", "--retire", "1,nine").status, equals: 3)
        try expect(place.castree("gc", "--json").document(.collected).bytes, equals: 0)
    }

    @Test func `du compares sizes on disk, and says what comes back as it does come back`() throws {
        let usage = try place.castree("du", "--json").document(.usage)
        expect(
            usage.store.plainDiskBytes,
            equals: usage.versions.reduce(0) { $0 + $1.plainDiskBytes.number })
        expect(usage.growth.last?.plainDiskBytes, equals: usage.store.plainDiskBytes)
        expect(usage.versions.allSatisfy { !$0.plainIsEstimated && $0.uniqueDiskBytes > 0 })
        expect(usage.store.unreferencedDiskBytes, equals: 0)
        expect(usage.largest.allSatisfy { $0.diskBytes > 0 })
        for version in ["1", "2"] {
            let told = try shell("du -s -B1 -l .castree/versions/\(version) | cut -f1").text
            expect(
                usage.versions.first { $0.version == version }?.plainDiskBytes.number,
                equals: Int(told.filter(\.isNumber)))
        }
        // Words: two columns, the reserve by its name, and one kind in the table of versions.
        let text = try place.castree("du").text
        for words in ["CONTENT", "ON DISK", "reserve", "2.0 MiB", "FREES", "as plain copies"] {
            expect(text.contains(words), "\(words) in \(text)")
        }
        expect(text.contains("than plain copies, with the reserve of 2.0 MiB"))

        let sizes = "cd .castree; du -s -c -B1 objects versions manifests | tail -1 | cut -f1"
        func taken() throws -> Int { try require(Int(shell(sizes).text.filter(\.isNumber))) }
        let promised = try place.castree("du", "--retire", "1", "--json")
            .document(.usage)
        let before = try taken()
        let policy = ["gc", "--keep", "1", "--json"]
        let planned = try place.run(.castree, policy + ["--dry-run"])
            .document(.retention)
        expect(planned.retired.map(\.version), equals: ["1"])
        expect(planned.diskBytes, equals: promised.retire.diskBytes)
        expect(planned.retired.first?.diskBytes, equals: planned.diskBytes)
        let done = try place.run(.castree, policy).document(.retention)
        expect(done.diskBytes, equals: planned.diskBytes)
        try expect(before - taken(), equals: done.diskBytes.number)
    }

    @Test func `du --by directory and --by type look into one version`() throws {
        let usage = try place.castree("du", "2", "--by", "directory", "--json")
            .document(.usage)
        let group = try require(usage.groups.first)
        expect(usage.by == "directory" && group.version == "2" && group["count"] == 2)
        expect(group.largest.map(\.name), equals: ["", "js"])
        expect(group.largest.map(\.uniqueBytes), equals: [3, 0])
        expect(group.largest.map(\.sharedBytes), equals: [17, 17])
        // The current one, if none is named.
        let types = try place.castree("du", "--by", "type")
        expect(types.text.contains("TYPES OF 3"))
        expect(types.text.contains("html") && types.text.contains("png"))
        expect(!types.text.contains("js"))
    }

    @Test("du --by version and --by object show the costliest first, as many as asked for")
    func costliest() throws {
        let versions = try place.castree("du", "--by", "version", "--top", "1").text
        expect(versions.contains("3 ") && versions.contains("2 versions left out"))
        let objects = try place.castree("du", "--by", "object", "--top", "1", "--json")
            .document(.usage).largest
        expect(objects.map(\.bytes), equals: [17])
        expect(objects[0].paths, equals: ["2:js/app.js", "1:js/app.js"])
        expect(objects[0].references, equals: 2)
    }

    @Test func `du --html leaves the old page until the new one is whole`() throws {
        let old = String(repeating: "old ", count: 100)
        try place.write(["usage.html": old], to: ".")
        // No file may be larger than a block: as on a full disk.
        try expect(shell("ulimit -f 8; trap '' XFSZ; $CASTREE du --html usage.html").status != 0)
        try expect(place.contents("usage.html"), equals: old)
        let names = try place.names(in: ".").filter { $0.contains("usage.html") }
        expect(names, equals: ["usage.html"])
    }

    @Test(arguments: ["/dev/stdout", "fifo"])
    func `du --html writes into what is no file`(target: String) throws {
        let ended = try shell(
            target == "fifo"
                ? "mkfifo fifo; cat fifo & $CASTREE du --html fifo; wait"
                : "$CASTREE du --html /dev/stdout"
        ).ended()
        expect(ended.text.hasPrefix("<!doctype html>") && ended.text.contains("</html>"))
    }

    // As of standard output itself.
    @Test("du --html /dev/stdout is done if its reader goes, and fails if there is none")
    func reader() throws {
        let read = try shell(
            "mkfifo gone; { read x <gone; $CASTREE du --html /dev/stdout; echo $? >&2; } | { exec <&-; echo >gone; }"
        )
        expect(read.errors, equals: "0\n", "\(read)")
        try shell("$CASTREE du --html /dev/stdout >&-").ended(1, saying: "/dev/stdout")
    }

    @Test func `du --html writes one page, and replaces one that is there`() throws {
        try place.write(["usage.html": String(repeating: "old ", count: 100_000)], to: ".")
        try expect(place.done("du", "--html", "usage.html").text.contains("Wrote usage.html"))
        let page = try place.contents("usage.html")
        expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
        expect(!page.contains("old old"))
        for name in ["app.js", "a.png", "index.html"] { expect(page.contains("\"\(name)\"")) }
    }

    @Test func `castree-fsck du has the figures and leaves the page to castree`() throws {
        let usage = try place.checker("du", "--retire", "1,2", "--json", ".castree")
            .document(.usage)
        expect(usage.retire.bytes, equals: 23)
        try expect(place.checker("du", "--html", "page.html", ".castree").status, equals: 2)
    }
}
