import StorageTestSupport

// How large a manifest may be (DESIGN.md, "Manifest, byte by byte"): what is written can be read again.

@Suite struct ManifestLimitTests {
    private func serialized(_ temporary: TemporaryStore, _ name: String) throws -> Int {
        try readBytes(temporary.path + "/manifests/\(name).json").count
    }

    /// The file of version 1 with zeros behind it: as long as a limit, and nothing to write.
    private func lengthened(to byteCount: Int) throws -> TemporaryStore {
        let temporary = try TemporaryStore(adding: "1", ["f": "1"])
        let path = temporary.path + "/manifests/1.json"
        chmod(path, 0o644)
        expect(truncate(path, off_t(byteCount)), equals: 0)
        return temporary
    }

    @Test func `promises space for 4,000,000 entries`() {
        expect(Manifest.countMax, equals: 4_000_000)
        // {"address":"…","bytes":…,"path":"…"}, and a comma
        let entry = 12 + 64 + 2 + 8 + 10 + 8 + 2 + 2
        expect(Manifest.byteCountMax / Manifest.countMax - entry >= 150)
    }

    @Test(arguments: [300 << 20, Manifest.byteCountMax])
    func `reads a file of any size that may be written`(_ byteCount: Int) throws {
        let temporary = try lengthened(to: byteCount)
        let error = expectRefusal(.badManifest) { try temporary.reopened().manifest(of: "1") }
        // What is wrong with it is the zeros, not the length.
        expect(
            error?.message.contains("follows the value"), equals: true, "\(error?.message ?? "")")
    }

    @Test func `reads no longer one`() throws {
        let temporary = try lengthened(to: Manifest.byteCountMax + 1)
        expectRefusal(.tooLarge, saying: "\(Manifest.byteCountMax)") {
            try temporary.reopened().manifest(of: "1")
        }
    }

    @Test func `adds what can just be read, and nothing of what cannot`() throws {
        let temporary = try TemporaryStore()
        let files = Dictionary(
            uniqueKeysWithValues: (0..<300).map { ("directory/file-\($0)", "\($0)") })
        try temporary.add("1", files)
        let byteCount = try serialized(temporary, "1")
        let tight = temporary.versions.limited(to: .init(byteCount: byteCount))
        let source = temporary.directory.appending("source-1")
        try tight.add(directory: source, version: "2")
        try expect(serialized(temporary, "2"), equals: byteCount)
        try expect(temporary.reopened().manifest(of: "2").count, equals: 300)

        try writeFile(source + "/new", "not yet here")
        expectRefusal(.tooLarge, saying: "version 3", "\(byteCount) bytes") {
            try tight.add(directory: source, version: "3")
        }
        try expect(temporary.versions.versions().map(\.version).sorted(), equals: ["1", "2"])
        try expect(snapshot(temporary.path + "/manifests").count, equals: 2)
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try expect(temporary.versions.store.contains(address(of: "not yet here")), equals: false)
        try temporary.expectClean()
    }

    @Test func `registers and revises nothing that cannot be read`() throws {
        let temporary = try TemporaryStore()
        let tight = temporary.versions.limited(to: .init(byteCount: 400))
        let manifest = try makeManifest("1", ["a": "1", "b": "2"])
        try expect(tight.register(manifest), equals: false)
        let larger = try makeManifest("1", ["a": "1", "b": "2", "c": "3", "d": "4"])
        expectRefusal(.tooLarge) { try tight.revise(larger) }
        expectRefusal(.tooLarge) {
            try tight.register(makeManifest("2", ["a": "1", "b": "2", "c": "3", "d": "4"]))
        }
        try expect(temporary.reopened().manifest(of: "1").count, equals: 2)
        try expect(snapshot(temporary.path + "/manifests").count, equals: 1)
    }

    @Test func `counts entries on both sides`() throws {
        let three = try makeManifest("1", ["a": "1", "b": "2", "c": "3"]).serialized()
        let four = try makeManifest("1", ["a": "1", "b": "2", "c": "3", "d": "4"]).serialized()
        let limits = Manifest.Limits(count: 3)
        try expect(Manifest(parsing: three, limits: limits).count, equals: 3)
        expectRefusal(.badManifest, saying: "more than 3 entries") {
            try Manifest(parsing: four, limits: limits)
        }

        let temporary = try TemporaryStore()
        let tight = temporary.versions.limited(to: limits)
        let source = temporary.directory.appending("source")
        try writeTree(source, ["a": "1", "d/b": "2", "d/c": "3"])
        try expect(tight.add(directory: source, version: "1").files, equals: 3)
        try writeTree(source, ["e/d": "4"])
        for follows in [false, true] {
            var options = AddOptions()
            options.followsLinks = follows
            expectRefusal(.unsupportedFile, saying: "more than 3 files") {
                try tight.add(directory: source, version: "2", options: options)
            }
        }
        try temporary.expectClean()
    }

    private func nested(_ depth: Int) -> JSONValue {
        (0..<depth).reduce(.null) { inner, _ in .array([inner]) }
    }

    private func manifest(
        foreign: [JSONValue.Member] = [], ofEntry: [JSONValue.Member] = []
    ) throws -> Manifest {
        try Manifest(
            version: VersionName("1"), ordinal: 1, createdAt: 1,
            entries: [
                .init(
                    path: TreePath("f"), address: address(of: "1"), byteCount: 1, foreign: ofEntry)
            ], foreign: foreign)
    }

    // A manifest nests 64 deep: itself, the entries, an entry, and what a stranger adds.
    @Test func `takes foreign fields as deep as they are read, and no deeper`() throws {
        let deepest = try manifest(
            foreign: [.init(key: "z", value: nested(63))],
            ofEntry: [.init(key: "z", value: nested(61))])
        try expect(Manifest(parsing: deepest.serialized()).foreign.count, equals: 1)
        for (top, entry) in [(64, 1), (1, 62)] {
            expectRefusal(.badManifest, saying: "nests too deep") {
                try manifest(
                    foreign: [.init(key: "z", value: nested(top))],
                    ofEntry: [.init(key: "y", value: nested(entry))])
            }
        }
    }

    @Test(arguments: [
        JSONValue.string("a\0"), .array([.string("\0")]),
        .object([.init(key: "\0", value: .null)]),
    ])
    func `takes no foreign field with a NUL, which nobody reads`(_ value: JSONValue) throws {
        expectRefusal(.badManifest, saying: "NUL") {
            try manifest(foreign: [.init(key: "z", value: value)])
        }
        let temporary = try TemporaryStore()
        var options = AddOptions()
        options.foreign = [.init(key: "z", value: value)]
        let source = temporary.directory.appending("source")
        try writeTree(source, ["f": "1"])
        expectRefusal(.badManifest) {
            try temporary.versions.add(directory: source, version: "1", options: options)
        }
        try expect(temporary.versions.versions().isEmpty)
        try temporary.expectClean()
    }
}
