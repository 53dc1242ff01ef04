import StorageTestSupport

// Two at once, not by chance: another process acts before every single operation of a verb.

/// Runs `main` once for each of its file operations, with `other` acting in a second instance of
/// the store right before that operation; then `verify`.
///
/// What is blocked by a lock of `main` is let continue once `main` is done. Operations that do not matter are
/// passed over. Of the others a run takes every third.
func interleave(
    limit: Int = 600, of enumeration: String = #function,
    where matters: @escaping @Sendable (_ verb: String, _ path: String) -> Bool = { _, _ in true },
    _ prepare: (TemporaryStore) throws -> Void,
    main: (VersionStore, TemporaryStore) throws -> Void,
    other: @escaping @Sendable (VersionStore, TemporaryStore) throws -> Void,
    verify: (TemporaryStore, String) throws -> Void
) throws {
    let tried = try TestShare(oneIn: 3, of: enumeration).count { passed in
        let position = passed + 1
        let temporary = try TemporaryStore()
        try prepare(temporary)
        let second = try temporary.reopened()
        _ = try second.versions()
        let count = Shared(0)
        let isArmed = Shared(false)
        let group = DispatchGroup()
        let at = position
        let operation = Shared("")
        let failure = Shared<String?>(nil)
        let disk = InterposedFileSystem { verb, path in
            guard isArmed.with({ $0 }), matters(verb, path) else { return }
            guard
                count.with({ count in
                    count += 1; return count
                }) == at
            else { return }
            operation.with { $0 = "operation \(at), before \(verb) \(path)" }
            let isDone = DispatchSemaphore(value: 0)
            group.enter()
            let thread = Thread {
                do { try other(second, temporary) } catch { failure.with { $0 = "\(error)" } }
                isDone.signal()
                group.leave()
            }
            thread.stackSize = 4 << 20
            thread.start()
            _ = isDone.wait(timeout: .now() + .milliseconds(40))
        }
        let first = try temporary.opened(on: disk)
        _ = try first.versions()
        isArmed.with { $0 = true }
        do {
            try main(first, temporary)
        } catch {
            Issue.record("at \(operation.with { $0 }): \(error)")
        }
        let total = count.with { $0 }
        isArmed.with { $0 = false }
        group.wait()
        if let failure = failure.with({ $0 }) {
            Issue.record("at \(operation.with { $0 }), the other: \(failure)")
        }
        if total < position { return false }
        do {
            try verify(temporary, operation.with { $0 })
        } catch {
            Issue.record("at \(operation.with { $0 }), afterwards: \(error)")
        }
        return position < limit
    }
    expect(tried < limit, "the verb has too many operations to try them all")
}

private func look(_ versions: VersionStore, _ found: Shared<[Finding]>) throws {
    let report = try versions.check(CheckOptions(isDeep: true))
    found.with { $0 = report.findings }
}

/// What came of an add.
private enum Outcome: Sendable, Equatable {
    case added
    case refused(String)
}

private func outcome(_ body: () throws -> AddReport) -> Outcome {
    do {
        _ = try body()
        return .added
    } catch {
        return .refused((error as? StoreError)?.code.description ?? "\(error)")
    }
}

@Suite(.serialized) struct InterleavingTests {
    private let files = ["a": "one", "run": "#!x"]

    private func prepareSource(_ temporary: TemporaryStore) throws {
        try writeTree(temporary.directory.appending("mine"), files)
        try writeTree(temporary.directory.appending("theirs"), ["a": "other", "b": "two"])
    }

    /// The same, with a version of what is mine.
    private func prepareVersion(_ temporary: TemporaryStore) throws {
        try prepareSource(temporary)
        try temporary.versions.add(directory: temporary.directory.appending("mine"), version: "1")
    }

    /// A registered version shows what its manifest says.
    private func expectWhole(
        _ temporary: TemporaryStore, _ name: String, _ files: [String: String], _ position: String
    ) throws {
        let versions = try temporary.reopened()
        let manifest = try versions.manifest(of: name)
        for (path, text) in files {
            try expect(
                manifest[TreePath(path)]?.address, equals: address(of: text), "at \(position)")
        }
        try expect(readTree(temporary.tree(name)), equals: files, "at \(position)")
    }

    private func expectClean(_ temporary: TemporaryStore, _ position: String) throws {
        let found = try temporary.reopened().check(CheckOptions(isDeep: true)).findings
        expect(found, equals: [], "at \(position)")
    }

    @Test(
        "one of two adds of different content under one name, or two that differ in case only, is refused",
        arguments: [("1", "1"), ("Beta", "beta")])
    func differing(_ name: String, _ other: String) throws {
        let outcomes = Shared<(mine: Outcome?, theirs: Outcome?)>((nil, nil))
        try interleave(prepareSource) { versions, temporary in
            outcomes.with { $0 = (nil, nil) }
            let mine = outcome {
                try versions.add(directory: temporary.directory.appending("mine"), version: name)
            }
            outcomes.with { $0.mine = mine }
        } other: { versions, temporary in
            let theirs = outcome {
                try versions.add(directory: temporary.directory.appending("theirs"), version: other)
            }
            outcomes.with { $0.theirs = theirs }
        } verify: { temporary, position in
            let (mine, theirs) = outcomes.with { $0 }
            expect(
                (mine == .added) != (theirs == .added),
                "at \(position): \(String(describing: mine)), \(String(describing: theirs))")
            if mine == .added {
                try expectWhole(temporary, name, files, position)
            } else {
                try expectWhole(temporary, other, ["a": "other", "b": "two"], position)
            }
            try expectClean(temporary, position)
        }
    }

    @Test func `two adds of one content under one name both succeed`() throws {
        let theirs = Shared<Outcome?>(nil)
        try interleave(prepareSource) { versions, temporary in
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "1")
        } other: { versions, temporary in
            let result = outcome {
                try versions.add(directory: temporary.directory.appending("mine"), version: "1")
            }
            theirs.with { $0 = result }
        } verify: { temporary, position in
            expect(theirs.with { $0 }, equals: .added, "at \(position)")
            try expectWhole(temporary, "1", files, position)
            try expectClean(temporary, position)
        }
    }

    @Test func `an add keeps what it needs from a collection`() throws {
        try interleave { temporary in
            try prepareSource(temporary)
            // Garbage with the same content, which the add takes back.
            _ = try temporary.versions.add(
                directory: temporary.directory.appending("mine"), version: "0")
            try temporary.versions.retire("0")
        } main: { versions, temporary in
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "1")
        } other: { versions, _ in
            _ = try versions.store.collect()
        } verify: { temporary, position in
            try expectWhole(temporary, "1", files, position)
            try expectClean(temporary, position)
        }
    }

    @Test func `a check beside an add finds nothing`() throws {
        let found = Shared<[Finding]>([])
        try interleave(prepareSource) { versions, temporary in
            found.with { $0 = [] }
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "1")
        } other: { versions, _ in
            try look(versions, found)
        } verify: { temporary, position in
            expect(found.with { $0 }, equals: [], "at \(position)")
            try expectWhole(temporary, "1", files, position)
        }
    }

    @Test func `a repair beside an add harms nothing`() throws {
        try interleave(prepareSource) { versions, temporary in
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "1")
        } other: { versions, _ in
            _ = try versions.check(repairing: true)
        } verify: { temporary, position in
            try expectWhole(temporary, "1", files, position)
            try expectClean(temporary, position)
        }
    }

    @Test func `a check beside a retirement and a collection finds nothing`() throws {
        let found = Shared<[Finding]>([])
        try interleave(prepareVersion) { versions, _ in
            found.with { $0 = [] }
            try versions.retire("1")
            _ = try versions.store.collect()
        } other: { versions, _ in
            try look(versions, found)
        } verify: { temporary, position in
            expect(found.with { $0 }, equals: [], "at \(position)")
            try expectClean(temporary, position)
        }
    }

    @Test func `a check finds nothing where a version is retired and added again meanwhile`() throws
    {
        let temporary = try TemporaryStore()
        let source = temporary.directory.appending("source")
        try writeTree(source, ["a": "content"])
        try temporary.versions.add(directory: source, version: "1")
        let second = try temporary.reopened()
        let stage = Shared(0)
        let disk = InterposedFileSystem { verb, path in
            // Its manifest is gone when it is read, and there again when the row is looked at. One operation after the
            // other: a check has more than one thread.
            stage.with { stage in
                if stage == 0, !(verb == "open" && path.hasSuffix("1.json")) { return }
                stage += 1
                do {
                    if stage == 1 { try second.retire("1") }
                    if stage == 2 { try second.add(directory: source, version: "1") }
                } catch {
                    Issue.record(error)
                }
            }
        }
        let first = try temporary.opened(on: disk)
        try expect(first.check(CheckOptions(isDeep: true)).findings, equals: [])
        expect(stage.with { $0 } >= 2)
        try expect(first.versions().map(\.version), equals: ["1"])
    }

    @Test func `a retirement beside an add of the same version leaves it whole or gone`() throws {
        try interleave(prepareVersion) { versions, temporary in
            _ = try versions.add(directory: temporary.directory.appending("mine"), version: "1")
        } other: { versions, _ in
            _ = try? versions.retire("1")
        } verify: { temporary, position in
            if try temporary.reopened().versions().isEmpty {
                try expect(snapshot(temporary.path + "/manifests").isEmpty, "at \(position)")
            } else {
                try expectWhole(temporary, "1", files, position)
            }
            try expectClean(temporary, position)
        }
    }

    @Test func `a retirement beside an activation leaves a current version whole`() throws {
        try interleave { temporary in
            try prepareSource(temporary)
            for name in ["1", "2"] {
                _ = try temporary.versions.add(
                    directory: temporary.directory.appending("mine"), version: name)
            }
            try temporary.versions.activate("2")
        } main: { versions, _ in
            _ = try? versions.activate("1")
        } other: { versions, _ in
            _ = try? versions.retire("1")
        } verify: { temporary, position in
            let current = try require(try temporary.reopened().lifecycle().current)
            try expectWhole(temporary, current, files, position)
            try expect(temporary.shown(), equals: files, "at \(position)")
            try expectClean(temporary, position)
        }
    }

    @Test func `a collection beside a materialization and a checkout harms neither`() throws {
        try interleave { temporary in
            try prepareVersion(temporary)
            shell("rm -rf \(temporary.tree("1"))")
        } main: { versions, temporary in
            try versions.materialize("1")
            _ = try versions.checkout("1", to: temporary.directory.appending("out"))
        } other: { versions, _ in
            _ = try versions.store.collect()
        } verify: { temporary, position in
            try expectWhole(temporary, "1", files, position)
            try expect(
                readTree(temporary.directory.appending("out")), equals: files, "at \(position)")
            try expectClean(temporary, position)
        }
    }
}
