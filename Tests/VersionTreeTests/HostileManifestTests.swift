import StorageTestSupport

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

/// What is wrong, the text, and a word of the reason that must be given.
private let refused: [(name: String, text: String, reason: String)] = [
    ("empty", "", "text ends"),
    ("white space", " \n", "text ends"),
    ("null", "null", "object is expected"),
    ("a list", "[]", "object is expected"),
    ("a string", "\"x\"", "object is expected"),
    ("no object", "{}", "\"castree\" is missing"),
    ("no format", "{\"entries\":[],\"version\":\"1\"}", "\"castree\" is missing"),
    ("no version", "{\"castree\":1,\"entries\":[]}", "\"version\" is missing"),
    ("no entries", "{\"castree\":1,\"version\":\"1\"}", "\"entries\" is missing"),
    ("a newer format", "{\"castree\":2,\"entries\":[],\"version\":\"1\"}", "has format 2"),
    ("format 0", "{\"castree\":0,\"entries\":[],\"version\":\"1\"}", "has format 0"),
    (
        "a format in quotes", "{\"castree\":\"1\",\"entries\":[],\"version\":\"1\"}",
        "number is expected"
    ),
    (
        "entries as an object", "{\"castree\":1,\"entries\":{},\"version\":\"1\"}",
        "array is expected"
    ),
    ("a version that is a path", "{\"castree\":1,\"entries\":[],\"version\":\"../x\"}", "../x"),
    (
        "a version that is a number", "{\"castree\":1,\"entries\":[],\"version\":1}",
        "string is expected"
    ),
    ("something behind", manifest() + "x", "follows the value"),
    ("two documents", manifest() + manifest(), "follows the value"),
    ("a comma too many", "{\"castree\":1,\"entries\":[],\"version\":\"1\",}", "last comma"),
    ("a BOM", "\u{feff}" + manifest(), "byte order mark"),
    ("a key twice", "{\"castree\":1,\"castree\":1,\"entries\":[],\"version\":\"1\"}", "again"),
    ("entries twice", "{\"castree\":1,\"entries\":[],\"entries\":[],\"version\":\"1\"}", "again"),
    ("a foreign key twice", manifest(more: ",\"z\":1,\"z\":1"), "again"),
    ("a key twice, once escaped", manifest(more: ",\"\\u007a\":1,\"z\":1"), "again"),
    ("a foreign key twice, deep", manifest(more: ",\"z\":[{\"q\":1,\"q\":2}]"), "again"),
    ("a path key twice", manifest(entry("x", a, "1", ",\"path\":\"y\"")), "again"),
    ("the same path twice", manifest(entry("x"), entry("x")), "path \"x\" twice"),
    ("the same path with two addresses", manifest(entry("x"), entry("x", b)), "path \"x\" twice"),
    (
        "the same path twice, once escaped", manifest(entry("x"), entry("\\u0078")),
        "path \"x\" twice"
    ),
    (
        "a file and a directory", manifest(entry("a"), entry("a/b")),
        "is a file and the directory of"
    ),
    (
        "a directory and a file", manifest(entry("a/b"), entry("a")),
        "is a file and the directory of"
    ),
    (
        "a file and a directory with a! between", manifest(entry("a"), entry("a!"), entry("a/b")),
        "is a file and the directory of"
    ),
    (
        "a file and a directory, deep",
        manifest(entry("d/a"), entry("d/a!"), entry("d/a-"), entry("d/a/b/c")),
        "\"d/a\" is a file and the directory of"
    ),
    (
        "a file and a directory far apart",
        manifest(entry("a"), entry("a!/x"), entry("a-/x"), entry("a./x"), entry("a/x")),
        "is a file and the directory of"
    ),
    ("one address with two sizes", manifest(entry("x", a, "1"), entry("y", a, "2")), "two sizes"),
    (
        "sizes beyond 63 bits in sum",
        manifest(entry("x", a, "9223372036854775807"), entry("y", b, "1")), "add up"
    ),
    ("an entry without a path", manifest("{\"address\":\"\(a)\",\"bytes\":1}"), "no \"path\""),
    ("an entry without an address", manifest("{\"bytes\":1,\"path\":\"x\"}"), "no \"address\""),
    ("an entry without a size", manifest("{\"address\":\"\(a)\",\"path\":\"x\"}"), "no \"bytes\""),
    ("an entry that is a list", manifest("[]"), "object is expected"),
    ("an entry that is null", manifest("null"), "object is expected"),
    (
        "executable in quotes", manifest(entry("x", a, "1", ",\"executable\":\"true\"")),
        "true or false is expected"
    ),
    (
        "executable as a number", manifest(entry("x", a, "1", ",\"executable\":1")),
        "true or false is expected"
    ),
    (
        "a route without a slash", manifest(entry("x", a, "1", ",\"routes\":[\"x\"]")),
        "begin with \"/\""
    ),
    ("an empty route", manifest(entry("x", a, "1", ",\"routes\":[\"\"]")), "begin with \"/\""),
    ("a route with NUL", manifest(entry("x", a, "1", ",\"routes\":[\"/\\u0000\"]")), "U+0000"),
    (
        "a route twice", manifest(entry("x", a, "1", ",\"routes\":[\"/r\",\"/r\"]")),
        "route \"/r\" twice"
    ),
    (
        "a route of two entries",
        manifest(
            entry("x", a, "1", ",\"routes\":[\"/r\"]"), entry("y", a, "1", ",\"routes\":[\"/r\"]")),
        "route \"/r\" twice"
    ),
    (
        "a route that is no text", manifest(entry("x", a, "1", ",\"routes\":[1]")),
        "string is expected"
    ),
    (
        "routes that are no list", manifest(entry("x", a, "1", ",\"routes\":\"/r\"")),
        "array is expected"
    ),
    (
        "a label of an unknown digest",
        manifest(entry("x", a, "1", ",\"labels\":{\"crc\":\"00\"}")), "label \"crc\""
    ),
    (
        "a label of a wrong length", manifest(entry("x", a, "1", ",\"labels\":{\"md5\":\"00\"}")),
        "label \"md5\""
    ),
    (
        "a label in upper case",
        manifest(
            entry("x", a, "1", ",\"labels\":{\"md5\":\"\(String(repeating: "A", count: 32))\"}")),
        "label \"md5\""
    ),
    (
        "labels that are a list", manifest(entry("x", a, "1", ",\"labels\":[]")),
        "object is expected"
    ),
    ("a lone surrogate in a path", manifest(entry("\\ud800")), "surrogate"),
    ("a lone low surrogate", manifest(entry("\\udc00x")), "surrogate"),
    ("a lone surrogate in a foreign field", manifest(more: ",\"z\":\"\\ud83d\""), "surrogate"),
    ("a raw control character", manifest(entry("a\u{1}b")), "control character"),
    (
        "a negative order", "{\"castree\":1,\"entries\":[],\"order\":-1,\"version\":\"1\"}",
        "negative"
    ),
    (
        "a time with a fraction",
        "{\"castree\":1,\"createdAt\":1.5,\"entries\":[],\"version\":\"1\"}", "integer"
    ),
    ("an address of zeros", manifest(entry("x", String(repeating: "0", count: 64))), "zeros"),
    (
        "a publisher's manifest with an address of zeros",
        manifest(
            more: ",\"received\":{\"address\":\"\(String(repeating: "0", count: 64))\","
                + "\"bytes\":1,\"format\":\"x\"}"), "zeros"
    ),
]

@Suite struct HostileManifestTests {
    /// Refused, and for this reason.
    private func refuse(
        _ text: String, for reason: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let error = expectRefusal(.badManifest, sourceLocation: sourceLocation) {
            try Manifest(parsing: Array(text.utf8))
        }
        #expect(
            error?.message.contains(reason) == true, "\(error?.message ?? "")",
            sourceLocation: sourceLocation)
    }

    @Test(arguments: refused)
    func `refuses`(_ hostile: (name: String, text: String, reason: String)) {
        refuse(hostile.text, for: hostile.reason)
    }

    @Test(arguments: [
        ("-1", "negative"), ("-0", "integer"), ("1e3", "integer"), ("1.0", "integer"),
        ("1E0", "integer"), ("0x1", "'x'"), ("01", "number"), ("\"1\"", "number is expected"),
        ("NaN", "'N'"), ("Infinity", "'I'"), ("null", "number is expected"),
        ("true", "number is expected"), ("9223372036854775808", "64 bits"),
        ("18446744073709551616", "64 bits"), ("1e999999999", "integer"),
        ("[1]", "number is expected"),
    ])
    func `refuses a size that is no natural number of 63 bits`(_ size: String, _ reason: String) {
        refuse(manifest(entry("x", a, size)), for: reason)
    }

    @Test(arguments: [
        "", "a", "\(a.dropLast())", "\(a)a", a.uppercased(), "\(a.dropLast())g", "sha256:\(a)",
        "0x\(a.dropLast(2))", "\(a.dropLast()) ", String(repeating: "\u{ff11}", count: 64),
    ])
    func `refuses an address in another spelling`(_ address: String) {
        refuse(manifest(entry("x", address)), for: "64 lower-case hexadecimal digits")
    }

    @Test func `makes no manifest with an address of zeros either`() throws {
        let zeros = try require(ObjectID(String(repeating: "0", count: 64)))
        expectRefusal(.badManifest, saying: "zeros") {
            try Manifest(
                version: VersionName("1"), ordinal: 1, createdAt: 1,
                entries: [.init(path: TreePath("f"), address: zeros, byteCount: 1)])
        }
    }

    @Test(arguments: hostilePaths)
    func `refuses a hostile path`(_ hostile: (path: String, reason: String)) {
        let escaped = hostile.path.unicodeScalars.map {
            $0.value < 32 || $0 == "\\" || $0 == "\""
                ? "\\u00" + ($0.value < 16 ? "0" : "") + String($0.value, radix: 16) : String($0)
        }.joined()
        // No text of ours holds a NUL: the reader of JSON is the first to refuse it.
        let reason =
            hostile.reason == "NUL" ? "U+0000" : hostile.path.isEmpty ? "path" : hostile.reason
        refuse(manifest(entry(escaped)), for: reason)
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
            expectRefusal(.badManifest, saying: "not UTF-8") {
                try Manifest(parsing: good[..<name] + bad + good[(name + 1)...])
            }
        }
        var little: [UInt8] = [0xff, 0xfe]
        var big: [UInt8] = []
        for byte in good {
            little += [byte, 0]
            big += [0, byte]
        }
        for (bytes, reason) in [(little, "byte order mark"), (big, "UTF-16")] {
            expectRefusal(.badManifest, saying: reason) { try Manifest(parsing: bytes) }
        }
    }

    // Whatever a manifest says of its files: they are regular, and read-only.
    @Test(arguments: [
        ",\"mode\":\"4755\"", ",\"mode\":3565", ",\"type\":\"fifo\"",
        ",\"type\":\"device\",\"mode\":\"060666\",\"rdev\":2049", ",\"type\":\"socket\"",
        ",\"type\":\"symlink\",\"target\":\"/etc/passwd\"",
    ])
    func `makes regular files whatever foreign fields ask for`(_ fields: String) throws {
        let temporary = try TemporaryStore(adding: "0", ["f": "content"])
        let address = try address(of: "content").description
        let bytes = Array(
            manifest(
                entry("f", address, "7", fields),
                entry("x", address, "7", ",\"executable\":true" + fields)
            ).utf8)
        let manifest = try Manifest(parsing: bytes)
        expect(!manifest[0].foreign.isEmpty)
        try expect(temporary.versions.register(manifest))
        try temporary.versions.materialize("1")
        let seen = try snapshot(temporary.tree("1"))
        expect(seen.keys.count, equals: 2)
        expect(seen[Array("f".utf8)]?.mode, equals: 0o444)
        expect(seen[Array("x".utf8)]?.mode, equals: 0o555)
        expect(seen.values.allSatisfy { $0.content == Array("content".utf8) })
        try expect(
            status(temporary.tree("1") + "/f")?.kind == .regular
                && status(temporary.tree("1") + "/x")?.kind == .regular)
        let kept = try temporary.versions.manifest(of: "1")[0].foreign
        expect(kept.count, equals: manifest[0].foreign.count)
        for field in manifest[0].foreign { expect(kept.contains(field)) }
        try temporary.expectClean()
    }

    @Test func `takes foreign fields of any kind and an empty version`() throws {
        try expect(Manifest(parsing: Array(manifest().utf8)).count, equals: 0)
        let text = manifest(
            entry("x", a, "1", ",\"z\":{\"deep\":[null,1.5e3]}"), more: ",\"zz\":[]")
        try expect(Manifest(parsing: Array(text.utf8)).count, equals: 1)
    }

    @Test(arguments: ["[", "{\"a\":", "[[[[{\"a\":"])
    func `refuses deep nesting without running out of stack`(_ unit: String) {
        for depth in [65, 1000, 100_000] {
            let text = manifest(more: ",\"z\":" + String(repeating: unit, count: depth))
            refuse(text, for: "64 levels")
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
        try expect(Manifest(parsing: bytes).count, equals: 3)
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
        expect(paths == paths.sorted() && Set(paths).count == paths.count, comment)
        let files = Set(paths.map { Array($0.description.utf8) })
        for entry in manifest.entries {
            expect((try? TreePath(entry.path.description)) != nil, comment)
            expect(entry.byteCount >= 0, comment)
            expect(entry.routes.allSatisfy { $0.utf8.first == 47 }, comment)
            let utf8 = Array(entry.path.description.utf8)
            for end in utf8.indices where utf8[end] == 47 {
                expect(!files.contains(Array(utf8[..<end])), comment)
            }
        }
        expect((try? VersionName(manifest.version.description)) != nil, comment)
        let again = try Manifest(parsing: manifest.serialized())
        expect(Array(again.entries), equals: Array(manifest.entries), comment)
    }
}
