import OriginTestSupport

@testable import HotPush

@Suite("The schema of castree's manifests") struct SchemaTests {
    let schema: JSONSchema

    init() throws { schema = try JSONSchema("manifest") }

    @Test func `is fulfilled by manifests that castree writes`() throws {
        var manifests = [
            try CastreeFormatTests.manifest(),
            try Manifest(version: VersionName("0"), ordinal: 0, createdAt: 0, entries: []),
        ]
        let release = try MeteorFormat().read(MeteorFixture(2).bytes, ReleaseContext())
        let hello = try require(ObjectID(CastreeFormatTests.hello))
        manifests.append(
            try release.manifest(ordinal: 1, createdAt: 1) { (_) throws(StoreError) in
                FetchedContent(address: hello, byteCount: 5)
            })
        for manifest in manifests {
            try expect(schema.problems(of: manifest.serialized()), equals: [])
        }
    }

    static let address = CastreeFormatTests.hello

    static func text(_ entry: String) -> String {
        "{\"castree\":1,\"entries\":[\(entry)],\"version\":\"1\"}"
    }

    static func entry(_ path: String, _ more: String = "") -> String {
        text("{\"address\":\"\(address)\",\"bytes\":1,\"path\":\"\(path)\"\(more)}")
    }

    @Test(arguments: [
        "[]", "{}", "{\"castree\":2,\"entries\":[],\"version\":\"1\"}",
        "{\"castree\":1,\"entries\":[]}", "{\"castree\":1,\"version\":\"1\"}",
        "{\"castree\":1,\"entries\":{},\"version\":\"1\"}",
        "{\"castree\":1,\"entries\":[],\"version\":\"../x\"}",
        "{\"castree\":1,\"entries\":[],\"version\":\"\"}",
        "{\"castree\":1,\"entries\":[],\"order\":-1,\"version\":\"1\"}",
        "{\"castree\":1,\"createdAt\":1.5,\"entries\":[],\"version\":\"1\"}",
        text("[]"), text("{\"bytes\":1,\"path\":\"x\"}"), entry(""), entry("/x"), entry("x/"),
        entry("../x"), entry("a/.."), entry("a/./b"), entry("a//b"), entry("a\\\\b"),
        entry("x", ",\"executable\":1"), entry("x", ",\"routes\":[\"r\"]"),
        entry("x", ",\"routes\":[\"/r\",\"/r\"]"), entry("x", ",\"labels\":{\"crc\":\"00\"}"),
        entry("x", ",\"labels\":{\"md5\":\"00\"}"),
        text("{\"address\":\"\(address.uppercased())\",\"bytes\":1,\"path\":\"x\"}"),
        text("{\"address\":\"\(address)\",\"bytes\":-1,\"path\":\"x\"}"),
    ])
    func `refuses what the reader refuses`(_ text: String) throws {
        #expect(throws: StoreError.self) { try Manifest(parsing: Array(text.utf8)) }
        try expect(!schema.problems(of: text.utf8).isEmpty)
    }

    @Test(arguments: [
        entry("x"), entry("a/b.c/..d/e.."), entry("..."), entry("\u{fc} \u{1f600}\\n"),
        entry("x", ",\"executable\":true,\"routes\":[],\"labels\":{},\"future\":[1]"),
    ])
    func `takes what the reader takes`(_ text: String) throws {
        try expect(Manifest(parsing: Array(text.utf8)).count, equals: 1)
        try expect(schema.problems(of: text.utf8), equals: [])
    }
}
