import StorageTestSupport

// Objects damaged through a tree: named with all they affect, taken away, healed by their content.

@Suite struct DamageTests {
    /// Two versions that share `a` and `run` at three places.
    private func make() throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        try temporary.add(
            "1", ["a": "shared content", "d/copy": "shared content", "run": "#!shared", "own": "1"])
        try temporary.add("2", ["moved/a": "shared content", "bin/run": "#!shared", "own": "2"])
        try temporary.add("3", ["own": "3"])
        try temporary.versions.activate("3")
        return temporary
    }

    private func places(_ findings: [Finding]) -> Set<String> {
        Set(findings.map { "\($0.version ?? "-"):\($0.path ?? "-")" })
    }

    // Moved aside by hand, or left by a writer that died: while the index still knows the version, and after it forgot it.
    @Test(arguments: [".3.old", ".3.999-0123456789abcdef"], [true, false])
    func `a needed version's hidden tree is the version where its manifest is lost`(
        _ hidden: String, collectsFirst: Bool
    ) throws {
        let temporary = try TemporaryStore(adding: "1", ["index.html": "one"])
        try temporary.add("3", ["index.html": "three", "js/app.js": "app"])
        try temporary.versions.activate("3")
        let trees = temporary.path + "/versions/"
        expect(rename(trees + "3", trees + hidden), equals: 0)
        Damage.remove(temporary.path + "/manifests/3.json")
        if collectsFirst {
            // It may refuse: it does not know what the version names.
            do { _ = try temporary.reopened().collect() } catch is StoreError {}
        }
        _ = try temporary.reopened().check(repairing: true)
        let mended = try temporary.reopened()
        try expect(readTree(trees + "3"), equals: ["index.html": "three", "js/app.js": "app"])
        try expect(mended.lifecycle().current, equals: "3")
        try expect(mended.check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test func `finds a byte flipped through a tree, and heals when the content comes again`()
        throws
    {
        let temporary = try make()
        let address = try address(of: "shared content")
        try flipByte(temporary.tree("1") + "/a", at: 7)
        chmod(temporary.tree("1") + "/a", 0o444)
        let found = try temporary.reopened().check().findings
        expect(Set(found.map(\.kind)), equals: [.damagedObject])
        expect(Set(found.map(\.object)), equals: [address])
        expect(places(found), equals: ["1:a", "1:d/copy", "2:moved/a"])
        expect(found.allSatisfy { $0.message.contains(address.description) })

        _ = try temporary.reopened().check(repairing: true)
        try expect(status(temporary.path + "/quarantine/" + address.description) != nil)
        try expect(status(temporary.objectPath(address)) == nil)
        let states = try temporary.versions.versions().map { "\($0.version) \($0.state)" }
        expect(states, equals: ["3 materialized", "2 incomplete", "1 incomplete"])
        try expect(status(temporary.tree("1")) == nil)
        try expect(temporary.versions.missing(of: "2").map(\.paths), equals: [["moved/a"]])
        expectRefusal(.incompleteVersion) { try temporary.versions.activate("1") }

        let report = try temporary.add("4", ["elsewhere": "shared content"])
        expect(report.healed.sorted(), equals: ["1", "2"])
        try expect(readTree(temporary.tree("1"))["d/copy"], equals: "shared content")
        try expect(readTree(temporary.tree("2"))["moved/a"], equals: "shared content")
        try temporary.expectClean()
        _ = try temporary.versions.store.collect()
        try temporary.expectClean()
    }

    @Test func `finds a byte flipped through an executable, names its places, and mends it`() throws
    {
        let temporary = try make()
        let address = try address(of: "#!shared")
        try flipByte(temporary.tree("2") + "/bin/run", at: 3)
        chmod(temporary.tree("2") + "/bin/run", 0o555)
        let found = try temporary.reopened().check().findings
        expect(Set(found.map(\.kind)), equals: [.damagedExecutableCopy])
        expect(Set(found.map(\.object)), equals: [address])
        expect(places(found), equals: ["1:run", "2:bin/run"])
        // The object itself is sound: nothing is lost.
        let repaired = try temporary.reopened().check(repairing: true).findings
        expect(repaired.allSatisfy { $0.isRepaired })
        try expect(readTree(temporary.tree("1"))["run"], equals: "#!shared")
        try expect(readTree(temporary.tree("2"))["bin/run"], equals: "#!shared")
        try expect(status(temporary.tree("1") + "/run")?.mode, equals: 0o555)
        try temporary.expectClean()
    }

    @Test func `mends an object whose executable copy is sound`() throws {
        let temporary = try TemporaryStore(adding: "1", ["run": "#!only here"])
        let address = try address(of: "#!only here")
        try flipByte(temporary.objectPath(address))
        _ = try temporary.reopened().check(repairing: true)
        // The executable copy has the same bytes: throwing the last good copy away would be a loss.
        try expect(temporary.versions.missing(of: "1").isEmpty)
        try expect(readTree(temporary.tree("1")), equals: ["run": "#!only here"])
    }

    // Hostile input 14. A tree of links shows what it links to, unread: a check finds it, a server does not
    // serve it, and a copy is refused.
    @Test func `serves no byte of a damaged object that is read whole`() throws {
        let temporary = try make()
        let address = try address(of: "shared content")
        try flipByte(temporary.tree("1") + "/a")
        expectRefusal(.damagedObject) { try temporary.versions.store.read(address, limit: 1 << 20) }
    }
}
