import ProgramTestSupport

@Suite struct AddTests {
    let place: Workplace

    init() throws { place = Workplace() }

    @Test func `init creates a store and says which`() throws {
        let created = try place.done("init", "--json")
        let document = try created.document(.initialized)
        expect(document.store, equals: ".castree")
        expect(document.format, equals: 1)
        expect(place.exists(".castree/FORMAT"))
    }

    @Test func `init of a store that is there changes nothing and succeeds`() throws {
        try place.add("1", Release.first)
        try place.done("init")
        try place.done("show", "1")
    }

    @Test func `init refuses a directory that holds something else`() throws {
        try place.write(["precious.txt": "mine"], to: "other")
        let refused = try place.ended(1, "--store", "other", "init", "--json")
        try expect(refused.error().code, equals: "storeExists")
        try expect(place.contents("other/precious.txt"), equals: "mine")
    }

    @Test func `add creates the store, counts what is new, and shows the tree`() throws {
        let added = try place.add("1", Release.first, "--json").ended()
        let document = try added.document(.added)
        expect(document.version, equals: "1")
        expect(document.files, equals: Release.first.count)
        expect(document.bytes, equals: Release.first.values.reduce(0) { $0 + $1.utf8.count })
        expect(document.newObjects, equals: Release.first.count)
        expect(document.newBytes, equals: document.bytes)
        try expect(
            place.contents(".castree/versions/1/index.html"), equals: Release.first["index.html"])
    }

    @Test func `add of a second version stores only what is new`() throws {
        try place.add("1", Release.first)
        let document = try place.add("2", Release.second, "--json").document(.added)
        expect(document.newObjects, equals: 2)
        expect(document.newBytes, equals: "<h1>two</h1>".utf8.count + "more()".utf8.count)
    }

    @Test func `add of the same content again changes nothing and succeeds`() throws {
        try place.add("1", Release.first)
        for cache in [[], ["--no-cache"]] {
            let again = try place.done("add", "release-1", "--version", "1", "--json", words: cache)
            try expect(again.document(.added).newObjects, equals: 0)
        }
    }

    @Test("a refusal of other content says which paths differ and how to replace the version")
    func otherContent() throws {
        try place.add("1", Release.first)
        try place.write(Release.second, to: "release-2")
        let refused = try place.ended(1, "add", "release-2", "--version", "1", "--no-cache")
        for words in [
            "other bytes or another mode: \"index.html\"", "only in the directory: \"js/more.js\"",
            "only in the version: \"empty\"", "\"old/name.txt → new/name.txt\"",
            "castree retire 1",
        ] {
            expect(refused.errors.contains(words), "\(refused.errors)")
        }
        let told = try place.castree("add", "release-2", "--version", "1", "--json")
        try expect(told.error().code, equals: "versionExists")
        // What it says to do is enough.
        try place.castree("retire", "1")
        try place.done("add", "release-2", "--version", "1", "--no-cache")
        try expect(place.castree("cat", "1:index.html").text, equals: Release.second["index.html"])
    }

    @Test("a refusal of a thousand other files stays short, and shows no terminal codes")
    func thousandFiles() throws {
        try place.add("1", ["\u{1b}[2J": "a"])
        var files = ["\u{1b}[2J": "b"]
        for number in 0..<1000 { files["new/\(number)"] = "\(number)" }
        try place.write(files, to: "release-2")
        let refused = try place.ended(
            1, "add", "release-2", "--version", "1", saying: "and 995 more")
        expect(refused.errors.utf8.count < 1000 && !refused.errors.contains("\u{1b}"))
    }

    @Test func `a directory that is not there fails and leaves no store behind`() throws {
        let refused = try place.ended(1, "add", "nowhere", "--version", "1", "--json")
        try expect(refused.error().message.contains("nowhere"))
        expect(!place.exists(".castree"))
    }

    @Test func `a store inside the directory to be imported is refused and not made`() throws {
        try place.write(Release.first, to: "release")
        try place.ended(1, "--store", "release/deeper/.castree", "add", "release", "--version", "1")
        expect(!place.exists("release/deeper"))
    }

    @Test func `names that other systems would merge are noted`() throws {
        let added = try place.add("1", ["a.txt": "1", "A.txt": "2"])
        try require(added.status == 0)
        expect(added.errors.contains("castree: note: "))
        expect(added.errors.contains("a.txt"))
        try expect(place.castree("add", "release-1", "--version", "1", "--quiet").errors.isEmpty)
    }
}
