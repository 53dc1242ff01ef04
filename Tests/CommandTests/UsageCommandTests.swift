import Foundation
import ProgramTestSupport
import Testing

@Suite struct UsageCommandTests {
    let place: Workplace

    init() throws {
        place = Workplace()
        try place.add("1", ["index.html": "one", "js/app.js": "shared by 1 and 2"])
        try place.add("2", ["index.html": "two", "js/app.js": "shared by 1 and 2"])
        try place.add("3", ["index.html": "three", "img/a.png": "png of 3"], "--activate")
    }

    /// Runs a line of a shell here, in which `$CASTREE` is the program.
    func shell(_ line: String) throws -> Finished {
        try place.run(
            .shell, ["-c", line], environment: ["CASTREE": ProgramUnderTest.castree.url.path])
    }

    @Test func `du tells growth, sharing and the parts of the disk`() throws {
        let usage = try place.castree("du", "--json").document(UsageDocument.self)
        #expect(usage.growth.map(\.version) == ["1", "2", "3"])
        #expect(usage.growth.map(\.newBytes) == [20, 3, 13])
        #expect(usage.growth.map(\.apparentBytes) == [20, 40, 53])
        #expect(usage.growth.map(\.objectBytes) == [20, 23, 36])
        #expect(usage.sharing.versions == ["3", "2", "1"])
        #expect(usage.sharing.bytes == [[13, 0, 0], [0, 20, 17], [0, 17, 20]])
        #expect(usage.store.disk.diskBytes == usage.store.diskBytes)
        #expect(
            usage.store.disk.parts.reduce(0) { $0 + $1.diskBytes } == usage.store.diskBytes)
        #expect(usage.retire == nil && usage.groups == nil)
    }

    @Test func `du --retire tells what versions would free together, and frees nothing`() throws {
        let usage = try place.castree("du", "--retire", "1,2", "--json")
            .document(UsageDocument.self)
        let retire = try #require(usage.retire)
        #expect(retire.versions == ["2", "1"])
        #expect(retire.bytes == 23 && retire.objects == 3 && retire.separateBytes == 6)
        #expect(retire.refused.isEmpty)
        let one = try place.castree("du", "--retire", "1")
        #expect(one.text.contains("Retiring 1 would free 3 B in 1 object."))
        let current = try place.castree("du", "--retire", "2", "--retire", "3")
        #expect(current.text.contains("Version 3 cannot go now: "))
        #expect(try place.castree("du", "--retire", "1,nine").status == 3)
        #expect(try place.castree("gc", "--json").document(CollectDocument.self).bytes == 0)
    }

    @Test func `du --by directory and --by type look into one version`() throws {
        let usage = try place.castree("du", "2", "--by", "directory", "--json")
            .document(UsageDocument.self)
        let group = try #require(usage.groups?.first)
        #expect(usage.by == "directory" && group.version == "2" && group.count == 2)
        #expect(group.largest.map(\.name) == ["", "js"])
        #expect(group.largest.map(\.uniqueBytes) == [3, 0])
        #expect(group.largest.map(\.sharedBytes) == [17, 17])
        // The current one, if none is named.
        let types = try place.castree("du", "--by", "type")
        #expect(types.text.contains("TYPES OF 3"))
        #expect(types.text.contains("html") && types.text.contains("png"))
        #expect(!types.text.contains("js"))
    }

    @Test func `du --by version and --by object show the costliest first, as many as asked for`()
        throws
    {
        let versions = try place.castree("du", "--by", "version", "--top", "1").text
        #expect(versions.contains("3 ") && versions.contains("2 versions left out"))
        let objects = try place.castree("du", "--by", "object", "--top", "1", "--json")
            .document(UsageDocument.self).largest
        #expect(objects.map(\.bytes) == [17])
        #expect(objects[0].paths == ["2:js/app.js", "1:js/app.js"])
        #expect(objects[0].references == 2)
    }

    @Test func `du --html leaves the old page until the new one is whole`() throws {
        let old = String(repeating: "old ", count: 100)
        try place.write(["usage.html": old], to: ".")
        // No file may be larger than a block: as on a full disk.
        let ended = try shell("ulimit -f 8; trap '' XFSZ; $CASTREE du --html usage.html")
        #expect(ended.status != 0)
        #expect(try place.contents("usage.html") == old)
        #expect(
            try FileManager.default.contentsOfDirectory(
                atPath: place.directory.path
            ).filter { $0.contains("usage.html") } == ["usage.html"])
    }

    @Test(arguments: ["/dev/stdout", "fifo"])
    func `du --html writes into what is no file`(target: String) throws {
        let ended = try shell(
            target == "fifo"
                ? "mkfifo fifo; cat fifo & $CASTREE du --html fifo; wait"
                : "$CASTREE du --html /dev/stdout")
        #expect(ended.status == 0, "\(ended)")
        #expect(ended.text.hasPrefix("<!doctype html>") && ended.text.contains("</html>"))
    }

    @Test func `du --html writes one page, and replaces one that is there`() throws {
        try place.write(["usage.html": String(repeating: "old ", count: 100_000)], to: ".")
        let answer = try place.castree("du", "--html", "usage.html")
        #expect(answer.status == 0)
        #expect(answer.text.contains("Wrote usage.html"))
        let page = try place.contents("usage.html")
        #expect(page.hasPrefix("<!doctype html>") && page.hasSuffix("</html>\n"))
        #expect(!page.contains("old old"))
        for name in ["app.js", "a.png", "index.html"] { #expect(page.contains("\"\(name)\"")) }
    }

    @Test func `castree-fsck du has the figures and leaves the page to castree`() throws {
        let usage = try place.checker("du", "--retire", "1,2", "--json", ".castree")
            .document(UsageDocument.self)
        #expect(usage.retire?.bytes == 23)
        #expect(try place.checker("du", "--html", "page.html", ".castree").status == 2)
    }
}
