import HotPush
import StorageTestSupport

private let compatibility = "\"cordovaCompatibilityVersions\":{\"ios\":\"c\"}"

/// Manifests that are refused, and the sentence that says so.
private let sentences: [(name: String, text: String, message: String)] = [
    (
        "another format", "{\"format\":\"web-program-pre2\",\"manifest\":{}}",
        "The asset manifest format is incompatible: web-program-pre2"
    ),
    (
        "no version", "{\"format\":\"web-program-pre1\",\(compatibility),\"manifest\":[]}",
        "Asset manifest does not have a version"
    ),
    (
        "an empty version", "{\"version\":\"\",\(compatibility),\"manifest\":[]}",
        "Asset manifest does not have a version"
    ),
    (
        "no compatibility versions", "{\"version\":\"1\",\"manifest\":[]}",
        "Asset manifest does not have a cordovaCompatibilityVersion"
    ),
    (
        "none for the platform",
        "{\"version\":\"1\",\"cordovaCompatibilityVersions\":{\"android\":\"c\"},\"manifest\":[]}",
        "Asset manifest does not have a cordovaCompatibilityVersion"
    ),
    (
        "null for the platform",
        "{\"version\":\"1\",\"cordovaCompatibilityVersions\":{\"ios\":null},\"manifest\":[]}",
        "Asset manifest does not have a cordovaCompatibilityVersion"
    ),
    (
        "no manifest", "{\"version\":\"1\",\(compatibility)}",
        "Error parsing asset manifest: the field \"manifest\" is missing"
    ),
]

private let client = "\"where\":\"client\""

private func entry(_ path: String, _ more: String = "") -> String {
    MeteorFixture.asset(path, url: "/u", more: more)
}

/// Entries that are refused, and a word of the reason.
private let entries: [(name: String, entry: String, reason: String)] = [
    ("a list", "[]", "object is expected"), ("null", "null", "object is expected"),
    ("a text", "\"x\"", "object is expected"), ("a number", "1", "object is expected"),
    ("no path", "{\(client),\"type\":\"js\",\"cacheable\":true,\"url\":\"/x\"}", "no \"path\""),
    ("no url", "{\(client),\"type\":\"js\",\"cacheable\":true,\"path\":\"x\"}", "no \"url\""),
    ("no type", "{\(client),\"cacheable\":true,\"path\":\"x\",\"url\":\"/x\"}", "no \"type\""),
    ("no cacheable", "{\(client),\"type\":\"js\",\"path\":\"x\",\"url\":\"/x\"}", "cacheable"),
    ("a path that is a number", "{\"path\":1}", "string is expected"),
    ("a url that is a list", "{\"url\":[\"/x\"]}", "string is expected"),
    ("a where that is true", "{\"where\":true}", "string is expected"),
    ("a type that is an object", "{\"type\":{}}", "string is expected"),
    ("cacheable in quotes", "{\"cacheable\":\"true\"}", "true or false"),
    ("cacheable as a number", "{\"cacheable\":1}", "true or false"),
    ("replaceable in quotes", "{\"replaceable\":\"no\"}", "true or false"),
    ("a size in quotes", "{\"size\":\"1\"}", "number is expected"),
    ("a size with a fraction", "{\"size\":1.5}", "integer"),
    ("a size with an exponent", "{\"size\":1e3}", "integer"),
    ("a negative size", "{\"size\":-1}", "negative"),
    ("a size of 2^63", "{\"size\":9223372036854775808}", "64 bits"),
    ("a size of a hundred digits", "{\"size\":1\(String(repeating: "0", count: 100))}", "64 bits"),
    ("a hash that is a number", "{\"hash\":1}", "string is expected"),
    ("an sri that is false", "{\"sri\":false}", "string is expected"),
    ("an sri that is no base64", entry("x", ",\"sri\":\"*\""), "SHA-512"),
    ("an sri that is too short", entry("x", ",\"sri\":\"aGVsbG8=\""), "SHA-512"),
    ("a map that is a number", "{\"sourceMap\":1}", "string is expected"),
    ("a map's URL that is an object", "{\"sourceMapUrl\":{}}", "string is expected"),
    ("a key twice", "{\"path\":\"a\",\"path\":\"b\"}", "stands here again"),
    ("a key twice, once escaped", "{\"path\":\"a\",\"\\u0070ath\":\"b\"}", "stands here again"),
    ("a path with ..", entry("../x"), "\"..\""),
    ("a path with .. inside", entry("a/../b"), "\"..\""),
    ("an absolute path", entry("/etc/passwd"), "absolute"), ("an empty path", entry(""), "empty"),
    ("a path with a backslash", entry("a\\\\b"), "backslash"),
    ("a path with NUL", entry("a\\u0000b"), "U+0000"),
    ("a path with a dot", entry("./a"), "\".\""),
    ("a path with two slashes", entry("a//b"), "empty"),
    ("a lone surrogate", entry("\\ud800"), "surrogate"),
    ("a path too long", entry(String(repeating: "a/", count: 600) + "a"), "1024"),
    ("a name too long", entry(String(repeating: "a", count: 256)), "255"),
    ("a map with ..", entry("x", ",\"sourceMap\":\"../m\",\"sourceMapUrl\":\"/m\""), "\"..\""),
    (
        "a map's URL with ..", entry("x", ",\"sourceMap\":\"m\",\"sourceMapUrl\":\"/../m\""),
        "\"..\""
    ),
    (
        "a path with two sizes", entry("x", ",\"size\":1") + "," + entry("x", ",\"size\":2"),
        "two sizes"
    ),
    (
        "a path with two hashes",
        entry("x", ",\"hash\":\"a\"") + "," + entry("x", ",\"hash\":\"b\""),
        "two hashes"
    ),
]

@Suite("Meteor manifests that are refused") struct MeteorRefusalTests {
    let context = ReleaseContext(platform: "ios")

    @Test(arguments: sentences)
    func `say so in the plugin's words`(_ refused: (name: String, text: String, message: String)) {
        let error = expectRefusal(.badRelease) {
            try MeteorFormat().read(Array(refused.text.utf8), context)
        }
        expect(error?.message, equals: refused.message)
    }

    @Test("say what is wrong in an entry, and where", arguments: entries)
    func badEntry(_ refused: (name: String, entry: String, reason: String)) {
        let words = [refused.reason, " at byte ", "(line 1, column "]
        let error = expectRefusal(.badRelease, saying: words[0], words[1], words[2]) {
            try MeteorFormat().read(MeteorFixture.manifest(refused.entry), context)
        }
        expect(error?.message.hasPrefix("Error parsing asset manifest: ") == true)
    }

    @Test(arguments: [
        ("", 0), ("[]", 0), ("null", 0), ("\"x\"", 0), ("<!DOCTYPE html><html>", 0),
        ("{\"version\":1}", 11), ("{\"format\":1}", 10), ("{\"manifest\":{}}", 12),
        ("{\"cordovaCompatibilityVersions\":[]}", 32),
        ("{\"cordovaCompatibilityVersions\":{\"ios\":1}}", 39), ("{} x", 3),
        ("{\"version\":\"1\",\"version\":\"1\"}", 15), ("{\"a\":{\"b\":1,\"b\":1}}", 12),
        ("{\"a\":01}", 5), ("{'a':1}", 1), ("{\"a\":1,}", 7), ("\u{feff}{}", 0),
    ])
    func `say at which byte they stop being JSON`(_ text: String, _ byte: Int) {
        let error = expectRefusal(saying: " at byte \(byte) ") {
            try MeteorFormat().read(Array(text.utf8), context)
        }
        expect(error?.message.hasPrefix("Error parsing asset manifest: ") == true)
    }

    @Test func `are not UTF-8, and say at which byte`() {
        for (bytes, place) in [
            ([0x80], 12), ([0xC0, 0xAF], 12), ([0xED, 0xA0, 0x80], 13), ([0xFF, 0xFE], 12),
        ] as [([UInt8], Int)] {
            let text = Array("{\"version\":\"".utf8) + bytes + Array("\"}".utf8)
            expectRefusal(saying: "not UTF-8 here at byte \(place) ") {
                try MeteorFormat().read(text, context)
            }
        }
    }

    @Test func `are nested without end, at once`() {
        for opening in ["[", "{\"a\":"] {
            let text = "{\"x\":" + String(repeating: opening, count: 2_000_000)
            expectRefusal(saying: "levels are nested at byte ") {
                try MeteorFormat().read(Array(text.utf8), context)
            }
        }
    }

    @Test func `have texts without end, with a short sentence`() {
        let huge = String(repeating: "x", count: 3_000_000)
        for text in [
            MeteorFixture.manifest(entry(huge)), MeteorFixture.manifest("", version: huge),
            MeteorFixture.manifest(MeteorFixture.asset("x", url: "/" + huge)),
            Array("{\"format\":\"\(huge)\"}".utf8),
        ] {
            let error = #expect(throws: StoreError.self) { try MeteorFormat().read(text, context) }
            expect((error?.message.utf8.count ?? .max) < 2000)
        }
    }

    @Test(arguments: ["../x", "..", "a/../b", "/etc", "a\\\\b"])
    func `call a version what is a place`(_ version: String) {
        expectRefusal(.badRelease, saying: "cannot be the name of a version") {
            try MeteorFormat().read(MeteorFixture.manifest("", version: version), context)
        }
    }

    @Test func `have a file where another needs a directory`() {
        for pair in [["a", "a/b"], ["a/b/c", "a/b"], ["index.html/x", "y"]] {
            let text = pair.enumerated().map {
                MeteorFixture.asset($0.element, url: "/\($0.offset)")
            }
            expectRefusal(saying: "is a file and the directory of") {
                try MeteorFormat().read(
                    MeteorFixture.manifest(text.joined(separator: ",")), context)
            }
        }
    }

    @Test func `have sizes that add up to more than any disk holds`() {
        let text = [1, 2].map {
            MeteorFixture.asset("\($0)", url: "/\($0)", more: ",\"size\":9223372036854775807")
        }
        #expect(throws: StoreError.self) {
            try MeteorFormat().read(MeteorFixture.manifest(text.joined(separator: ",")), context)
        }
    }

    @Test func `name more platforms than there are`() {
        let many = (0..<65).map { "\"\($0)\":\"a\"" }.joined(separator: ",")
        let text = "{\"version\":\"1\",\"cordovaCompatibilityVersions\":{\(many)},\"manifest\":[]}"
        expectRefusal(saying: "more than 64 platforms at byte ") {
            try MeteorFormat().read(Array(text.utf8), ReleaseContext())
        }
    }

    @Test func `for entries that are not the client's only the types are asked`() throws {
        let internals = """
            {"path":"../head.html","where":"internal","type":"head","hash":"x"},{"where":"other"},{}
            """
        let release = try MeteorFormat().read(MeteorFixture.manifest(internals), context)
        expect(release.files.count, equals: 1)
    }
}
