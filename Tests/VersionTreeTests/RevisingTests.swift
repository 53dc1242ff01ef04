import Dispatch
import StorageTestSupport

// A publisher that does not tell addresses: the manifest is revised as its content arrives.

@Suite struct RevisingTests {
    private func entry(_ path: String, _ text: String, as name: String) throws -> Manifest.Entry {
        Manifest.Entry(
            path: try TreePath(path), address: try address(of: name),
            byteCount: Int64(text.utf8.count))
    }

    private func manifest(_ entries: [Manifest.Entry], _ version: String = "1") throws -> Manifest {
        try Manifest(version: VersionName(version), ordinal: 0, createdAt: 0, entries: entries)
    }

    @Test func `an add beside a revision leaves a whole version or no tree`() throws {
        let temporary = try TemporaryStore()
        let texts = ["a": "alpha"]
        let first = try manifest([entry("a", "alpha", as: "alpha")])
        try temporary.versions.register(first)
        let (disk, adding) = try temporary.openedOnFaultyDisk()
        let other = try temporary.reopened()
        let revised = try manifest([entry("a", "alpha", as: "stand-in")])
        // The last moment at which there is no tree. The names are given under the lock of the index, so
        // the revision may have to wait until the version is whole, and is refused then.
        let revision = DispatchGroup()
        disk.on(.before, .renameNew, path: "versions/") {
            DispatchQueue.global().async(group: revision) {
                do { _ = try other.revise(revised) } catch {}
            }
        }
        let directory = temporary.directory.appending("texts")
        try writeTree(directory, texts)
        var isAdded = true
        do { _ = try adding.add(directory: directory, version: "1") } catch { isAdded = false }
        revision.wait()
        let states = try temporary.versions.versions().map(\.state)
        expect(states, equals: [isAdded ? .materialized : .incomplete])
        try expect(temporary.versions.isMaterialized("1"), equals: isAdded)
        try temporary.expectClean()
    }

    @Test func `a version becomes complete as its placeholders are replaced`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        let files = ["a": "alpha", "b": "beta", "c": "gamma"]
        func stage(_ known: Set<String>) throws -> Manifest {
            try manifest(
                files.map { path, text in
                    try entry(path, text, as: known.contains(path) ? text : "placeholder \(path)")
                })
        }
        try versions.add(directory: source(temporary), version: "0")
        try versions.register(stage([]))
        let before = try require(try versions.versions().first { $0.version == "1" })
        let ordinal = try versions.manifest(of: "1").ordinal
        var known: Set<String> = []
        for path in ["a", "b", "c"] {
            let text = try require(files[path])
            // It arrives, is committed, and a collection comes by before and after the revision.
            let incoming = try IncomingContents(versions.store)
            var item = try incoming.begin(
                address(of: "placeholder \(path)"), byteCount: nil, isPlaceholder: true)
            try item.append(Array(text.utf8).span.bytes)
            try expect(item.finish().object.address, equals: address(of: text))
            try incoming.commit()
            _ = try temporary.reopened().store.collect()
            known.insert(path)
            try expect(versions.revise(stage(known)), equals: (known.count == 3))
            try expect(versions.missing(of: "1").count, equals: 3 - known.count)
            withExtendedLifetime(incoming) {}
        }
        try expect(temporary.reopened().store.collect().objectCount, equals: 0)
        let after = try require(try versions.versions().first { $0.version == "1" })
        expect(after.createdAt, equals: before.createdAt)
        try expect(versions.manifest(of: "1").ordinal, equals: ordinal)
        expect(after.state, equals: .complete)
        try versions.activate("1")
        try expect(temporary.shown(), equals: files)
        try temporary.expectClean()
    }

    private func source(_ temporary: TemporaryStore) throws -> String {
        let path = temporary.directory.appending("source-0")
        try writeTree(path, ["z": "zero"])
        return path
    }

    @Test func `another process and a new index see the revised manifest`() throws {
        let temporary = try TemporaryStore()
        let other = try temporary.reopened()
        try temporary.versions.register(manifest([entry("a", "alpha", as: "stand-in")]))
        _ = try other.versions()
        try temporary.versions.revise(manifest([entry("b", "beta", as: "beta")]))
        try expect(other.missing(of: "1").map(\.paths), equals: [["b"]])
        try expect(temporary.reopened().missing(of: "1").map(\.paths), equals: [["b"]])
        shell("rm -f \(temporary.path)/index.sqlite*")
        try expect(temporary.reopened().missing(of: "1").map(\.paths), equals: [["b"]])
        try temporary.expectClean()
    }

    @Test func `what only the old manifest named is collected`() throws {
        let temporary = try TemporaryStore()
        let files = ["a": "alpha", "b": "beta"]
        try temporary.versions.register(
            manifest(files.map { try entry($0, $1, as: $1) } + [entry("c", "c", as: "never")]))
        let incoming = try IncomingContents(temporary.versions.store)
        for text in files.values {
            var item = try incoming.begin(address(of: text), byteCount: nil)
            try item.append(Array(text.utf8).span.bytes)
            _ = try item.finish()
        }
        try incoming.commit()
        try temporary.versions.revise(
            manifest([entry("a", "alpha", as: "alpha"), entry("c", "c", as: "never")]))
        let plan = try temporary.reopened().store.planCollection()
        // The incoming contents still protect what they brought.
        expect(plan.objects.isEmpty)
        withExtendedLifetime(incoming) {}
    }

    @Test func `refuses what is complete, shown, needed, pinned or unknown`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        expectRefusal(.noVersion) { try versions.revise(manifest([entry("a", "x", as: "x")])) }
        try temporary.add("1", ["a": "x"])
        let new = try manifest([entry("a", "y", as: "y")])
        expectRefusal(.versionInUse) { try versions.revise(new) }
        shell("rm -rf \(temporary.tree("1"))")
        expectRefusal(.versionInUse) { try versions.revise(new) }

        // Incomplete ones that somebody counts on all the same.
        for (name, use) in [
            ("current", { try versions.activate("current") }),
            ("pending", { try versions.activateAtNextBoot("pending") }),
            ("embedded", { try versions.embed("embedded") }),
        ] as [(String, () throws -> Void)] {
            try temporary.add(name, ["a": name])
            try use()
            shell("rm -rf \(temporary.tree(name))")
            try flipByte(temporary.objectPath(address(of: name)))
            _ = try versions.check(CheckOptions(isDeep: true), repairing: true)
            try expect(versions.versions().first { $0.version == name }?.state, equals: .incomplete)
            let revised = try manifest([entry("a", "y", as: "y")], name)
            expectRefusal(.versionInUse, "\(name)") { try versions.revise(revised) }
        }
        try versions.register(makeManifest("pinned", ["a": "to come"]))
        let pin = try versions.pin("pinned")
        expectRefusal(.versionInUse) {
            try versions.revise(manifest([entry("a", "y", as: "y")], "pinned"))
        }
        withExtendedLifetime(pin) {}
    }

    @Test func `a wrong size of a present object leaves the old manifest`() throws {
        let temporary = try TemporaryStore(adding: "0", ["a": "alpha"])
        try temporary.versions.register(makeManifest("1", ["a": "to come"]))
        expectRefusal(.mismatch) {
            try temporary.versions.revise(manifest([entry("a", "alpha!", as: "alpha")]))
        }
        try expect(temporary.versions.missing(of: "1").map(\.bytes), equals: [7])
        try expect(status(temporary.path + "/manifests/1.json") != nil)
        try temporary.expectClean()
    }

    @Test func `one that became complete while it was revised keeps its manifest`() throws {
        let temporary = try TemporaryStore()
        let other = try temporary.reopened()
        let (disk, versions) = try temporary.openedOnFaultyDisk()
        try versions.register(makeManifest("1", ["a": "alpha"]))
        // Between the look at the lifecycle and the transaction the last object comes.
        disk.on(.after, .open, path: "/leases/.lifecycle") {
            #expect(throws: Never.self) {
                let incoming = try IncomingContents(other.store)
                var item = try incoming.begin(address(of: "alpha"), byteCount: 5)
                try item.append(Array("alpha".utf8).span.bytes)
                _ = try item.finish()
                try expect(incoming.commit(), equals: ["1"])
            }
        }
        expectRefusal(.versionInUse) {
            try versions.revise(manifest([entry("b", "beta", as: "beta")]))
        }
        try expect(versions.manifest(of: "1")[TreePath("a")] != nil)
        try temporary.expectClean()
    }
}
