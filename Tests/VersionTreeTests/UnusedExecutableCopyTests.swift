import StorageTestSupport

// The executable copies of objects (DESIGN.md, "Collecting"): there while a tree links to them.

@Suite struct UnusedExecutableCopyTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try add("1", executable: true)
    }

    private let script = "#!/bin/sh\nexit 0\n"

    /// Versions that show `tool` as executable, or as a plain file with the same bytes.
    private func add(_ name: String, executable: Bool) throws {
        let source = temporary.directory.appending("source-\(name)")
        try writeFile(source + "/tool", script, mode: executable ? 0o755 : 0o644)
        try writeFile(source + "/page", "page \(name)")
        try temporary.versions.add(directory: source, version: name)
    }

    private func hasTwin() throws -> Bool {
        try status(temporary.objectPath(address(of: script), executable: true)) != nil
    }

    @Test func `goes with the last version that shows it as executable`() throws {
        try add("2", executable: true)
        try add("3", executable: false)
        try temporary.versions.retire("1")
        try expect(hasTwin())
        try temporary.expectClean()
        try temporary.versions.retire("2")
        try expect(!hasTwin())
        try expect(snapshot(temporary.path + "/staging").isEmpty)
        try expect(readTree(temporary.tree("3"))["tool"], equals: script)
        try temporary.expectClean()
        _ = try temporary.versions.store.collect()
        try expect(snapshot(temporary.path + "/objects").count, equals: 2)
        try temporary.expectClean()
    }

    @Test func `counts in what a collection frees, and in its plan`() throws {
        try temporary.versions.retire("1")
        let address = try address(of: script)
        let copy = temporary.objectPath(address, executable: true)
        shell("cp '\(temporary.objectPath(address))' '\(copy)' && sync '\(copy)'")
        let before = try temporary.versions.store.planCollection()
        shell("rm -f '\(copy)'")
        let without = try temporary.versions.store.planCollection()
        expect(before.diskByteCount > without.diskByteCount)
        shell("cp '\(temporary.objectPath(address))' '\(copy)'")
        let collected = try temporary.versions.store.collect()
        expect(collected.diskByteCount, equals: before.diskByteCount)
        expect(collected.byteCount, equals: before.byteCount)
    }

    @Test func `stays while a checkout links to it, and comes back when it is needed`() throws {
        try add("2", executable: false)
        let out = temporary.directory.appending("out")
        _ = try temporary.versions.checkout("1", to: out)
        try temporary.versions.retire("1")
        try expect(hasTwin())
        try add("1", executable: true)
        try expect(
            status(out + "/tool")?.inode, equals: status(temporary.tree("1") + "/tool")?.inode)
        shell("rm -rf '\(out)'")
        try temporary.versions.retire("1")
        try expect(!hasTwin())
        try add("1", executable: true)
        try expect(status(temporary.tree("1") + "/tool")?.mode, equals: 0o555)
        try temporary.expectClean()
    }

    @Test func `is no reason not to retire a version whose manifest is damaged`() throws {
        try add("2", executable: false)
        try flipByte(temporary.path + "/manifests/1.json")
        try temporary.versions.retire("1")
        try expect(temporary.reopened().versions().map(\.version), equals: ["2"])
        try expect(hasTwin())
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `stays where it is all that is left of an object`(isRotten: Bool) throws {
        try add("2", executable: false)
        let object = try temporary.objectPath(address(of: script))
        if isRotten { try flipByte(object) } else { Damage.remove(object) }
        try temporary.versions.retire("1")
        try expect(hasTwin())
        guard isRotten else { return }
        let found = try temporary.reopened().check(CheckOptions(isDeep: true), repairing: true)
        expect(!found.findings.isEmpty && found.findings.allSatisfy(\.isRepaired))
        try expect(readTree(temporary.tree("2"))["tool"], equals: script)
        try temporary.expectClean()
    }

    @Test func `is not asked for of a version that may not be retired`() throws {
        try temporary.versions.activate("1")
        let reads = Shared(0)
        let versions = try temporary.opened(
            on: InterposedFileSystem { call, path in
                if call == "open", path == "1.json" { reads.with { $0 += 1 } }
            })
        _ = try versions.versions()
        reads.with { $0 = 0 }
        expectRefusal(.versionInUse) { try versions.retire("1") }
        expectRefusal(.noVersion) { try versions.retire("2") }
        expect(reads.with { $0 }, equals: 0)
        try expect(hasTwin())
    }

    // Between the look at an executable copy and the link to it, another process retires the last version that used it.
    // With `meanwhile`, somebody else makes it again before this looks why it could not link.
    @Test(arguments: ["materialize", "checkout", "add"], [false, true])
    func `is made again for who was about to link to it`(_ verb: String, meanwhile: Bool) throws {
        try add("2", executable: true)
        // Version 2 has no tree: only that of version 1 links to the executable copy.
        temporary.unlock(temporary.tree("2"))
        expect(shell("rm -rf '\(temporary.tree("2"))'"), equals: 0)
        let other = try temporary.reopened()
        let retirements = Shared(0)
        let failures = Shared<[String]>([])
        let hasMissed = Shared(false)
        let elsewhere = temporary.directory.appending("elsewhere")
        // The first directory that is made is the tree's: the executable copies were looked at.
        let versions = try temporary.opened(
            on: InterposedFileSystem { call, path in
                let isTree = path.hasPrefix(".2.") || path.hasPrefix(".castree-")
                if call == "link", path == "tool" {
                    hasMissed.with { $0 = retirements.with { $0 == 1 } && meanwhile }
                } else if call == "status", isTree, hasMissed.with({ $0 }) {
                    hasMissed.with { $0 = false }
                    retirements.with { $0 += 1 }
                    do { _ = try other.checkout("2", to: elsewhere) } catch {
                        failures.with { $0.append("\(error)") }
                    }
                }
                guard call == "makeDirectory", isTree, retirements.with({ $0 == 0 }) else { return }
                retirements.with { $0 = 1 }
                do { try other.retire("1") } catch { failures.with { $0.append("\(error)") } }
            })
        let target = temporary.directory.appending("out")
        var tree = temporary.tree("2")
        switch verb {
        case "materialize": try versions.materialize("2")
        case "checkout":
            _ = try versions.checkout("2", to: target)
            tree = target
        default:
            try versions.add(directory: temporary.directory.appending("source-2"), version: "2")
        }
        expect(failures.with { $0 }, equals: [])
        expect(retirements.with { $0 }, equals: (meanwhile ? 2 : 1))
        try expect(hasTwin())
        try expect(readTree(tree), equals: ["tool": script, "page": "page 2"])
        try expect(
            status(tree + "/tool")?.inode,
            equals: status(temporary.objectPath(address(of: script), executable: true))?.inode)
        try expect(temporary.reopened().versions().map(\.version), equals: ["2"])
        try temporary.versions.materialize("2")
        try temporary.expectClean()
    }
}
