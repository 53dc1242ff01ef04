import StorageTestSupport

// The canonical bytes of a manifest, and what survives being read and written.

private let x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"  // "x"
private let y = "a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"  // "y"

/// The golden file: what every castree from now on must write, byte for byte.
private let golden = """
    {"castree":1,"createdAt":1700000000,"entries":[\
    {"address":"\(x)","bytes":1,"executable":true,"path":"bin/run.sh"},\
    {"address":"\(y)","bytes":1,"labels":{"md5":"415290769594460e2e485922904f345d",\
    "sha1":"95cb0bfd2977c761298d9624e4b4d4c72a39974a"},"path":"caf\u{e9}/line\\nbreak\\t\\"q\\"",\
    "routes":["/b","/a"]},\
    {"address":"\(x)","bytes":1,"path":"z"}],"order":7,"version":"1.0"}
    """

@Suite struct ManifestTests {
    private func parsed(_ text: String) throws -> Manifest {
        try Manifest(parsing: Array(text.utf8))
    }

    private func text(_ manifest: Manifest) throws -> String {
        String(decoding: try manifest.serialized(), as: UTF8.self)
    }

    @Test func `writes the golden bytes`() throws {
        let address = try require(ObjectID(x))
        let other = try require(ObjectID(y))
        let manifest = try Manifest(
            version: VersionName("1.0"), ordinal: 7, createdAt: 1_700_000_000,
            entries: [
                .init(path: TreePath("z"), address: address, byteCount: 1),
                .init(
                    path: TreePath("caf\u{e9}/line\nbreak\t\"q\""), address: other, byteCount: 1,
                    routes: ["/b", "/a"],
                    labels: [
                        try require(Label(.sha1, hex: "95cb0bfd2977c761298d9624e4b4d4c72a39974a")),
                        try require(Label(.md5, hex: "415290769594460e2e485922904f345d")),
                    ]),
                .init(
                    path: TreePath("bin/run.sh"), address: address, byteCount: 1, isExecutable: true
                ),
            ])
        try expect(text(manifest), equals: golden)
    }

    @Test func `reads the golden bytes and writes them again`() throws {
        let manifest = try parsed(golden)
        try expect(text(manifest), equals: golden)
        expect(manifest.version.description, equals: "1.0")
        expect(manifest.ordinal, equals: 7)
        expect(manifest.createdAt, equals: 1_700_000_000)
        expect(manifest.byteCount, equals: 3)
        expect(
            manifest.entries.map(\.path.description),
            equals: ["bin/run.sh", "caf\u{e9}/line\nbreak\t\"q\"", "z"])
        expect(manifest[0].isExecutable)
        expect(manifest[1].routes, equals: ["/b", "/a"])
        expect(manifest[1].labels.count, equals: 2)
        try expect(manifest[TreePath("z")]?.address.description, equals: x)
        try expect(manifest[TreePath("y")] == nil)
    }

    @Test func `means the same in any order and with any white space`() throws {
        let loose = """
            { "version" : "1.0", "order":7 ,
              "entries": [ {"path":"z","bytes":1,"address":"\(x)"},
               {"routes":["/b","/a"],"path":"caf\\u00e9/line\\u000abreak\\t\\u0022q\\"",
                "labels":{"sha1":"95cb0bfd2977c761298d9624e4b4d4c72a39974a",
                "md5":"415290769594460e2e485922904f345d"},"bytes":1,"address":"\(y)"},
               {"path":"bin\\/run.sh","executable":true,"address":"\(x)","bytes":1} ],
              "createdAt":1700000000, "castree":1 }
            """
        try expect(text(try parsed(loose)), equals: golden)
    }

    // RFC 8785 §3.2.3: keys sorted by UTF-16 code units; the RFC's own example.
    @Test func `keeps foreign fields at the top, sorted as RFC 8785 says`() throws {
        let canonical = """
            {"\\r":"Carriage Return","1":"One","castree":1,"createdAt":0,"entries":[],"order":0,\
            "version":"1","zz":{"a":[1,2,{"b":null}],"z":true},\
            "\u{80}":"Control","\u{f6}":"Latin","\u{20ac}":"Euro","\u{1f600}":"Emoji","\u{fb33}":"Hebrew"}
            """
        try expect(text(try parsed(canonical)), equals: canonical)
        try expect(parsed(canonical).foreign.count, equals: 8)
    }

    @Test func `keeps foreign fields of an entry in their place`() throws {
        let canonical = """
            {"castree":1,"createdAt":0,"entries":[{"address":"\(x)","bytes":1,"contentType":"text/html",\
            "path":"a","sourceMap":{"url":"/a.map"},"zip":[1,-2,"3"]}],"order":0,"version":"1"}
            """
        let manifest = try parsed(canonical)
        expect(manifest[0].foreign.map(\.key), equals: ["contentType", "sourceMap", "zip"])
        try expect(text(manifest), equals: canonical)
    }

    @Test func `keeps two foreign fields that are canonical twins apart`() throws {
        let canonical =
            "{\"castree\":1,\"createdAt\":0,\"entries\":[],\"e\u{301}\":\"decomposed\",\"order\":0,"
            + "\"version\":\"1\",\"\u{e9}\":\"composed\"}"
        let result = Array(try text(try parsed(canonical)).utf8)
        expect(result, equals: Array(canonical.utf8))
    }

    @Test(arguments: [["a", "a"], ["version"], ["entries"], ["received"]])
    func `is not made with foreign fields that nobody could read again`(keys: [String]) throws {
        let foreign = keys.map { JSONValue.Member(key: $0, value: .bool(true)) }
        #expect(throws: StoreError.self) {
            try Manifest(
                version: VersionName("1"), ordinal: 0, createdAt: 0, entries: [], foreign: foreign)
        }
    }

    @Test(arguments: [["a", "a"], ["path"], ["routes"]])
    func `is not made with such fields of an entry either`(keys: [String]) throws {
        let address = try require(ObjectID(x))
        var entry = Manifest.Entry(path: try TreePath("z"), address: address, byteCount: 1)
        entry.foreign = keys.map { JSONValue.Member(key: $0, value: .bool(true)) }
        #expect(throws: StoreError.self) {
            try Manifest(version: VersionName("1"), ordinal: 0, createdAt: 0, entries: [entry])
        }
    }

    @Test func `survives being written and read, whatever it holds`() throws {
        var random = SeededRandom(seed: 77)
        for _ in 0..<40 {
            let count = Int.random(in: 0...50, using: &random)
            var entries: [Manifest.Entry] = []
            for index in 0..<count {
                var path = "d\(index % 7)/"
                for _ in 0..<Int.random(in: 1...12, using: &random) {
                    let scalar =
                        Unicode.Scalar(UInt32.random(in: 1...0x2fff, using: &random)) ?? "x"
                    if scalar != "/" && scalar != "\\" { path.unicodeScalars.append(scalar) }
                }
                path += "\(index)"
                entries.append(
                    .init(
                        path: try TreePath(path), address: try address(of: "\(index)"),
                        byteCount: Int64(index), isExecutable: Bool.random(using: &random),
                        routes: Bool.random(using: &random)
                            ? ["/r\(index)", "/q\u{e9}\(index)"] : [],
                        foreign: index % 5 == 0
                            ? [.init(key: "k\u{1f600}", value: .string(path))] : []))
            }
            let manifest = try Manifest(
                version: VersionName("1"), ordinal: 3, createdAt: 4,
                entries: entries.shuffled(using: &random))
            let bytes = try manifest.serialized()
            let again = try Manifest(parsing: bytes)
            try expect(again.serialized(), equals: bytes)
            expect(Array(again.entries), equals: Array(manifest.entries))
            try expect(again.contentAddress(), equals: manifest.contentAddress())
        }
    }

    @Test func `addresses content whatever the version is called and when it was made`() throws {
        let first = try makeManifest("1", ["a": "x", "b": "y"], ordinal: 1, createdAt: 1)
        let second = try makeManifest("other", ["b": "y", "a": "x"], ordinal: 9, createdAt: 9)
        let swapped = try makeManifest("1", ["a": "y", "b": "x"], ordinal: 1, createdAt: 1)
        try expect(first.contentAddress(), equals: second.contentAddress())
        try expect(first.contentAddress() != swapped.contentAddress())
    }

    @Test func `reads a hundred thousand entries and writes them again`() throws {
        var text = "{\"castree\":1,\"createdAt\":1,\"entries\":["
        for index in 0..<100_000 {
            let digits = String(repeating: "0", count: 6 - "\(index)".count) + "\(index)"
            let padded = String(repeating: "a", count: 58) + digits
            text +=
                (index > 0 ? "," : "")
                + "{\"address\":\"\(padded)\",\"bytes\":\(index),\"path\":\"assets/d\(digits.prefix(3))/f\(digits).js\"}"
        }
        text += "],\"order\":1,\"version\":\"1\"}"
        let bytes = Array(text.utf8)
        let manifest = try Manifest(parsing: bytes)
        expect(manifest.count, equals: 100_000)
        expect(manifest.byteCount, equals: 100_000 * 99_999 / 2)
        try expect(manifest.serialized(), equals: bytes)
        try expect(manifest[TreePath("assets/d099/f099999.js")]?.byteCount, equals: 99_999)
    }
}
