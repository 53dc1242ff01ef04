import HotPush
import StorageTestSupport

@Suite("8fit's format") struct EightFitFormatTests {
    func read(_ text: String) throws -> Release {
        try EightFitFormat().read(Array(text.utf8), ReleaseContext())
    }

    @Test func `is a commit, a date, and files with routes`() throws {
        let text = """
            {"commit":"9f1c0de","deployed_at":"2015-05-25T10:00:00Z","files":[
            {"path":"js/app.js","route":"/a/js/app.js"},{"path":"index.html","route":"/a/"}]}
            """
        let release = try read(text)
        expect(release.family, equals: "8fit/1")
        expect(release.version.description, equals: "9f1c0de")
        expect(release.order, equals: 1_432_548_000)
        expect(release.trust, equals: .length)
        expect(release.received, equals: Array(text.utf8))
        expect(release.files.map(\.path.description), equals: ["js/app.js", "index.html"])
        expect(release.files.map(\.routes), equals: [["/a/js/app.js"], ["/a/"]])
        expect(release.files.map(\.source), equals: ["js/app.js", "index.html"])
        expect(release.files.map(\.isLaunchFile), equals: [false, true])
        expect(release.files.allSatisfy { $0.address == nil && $0.checks.isEmpty })
        let foreign = JSONValue.object(release.foreign)
        expect(foreign["commit"]?.asString, equals: "9f1c0de")
        expect(foreign["deployed_at"]?.asString, equals: "2015-05-25T10:00:00Z")
    }

    @Test func `takes several routes, sizes, a number as date, and what it does not know`() throws {
        let release = try read(
            """
            {"files":[{"path":"a b.js","routes":["/x","/y"],"size":3,"kind":"js"},{"path":"c"}],
            "commit":"branch/x","deployed_at":1432548000,"author":{"name":"n"}}
            """)
        expect(release.files[0].routes, equals: ["/x", "/y"])
        expect(release.files[0].byteCount, equals: 3)
        expect(release.files[0].source, equals: "a%20b.js")
        expect(release.files[0].foreign.map(\.key), equals: ["kind"])
        expect(release.files[1].routes.isEmpty)
        expect(release.order, equals: 1_432_548_000)
        expect(release.publisherVersion, equals: "branch/x")
        expect(JSONValue.object(release.foreign)["author"]?["name"]?.asString, equals: "n")
    }

    @Test(
        arguments: [
            ("2015-05-25T10:00:00Z", 1_432_548_000), ("2000-02-29T23:59:59.999Z", 951_868_799),
            ("1969-12-31T23:59:59Z", -1), ("0001-01-01T00:00:00z", -62_135_596_800),
            ("2024-03-01T00:00:00+02:00", 1_709_244_000), ("9999-12-31T23:59:59Z", 253_402_300_799),
            ("1900-03-01T00:00:00-00:00", -2_203_891_200), ("2100-03-01T00:00:00Z", 4_107_542_400),
        ] as [(String, Int64)])
    func `knows its dates`(_ text: String, _ seconds: Int64) throws {
        let release = try read("{\"commit\":\"c\",\"deployed_at\":\"\(text)\",\"files\":[]}")
        expect(release.order, equals: seconds)
    }

    @Test(arguments: [
        "[]", "{}", "{\"commit\":\"c\"}", "{\"files\":[]}", "{\"commit\":\"\",\"files\":[]}",
        "{\"commit\":1,\"files\":[]}", "{\"commit\":\"c\",\"files\":{}}",
        "{\"commit\":\"c\",\"files\":[1]}", "{\"commit\":\"c\",\"files\":[{}]}",
        "{\"commit\":\"c\",\"files\":[{\"path\":\"../x\"}]}",
        "{\"commit\":\"c\",\"files\":[{\"path\":\"x\",\"size\":1.5}]}",
        "{\"commit\":\"c\",\"files\":[{\"path\":\"x\",\"route\":1}]}",
        "{\"commit\":\"c\",\"files\":[],\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-02-29T00:00:00Z\",\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-05-25\",\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-05-25T10:00:00\",\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-05-25T24:00:00Z\",\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-13-25T10:00:00Z\",\"files\":[]}",
        "{\"commit\":\"c\",\"deployed_at\":\"2015-05-25T10:00:00+2:00\",\"files\":[]}",
    ])
    func `is refused with the place`(_ text: String) {
        expectRefusal(.badRelease, saying: " at byte ") { try read(text) }
    }

    @Test(arguments: [
        "{\"path\":\"a\"},{\"path\":\"a\"}", "{\"path\":\"a\"},{\"path\":\"a/b\"}",
        "{\"path\":\"a\",\"route\":\"/r\"},{\"path\":\"b\",\"route\":\"/r\"}",
        "{\"path\":\"a\",\"route\":\"r\"}", "{\"path\":\"a\",\"size\":-1}",
    ])
    func `is refused if its files do not make a tree, or two share a route`(_ files: String) {
        expectRefusal(.badRelease) { try read("{\"commit\":\"c\",\"files\":[\(files)]}") }
    }
}
