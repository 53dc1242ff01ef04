import StorageTestSupport

// A tree is shown only while its version stands, and a start is judged only while it is the one that runs.

@Suite(.serialized) struct TreeRaceTests {
    private let files = ["a": "one", "d/b": "two"]

    @Test func `no tree stays of a version that is retired while it is built`() throws {
        try interleave { temporary in
            try temporary.add("0", ["other": "content"])
            try temporary.add("1", files)
            try temporary.versions.fileSystem.removeTree(
                temporary.versions.directories.versions.raw, "1")
        } main: { (versions, _) in
            do throws(StoreError) {
                try versions.materialize("1")
            } catch {
                expect(error.code, equals: .noVersion)
            }
        } other: { (versions, _) in
            try versions.retire("1")
        } verify: { (temporary, position) throws in
            try expect(status(temporary.tree("1")) == nil, "\(position)")
            try expect(temporary.versions.check().findings, equals: [], "\(position)")
        }
    }

    @Test func `a version that is activated is whole, or the activation is refused`() throws {
        try interleave { temporary in
            try temporary.add("0", ["other": "content"])
            try temporary.add("1", files)
        } main: { (versions, _) in
            do throws(StoreError) {
                try versions.activate("1")
            } catch {
                expect(error.code, equals: .noVersion)
            }
        } other: { (versions, _) in
            do throws(StoreError) {
                try versions.retire("1")
            } catch {
                expect(error.code, equals: .versionInUse)
            }
        } verify: { (temporary, position) throws in
            if try temporary.versions.lifecycle().current == "1" {
                try expect(readTree(temporary.tree("1")), equals: files, "\(position)")
            } else {
                try expect(status(temporary.tree("1")) == nil, "\(position)")
            }
            try expect(temporary.versions.check().findings, equals: [], "\(position)")
        }
    }

    @Test(arguments: ["retired", "retired and collected", "replaced"])
    func `an add that completes another version is done, though that one is meanwhile`(
        what: String
    ) throws {
        try interleave { temporary in
            try temporary.add("0", ["other": "content"])
            try temporary.add("1", files)
            Damage.remove(temporary.objectPath(try address(of: "one")))
            _ = try temporary.versions.check(repairing: true)
            try writeTree(temporary.directory.appending("mine"), ["mine": "one"])
        } main: { (versions, temporary) in
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "2")
        } other: { (versions, temporary) in
            try versions.retire("1")
            if what != "retired" { _ = try versions.store.collect() }
            guard what == "replaced" else { return }
            let source = temporary.directory.appending("replacement")
            try writeTree(source, ["a": "one", "e": "three"])
            _ = try versions.add(directory: source, version: "1")
        } verify: { (temporary, position) throws in
            try expect(readTree(temporary.tree("2")), equals: ["mine": "one"], "\(position)")
            if what == "replaced" {
                let replaced = ["a": "one", "e": "three"]
                try expect(readTree(temporary.tree("1")), equals: replaced, "\(position)")
            }
            try expect(temporary.versions.check().findings, equals: [], "\(position)")
        }
    }

    @Test(arguments: ["confirmed", "left"])
    func `who judges a start late leaves alone what others have decided`(how: String) throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        for version in ["1", "2", "3"] { try temporary.add(version, ["a": version]) }
        try versions.makeKnownGood("1")
        try versions.activate("2")
        let start = try versions.boot()
        if how == "confirmed" {
            try versions.confirm("2", token: start.token)
        } else {
            try versions.activate("3")
        }
        let before = try versions.lifecycle()
        let left = try versions.leave(
            .unconfirmed(start.version, token: start.token, reason: "too late"))
        expect(left == nil)
        try expect(versions.lifecycle(), equals: before)
    }

    @Test(arguments: [1, 2])
    func
        `a start that nobody has decided is left, and its content banned with the last failed attempt`(
            failedAttempts: Int
        ) throws
    {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        for version in ["1", "2"] { try temporary.add(version, ["a": version]) }
        try versions.makeKnownGood("1")
        try versions.activate("2")
        let start = try versions.boot()
        let left = try versions.leave(
            .unconfirmed(start.version, token: start.token, reason: "too late"),
            failedAttempts: failedAttempts)
        expect(left?.current == "1" && left?.from == "2")
        let lifecycle = try versions.lifecycle()
        expect(lifecycle.bad.map(\.version), equals: (failedAttempts == 1 ? ["2"] : []))
        expect(lifecycle.pending, equals: (failedAttempts == 1 ? nil : "2"))
    }

    @Test func `the lifecycle forgets a version before the version is forgotten`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        for version in ["1", "2"] {
            try temporary.add(version, ["a": version])
            try versions.makeKnownGood(version)
        }
        let seen = Shared(false)
        let disk = InterposedFileSystem { (verb, file) in
            guard verb == "remove", file == "1.json" else { return }
            let lifecycle = try? temporary.versions.lifecycle()
            seen.with { $0 = lifecycle?.knownGood == ["2"] }
        }
        let other = try temporary.opened(on: disk)
        try other.retire("1")
        expect(seen.with { $0 })
    }
}
