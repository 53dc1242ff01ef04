import CASStore
import StorageTestSupport
import Testing
import VersionTree

// Manifests from strangers: each is refused as a whole, or is a manifest that keeps the rules.

private let a = String(repeating: "a", count: 64)
private let b = String(repeating: "b", count: 64)

private func entry(
    _ path: String, _ address: String = a, _ bytes: String = "1", _ more: String = ""
) -> String {
    "{\"address\":\"\(address)\",\"bytes\":\(bytes),\"path\":\"\(path)\"\(more)}"
}

private func manifest(_ entries: String..., more: String = "") -> String {
    "{\"castree\":1,\"createdAt\":1,\"entries\":[\(entries.joined(separator: ","))],\"order\":1,"
        + "\"version\":\"1\"\(more)}"
}

private let refused: [String: String] = [
    "empty": "", "white space": " \n", "null": "null", "a list": "[]", "a string": "\"x\"",
    "no object": "{}", "no format": "{\"entries\":[],\"version\":\"1\"}",
    "no version": "{\"castree\":1,\"entries\":[]}",
    "no entries": "{\"castree\":1,\"version\":\"1\"}",
    "a newer format": "{\"castree\":2,\"entries\":[],\"version\":\"1\"}",
    "format 0": "{\"castree\":0,\"entries\":[],\"version\":\"1\"}",
    "a format in quotes": "{\"castree\":\"1\",\"entries\":[],\"version\":\"1\"}",
    "entries as an object": "{\"castree\":1,\"entries\":{},\"version\":\"1\"}",
    "a version that is a path": "{\"castree\":1,\"entries\":[],\"version\":\"../x\"}",
    "a version that is a number": "{\"castree\":1,\"entries\":[],\"version\":1}",
    "something behind": manifest() + "x", "two documents": manifest() + manifest(),
    "a comma too many": "{\"castree\":1,\"entries\":[],\"version\":\"1\",}",
    "a BOM": "\u{feff}" + manifest(),
    "a key twice": "{\"castree\":1,\"castree\":1,\"entries\":[],\"version\":\"1\"}",
    "entries twice": "{\"castree\":1,\"entries\":[],\"entries\":[],\"version\":\"1\"}",
    "a foreign key twice": manifest(more: ",\"z\":1,\"z\":1"),
    "a key twice, once escaped": manifest(more: ",\"\\u007a\":1,\"z\":1"),
    "a foreign key twice, deep": manifest(more: ",\"z\":[{\"q\":1,\"q\":2}]"),
    "a path key twice": manifest(entry("x", a, "1", ",\"path\":\"y\"")),
    "the same path twice": manifest(entry("x"), entry("x")),
    "the same path with two addresses": manifest(entry("x"), entry("x", b)),
    "the same path twice, once escaped": manifest(entry("x"), entry("\\u0078")),
    "a file and a directory": manifest(entry("a"), entry("a/b")),
    "a directory and a file": manifest(entry("a/b"), entry("a")),
    "a file and a directory with a! between": manifest(entry("a"), entry("a!"), entry("a/b")),
    "a file and a directory, deep": manifest(
        entry("d/a"), entry("d/a!"), entry("d/a-"), entry("d/a/b/c")),
    "a file and a directory far apart": manifest(
        entry("a"), entry("a!/x"), entry("a-/x"), entry("a./x"), entry("a/x")),
    "one address with two sizes": manifest(entry("x", a, "1"), entry("y", a, "2")),
    "sizes beyond 63 bits in sum": manifest(
        entry("x", a, "9223372036854775807"), entry("y", b, "1")),
    "an entry without a path": manifest("{\"address\":\"\(a)\",\"bytes\":1}"),
    "an entry without an address": manifest("{\"bytes\":1,\"path\":\"x\"}"),
    "an entry without a size": manifest("{\"address\":\"\(a)\",\"path\":\"x\"}"),
    "an entry that is a list": manifest("[]"), "an entry that is null": manifest("null"),
    "executable in quotes": manifest(entry("x", a, "1", ",\"executable\":\"true\"")),
    "executable as a number": manifest(entry("x", a, "1", ",\"executable\":1")),
    "a route without a slash": manifest(entry("x", a, "1", ",\"routes\":[\"x\"]")),
    "an empty route": manifest(entry("x", a, "1", ",\"routes\":[\"\"]")),
    "a route with NUL": manifest(entry("x", a, "1", ",\"routes\":[\"/\\u0000\"]")),
    "a route twice": manifest(entry("x", a, "1", ",\"routes\":[\"/r\",\"/r\"]")),
    "a route of two entries": manifest(
        entry("x", a, "1", ",\"routes\":[\"/r\"]"), entry("y", a, "1", ",\"routes\":[\"/r\"]")),
    "a route that is no text": manifest(entry("x", a, "1", ",\"routes\":[1]")),
    "routes that are no list": manifest(entry("x", a, "1", ",\"routes\":\"/r\"")),
    "a label of an unknown digest": manifest(entry("x", a, "1", ",\"labels\":{\"crc\":\"00\"}")),
    "a label of a wrong length": manifest(entry("x", a, "1", ",\"labels\":{\"md5\":\"00\"}")),
    "a label in upper case": manifest(
        entry("x", a, "1", ",\"labels\":{\"md5\":\"\(String(repeating: "A", count: 32))\"}")),
    "labels that are a list": manifest(entry("x", a, "1", ",\"labels\":[]")),
    "a lone surrogate in a path": manifest(entry("\\ud800")),
    "a lone low surrogate": manifest(entry("\\udc00x")),
    "a lone surrogate in a foreign field": manifest(more: ",\"z\":\"\\ud83d\""),
    "a raw control character": manifest(entry("a\u{1}b")),
    "a negative order": "{\"castree\":1,\"entries\":[],\"order\":-1,\"version\":\"1\"}",
    "a time with a fraction": "{\"castree\":1,\"createdAt\":1.5,\"entries\":[],\"version\":\"1\"}",
]

@Suite struct HostileManifestTests {
    @Test(arguments: refused.sorted { $0.key < $1.key })
    func `refuses`(_ hostile: (key: String, value: String)) {
        expectRefusal(.badManifest, "\(hostile.key)") {
            try Manifest(parsing: Array(hostile.value.utf8))
        }
    }

    @Test(arguments: [
        "-1", "-0", "1e3", "1.0", "1E0", "0x1", "01", "\"1\"", "NaN", "Infinity", "null", "true",
        "9223372036854775808", "18446744073709551616", "1e999999999", "[1]",
    ])
    func `refuses a size that is no natural number of 63 bits`(_ size: String) {
        expectRefusal(.badManifest) {
            try Manifest(parsing: Array(manifest(entry("x", a, size)).utf8))
        }
    }

    @Test(arguments: [
        "", "a", String(a.dropLast()), a + "a", a.uppercased(), String(a.dropLast()) + "g",
        "sha256:" + a, "0x" + a.dropLast(2), String(a.dropLast()) + " ",
        String(repeating: "\u{ff11}", count: 64),
    ])
    func `refuses an address in another spelling`(_ address: String) {
        expectRefusal(.badManifest) {
            try Manifest(parsing: Array(manifest(entry("x", address)).utf8))
        }
    }

    @Test(arguments: hostilePaths)
    func `refuses a hostile path`(_ hostile: (path: String, reason: String)) {
        let escaped = hostile.path.unicodeScalars.map {
            $0.value < 32 || $0 == "\\" || $0 == "\""
                ? "\\u00" + ($0.value < 16 ? "0" : "") + String($0.value, radix: 16) : String($0)
        }.joined()
        expectRefusal(.badManifest) { try Manifest(parsing: Array(manifest(entry(escaped)).utf8)) }
    }

    @Test func `refuses bytes that are not UTF-8, and UTF-16`() {
        let good = Array(manifest(entry("xyz")).utf8)
        let bads: [[UInt8]] = [
            [0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xe2, 0x82],
            [0x80],
        ]
        for bad in bads {
            guard let name = good.indices.first(where: { good[$0] == 120 && good[$0 + 1] == 121 })
            else {
                Issue.record("the text has no xyz")
                return
            }
            expectRefusal(.badManifest) {
                try Manifest(parsing: good[..<name] + bad + good[(name + 1)...])
            }
        }
        var little: [UInt8] = [0xff, 0xfe]
        var big: [UInt8] = []
        for byte in good {
            little += [byte, 0]
            big += [0, byte]
        }
        expectRefusal(.badManifest) { try Manifest(parsing: little) }
        expectRefusal(.badManifest) { try Manifest(parsing: big) }
    }

    @Test func `takes foreign fields of any kind and an empty version`() throws {
        #expect(try Manifest(parsing: Array(manifest().utf8)).count == 0)
        let text = manifest(
            entry("x", a, "1", ",\"z\":{\"deep\":[null,1.5e3]}"), more: ",\"zz\":[]")
        #expect(try Manifest(parsing: Array(text.utf8)).count == 1)
    }

    @Test(arguments: ["[", "{\"a\":", "[[[[{\"a\":"])
    func `refuses deep nesting without running out of stack`(_ unit: String) {
        for depth in [65, 1000, 100_000] {
            let text = manifest(more: ",\"z\":" + String(repeating: unit, count: depth))
            expectRefusal(.badManifest) { try Manifest(parsing: Array(text.utf8)) }
        }
    }

    private var sample: [UInt8] {
        get throws {
            Array(
                manifest(
                    entry("bin/run", a, "12", ",\"executable\":true"),
                    entry("caf\u{e9}/\\n", b, "3", ",\"routes\":[\"/a\",\"/b\"]"),
                    entry("z", a, "12", ",\"labels\":{\"md5\":\"\(a.prefix(32))\"}"),
                    more: ",\"zz\":{\"k\":[1,\"\\u00e9\"]}"
                ).utf8)
        }
    }

    @Test func `refuses a manifest that is cut, at every length`() throws {
        let bytes = try sample
        #expect(try Manifest(parsing: bytes).count == 3)
        for length in 0..<bytes.count {
            expectRefusal(.badManifest, "cut at \(length)") {
                try Manifest(parsing: Array(bytes.prefix(length)))
            }
        }
    }

    @Test func `keeps the rules with any bit flipped`() throws {
        let bytes = try sample
        for position in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[position] ^= 1 << bit
                guard let manifest = try? Manifest(parsing: flipped) else { continue }
                try expectRules(manifest, "byte \(position) bit \(bit)")
            }
        }
    }

    /// Every rule that a manifest promises, tried from outside.
    private func expectRules(_ manifest: Manifest, _ comment: Comment) throws {
        let paths = manifest.entries.map(\.path)
        #expect(paths == paths.sorted() && Set(paths).count == paths.count, comment)
        let files = Set(paths.map { Array($0.description.utf8) })
        for entry in manifest.entries {
            #expect((try? TreePath(entry.path.description)) != nil, comment)
            #expect(entry.byteCount >= 0, comment)
            #expect(entry.routes.allSatisfy { $0.utf8.first == 47 }, comment)
            let utf8 = Array(entry.path.description.utf8)
            for end in utf8.indices where utf8[end] == 47 {
                #expect(!files.contains(Array(utf8[..<end])), comment)
            }
        }
        #expect((try? VersionName(manifest.version.description)) != nil, comment)
        let again = try Manifest(parsing: manifest.serialized())
        #expect(Array(again.entries) == Array(manifest.entries), comment)
    }
}
