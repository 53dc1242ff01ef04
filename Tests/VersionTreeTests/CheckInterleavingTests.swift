import StorageTestSupport

/// Others act before every single operation of a check: it finds nothing, and they lose nothing.
@Suite("A check", .serialized, .tags(.slow)) struct CheckInterleavingTests {
    private static let files = ["a": "one", "run": "#!x"]
    private static let more = ["a": "one", "b": "two", "tool": "#!y"]

    private func prepare(_ temporary: TemporaryStore) throws {
        try temporary.add("0", Self.files)
        try temporary.add("1", ["old": "only here", "run": "#!z"])
        try temporary.versions.activate("0")
        try writeTree(temporary.directory.appending("theirs"), Self.more)
    }

    private func expectNothingFound(
        repairing: Bool, other: @escaping @Sendable (VersionStore, TemporaryStore) throws -> Void,
        verify: (TemporaryStore, String) throws -> Void
    ) throws {
        let found = Shared<[Finding]>([])
        // Of the 256 shards that are opened, one in 16.
        let matters = { @Sendable (verb: String, path: String) in
            verb != "open" || path.utf8.count != 2 || path.hasSuffix("0")
        }
        try interleave(where: matters, prepare) { versions, _ in
            let report = try versions.check(repairing: repairing)
            found.with { $0 = report.findings }
        } other: { versions, temporary in
            try other(versions, temporary)
        } verify: { (temporary, position) throws in
            expect(found.with { $0 }, equals: [], "at \(position)")
            try verify(temporary, position)
            let after = try temporary.reopened().check(CheckOptions(isDeep: true)).findings
            expect(after, equals: [], "at \(position)")
            try expect(readTree(temporary.tree("0")), equals: Self.files, "at \(position)")
        }
    }

    @Test(arguments: [false, true])
    func `beside an add`(repairs: Bool) throws {
        try expectNothingFound(repairing: repairs) { versions, temporary in
            try versions.add(directory: temporary.directory.appending("theirs"), version: "2")
        } verify: { (temporary, position) throws in
            try expect(readTree(temporary.tree("2")), equals: Self.more, "at \(position)")
        }
    }

    @Test(arguments: [false, true])
    func `beside a registration whose content arrives`(repairs: Bool) throws {
        try expectNothingFound(repairing: repairs) { versions, _ in
            let files = ["a": "one", "b": "two"]
            try versions.register(makeManifest("2", files))
            let incoming = try IncomingContents(versions.store)
            for text in files.values {
                let bytes = Array(text.utf8)
                var item = try incoming.begin(address(of: bytes), byteCount: Int64(bytes.count))
                try item.append(bytes.span.bytes)
                _ = try item.finish()
            }
            try incoming.commit()
            try versions.materialize("2")
        } verify: { (temporary, position) throws in
            try expect(
                readTree(temporary.tree("2")), equals: ["a": "one", "b": "two"], "at \(position)")
        }
    }

    @Test(arguments: [false, true])
    func `beside a pin, a retirement and a collection`(repairs: Bool) throws {
        try expectNothingFound(repairing: repairs) { versions, _ in
            let pin = try versions.pin("0")
            try versions.retire("1")
            _ = try versions.store.collect()
            withExtendedLifetime(pin) {}
        } verify: { (temporary, position) throws in
            try expect(
                temporary.reopened().versions().map(\.version), equals: ["0"], "at \(position)")
            expect(!Damage.names(temporary.path + "/versions").contains("1"), "at \(position)")
        }
    }
}
