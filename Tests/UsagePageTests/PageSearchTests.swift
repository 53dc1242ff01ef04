import StorageTestSupport

@testable import UsagePage
@testable import VersionTree

@Suite("Searching on the usage page", .enabled(if: PageScript.node != nil))
struct PageSearchTests {

    /// What is found: the sizes by path, the number of files, and the bytes of all together.
    struct Found: Equatable, Decodable {
        var paths: [String: Int64]
        var files: Int
        var bytes: Int64
    }

    /// Two versions: a file that moved, content under two paths, and a file of no bytes.
    func figures() throws -> [UInt8] {
        let temporary = try TemporaryStore()
        try temporary.add("v1", ["old/x.js": "moved", "one.txt": "twice!", "two.txt": "twice!"])
        try temporary.add(
            "v2", ["new/x.js": "moved", "one.txt": "twice!", "two.txt": "twice!", "empty.txt": ""])
        var options = SurveyOptions()
        options.mapFilesMax = 1000
        return UsagePage.json(try temporary.versions.survey(options))
    }

    /// Searches; `version` is its place, or -1 for the whole store.
    func search(_ words: String, in version: Int) throws -> Found {
        try PageScript.run(
            """
            const model = new Model(figures);
            model.look(Number(words[0]));
            const { found, files, bytes } = model.search(words[1]);
            const paths = Object.fromEntries(found.map(node => [model.path(node), model.size(node)]));
            console.log(JSON.stringify({ paths, files, bytes }));
            """, after: ["model.js"], figures: figures(), words: [String(version), words])
    }

    @Test(
        "finds every path of the store, and weighs each content once",
        arguments: [
            ("old/x", Found(paths: ["old/x.js": 5], files: 1, bytes: 5)),
            ("new/X", Found(paths: ["new/x.js": 5], files: 1, bytes: 5)),
            ("x.js", Found(paths: ["new/x.js": 5, "old/x.js": 5], files: 2, bytes: 5)),
            ("one.txt", Found(paths: ["one.txt": 6], files: 1, bytes: 6)),
            ("two.txt", Found(paths: ["two.txt": 6], files: 1, bytes: 6)),
            ("empty", Found(paths: ["empty.txt": 0], files: 1, bytes: 0)),
            ("nothing", Found(paths: [:], files: 0, bytes: 0)),
        ])
    func wholeStore(_ words: String, _ wanted: Found) throws {
        try expect(search(words, in: -1), equals: wanted)
    }

    @Test(
        "finds what a version shows, and nothing of others",
        arguments: [
            (0, "old/x", Found(paths: ["old/x.js": 5], files: 1, bytes: 5)),
            (0, "new/x", Found(paths: [:], files: 0, bytes: 0)),
            (0, ".txt", Found(paths: ["one.txt": 6, "two.txt": 6], files: 2, bytes: 12)),
            (1, "empty", Found(paths: ["empty.txt": 0], files: 1, bytes: 0)),
        ])
    func version(_ place: Int, _ words: String, _ wanted: Found) throws {
        try expect(search(words, in: place), equals: wanted)
    }
}
