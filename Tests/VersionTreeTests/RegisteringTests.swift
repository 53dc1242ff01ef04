import StorageTestSupport

// A manifest may come before its content: what is missing is a question, not a state.

@Suite struct RegisteringTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try TemporaryStore() }

    private let files = ["a.txt": "alpha", "d/b.txt": "beta", "copy": "alpha", "empty": ""]

    @Test func `names what is missing, once for each object, with its paths`() throws {
        try expect(temporary.versions.register(makeManifest("1", files)), equals: false)
        let missing = try temporary.versions.missing(of: "1")
        expect(missing.map(\.paths), equals: [["a.txt", "copy"], ["d/b.txt"], ["empty"]])
        try expect(missing[0].address, equals: address(of: "alpha"))
        expect(missing.map(\.bytes), equals: [5, 4, 0])
        let row = try temporary.versions.versions()[0]
        expect(row.state, equals: .incomplete)
        expect(row.missingObjects, equals: 3)
        expect(row.files, equals: 4)
        try temporary.expectClean()
    }

    @Test func `shows nothing of an incomplete version`() throws {
        try temporary.versions.register(makeManifest("1", files))
        expectRefusal(.incompleteVersion) { try temporary.versions.materialize("1") }
        expectRefusal(.incompleteVersion) { try temporary.versions.activate("1") }
        expectRefusal(.incompleteVersion) { try temporary.versions.activateAtNextBoot("1") }
        expectRefusal(.incompleteVersion) {
            try temporary.versions.checkout("1", to: temporary.directory.appending("t"))
        }
        try expect(temporary.versions.lifecycle().current == nil)
        try expect(status(temporary.directory.appending("t")) == nil)
        try expect(status(temporary.tree("1")) == nil)
    }

    @Test func `names what has another size than it promises`() throws {
        let entry = Manifest.Entry(
            path: try TreePath("a.txt"), address: try address(of: "alpha"), byteCount: 6)
        try temporary.versions.register(
            Manifest(version: VersionName("1"), ordinal: 1, createdAt: 1, entries: [entry]))
        try temporary.add("2", ["x": "alpha"])
        let row = try require(try temporary.versions.versions().first { $0.version == "1" })
        expect(row.state == .incomplete && row.missingObjects == 1)
        let missing = try temporary.versions.missing(of: "1")
        expect(missing.map(\.paths) == [["a.txt"]] && missing.map(\.bytes) == [6])
    }

    @Test func `becomes complete when a directory brings what it is missing`() throws {
        try temporary.versions.register(makeManifest("1", files))
        let report = try temporary.add("2", ["x": "alpha", "y": "beta", "z": "", "own": "own"])
        expect(report.healed, equals: ["1"])
        expect(report.newObjects, equals: 4)
        try expect(temporary.versions.missing(of: "1").isEmpty)
        try expect(
            temporary.versions.versions().map(\.state), equals: [.materialized, .materialized])
        try expect(readTree(temporary.tree("1")), equals: files)
        try temporary.expectClean()
    }

    @Test func `survives the loss of the index, incomplete as it is`() throws {
        try temporary.versions.register(makeManifest("1", files))
        shell("rm -f \(temporary.path)/index.sqlite*")
        let versions = try temporary.reopened()
        try expect(versions.missing(of: "1").count, equals: 3)
        try expect(versions.versions().map(\.state), equals: [.incomplete])
    }

    @Test func `registers the same twice and refuses the name for other content`() throws {
        try temporary.versions.register(makeManifest("1", files))
        try temporary.versions.register(makeManifest("1", files))
        try expect(temporary.versions.versions().count, equals: 1)
        expectRefusal(.versionExists) {
            try temporary.versions.register(makeManifest("1", ["a.txt": "x"]))
        }
        expectRefusal(.versionExists) { try temporary.add("1", ["a.txt": "x"]) }
        try expect(temporary.versions.missing(of: "1").count, equals: 3)
        try temporary.expectClean()
    }

    @Test func `completes a version by adding its own content under its own name`() throws {
        try temporary.versions.register(makeManifest("1", files))
        try temporary.add("1", files)
        try expect(temporary.versions.versions().map(\.state), equals: [.materialized])
        try temporary.expectClean()
    }

    // A size that contradicts the object is found before the version is, not by every later check.
    @Test func `refuses a manifest whose size of a present object is wrong`() throws {
        let temporary = try TemporaryStore(adding: "1", ["a": "alpha"])
        let wrong = try Manifest(
            version: VersionName("2"), ordinal: 2, createdAt: 1,
            entries: [.init(path: TreePath("a"), address: address(of: "alpha"), byteCount: 6)])
        expectRefusal(.mismatch) { try temporary.versions.register(wrong) }
        try expect(temporary.versions.versions().count, equals: 1)
    }

    @Test func `never becomes complete with an object of another size`() throws {
        let wrong = try Manifest(
            version: VersionName("2"), ordinal: 2, createdAt: 1,
            entries: [.init(path: TreePath("a"), address: address(of: "alpha"), byteCount: 6)])
        try expect(temporary.versions.register(wrong), equals: false)
        // The wrong promise does not keep the right one out.
        try expect(temporary.versions.register(makeManifest("3", ["b": "alpha"])), equals: false)
        try expect(temporary.versions.missing(of: "2").map(\.bytes), equals: [6])
        try expect(temporary.versions.missing(of: "3").map(\.bytes), equals: [5])
        try temporary.add("1", ["a": "alpha"])
        func states() throws -> [VersionState] {
            let known = try temporary.reopened().versions()
            return ["1", "2", "3"].compactMap { name in
                known.first { $0.version == name }?.state
            }
        }
        try expect(states(), equals: [.materialized, .incomplete, .materialized])
        expectRefusal(.incompleteVersion, saying: "size") {
            try temporary.versions.materialize("2")
        }
        func problems() throws -> [Finding.Kind] {
            try temporary.reopened().check(CheckOptions(isDeep: true)).findings.map(\.kind)
        }
        try expect(
            temporary.versions.check(repairing: true).findings.filter { !$0.isRepaired }
                .map(\.kind), equals: [.falseManifest])
        try expect(problems(), equals: [.falseManifest])
        // Nor when the index is made again, and the collector is not kept from its work.
        shell("rm -f \(temporary.path)/index.sqlite*")
        try expect(states(), equals: [.materialized, .incomplete, .materialized])
        try expect(temporary.reopened().store.collect().objectCount, equals: 0)
        try expect(problems(), equals: [.falseManifest])
        try temporary.versions.retire("2")
        try temporary.expectClean()
    }

    @Test func `keeps routes, labels and foreign fields of a registered manifest`() throws {
        let label = try require(Label(.md5, hex: String(repeating: "0", count: 32)))
        let made = try Manifest(
            version: VersionName("1"), ordinal: 5, createdAt: 6,
            entries: [
                .init(
                    path: TreePath("a"), address: address(of: "alpha"), byteCount: 5,
                    routes: ["/", "/home"], labels: [label],
                    foreign: [.init(key: "k", value: .string("v"))])
            ], foreign: [.init(key: "zz", value: .null)])
        try temporary.versions.register(made)
        try expect(temporary.reopened().manifest(of: "1").serialized(), equals: made.serialized())
        try expect(temporary.versions.missing(of: "1").map(\.label), equals: [label])
    }

    @Test func `orders versions by their ordinal, whatever the clock says`() throws {
        var options = AddOptions()
        for (name, time) in [("a", Int64(4_000_000_000)), ("b", 1), ("c", 2)] {
            try writeTree(temporary.directory.appending(name), ["f": name])
            options.createdAt = time
            _ = try temporary.versions.add(
                directory: temporary.directory.appending(name), version: name, options: options)
        }
        try expect(temporary.versions.versions().map(\.version), equals: ["c", "b", "a"])
        try expect(temporary.versions.versions().map(\.createdAt), equals: [2, 1, 4_000_000_000])
    }

    @Test func `counts what a version shares with others, and nothing else`() throws {
        try temporary.add("1", ["a": "twelve bytes", "copy": "twelve bytes"])
        let row = try temporary.versions.versions()[0]
        expect(row.bytes, equals: 24)
        expect(row.uniqueBytes, equals: 12)
        try expect(temporary.versions.usage()[0].sharedBytes, equals: 0)
    }
}
