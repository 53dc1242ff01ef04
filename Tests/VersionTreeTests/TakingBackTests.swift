import StorageTestSupport

/// An add that fails at its last step takes back what it has shown, unless somebody else relies on it.
@Suite("An add that cannot be recorded") struct TakingBackTests {
    private static let files = ["a": "one", "run": "#!x"]

    /// A store, and an add whose last step is refused by the disk: manifest and tree have their names.
    private func fail(
        _ temporary: TemporaryStore, registers: Bool,
        beforeTakingBack: @escaping @Sendable (VersionStore, String) throws -> Void
    ) throws {
        let source = temporary.directory.appending("mine")
        try writeTree(source, Self.files)
        let disk = FaultyFileSystem()
        let first = try temporary.opened(on: disk, isDurable: true)
        let second = try temporary.reopened()
        let isShown = Shared(false)
        let hasActed = Shared(false)
        disk.onEach { timing, operation in
            if timing == .after, operation.verb == .renameNew,
                operation.path.hasSuffix("/manifests/1.json")
            {
                isShown.with { $0 = true }
                disk.arm(.fail(EIO, at: 1, of: [.syncAll]))
            }
            // The transaction has ended, and nothing is taken back yet.
            let isFirst =
                operation.verb == .lock && operation.path.hasSuffix("/.index")
                || operation.verb == .remove && operation.path.hasSuffix("/manifests/1.json")
                || operation.verb == .status && operation.path.contains("/versions/.1.")
            guard timing == .before, disk.hasFired, isFirst, !hasActed.with({ $0 }) else { return }
            hasActed.with { $0 = true }
            #expect(throws: Never.self) { try beforeTakingBack(second, source) }
        }
        #expect(throws: StoreError.self) {
            if registers {
                try first.register(makeManifest("1", ["a": "one"]))
            } else {
                try first.add(directory: source, version: "1")
            }
        }
        disk.onEach(nil)
        expect(isShown.with { $0 })
        expect(hasActed.with { $0 })
    }

    @Test(arguments: [false, true])
    func `leaves what another has recorded meanwhile`(registers: Bool) throws {
        let temporary = try TemporaryStore()
        try fail(temporary, registers: registers) { second, source in
            if registers {
                try second.register(makeManifest("1", ["a": "one"]))
            } else {
                try second.add(directory: source, version: "1")
            }
        }
        try expect(temporary.reopened().versions().map(\.version), equals: ["1"])
        expect(Damage.names(temporary.path + "/manifests"), equals: ["1.json"])
        if !registers { try expect(readTree(temporary.tree("1")), equals: Self.files) }
        // A writer whose sync has failed cleans nothing up; the next one does.
        _ = try temporary.reopened().store.collect()
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `leaves nothing of it`(registers: Bool) throws {
        let temporary = try TemporaryStore()
        try fail(temporary, registers: registers) { _, _ in }
        try expect(temporary.reopened().versions(), equals: [])
        expect(Damage.names(temporary.path + "/manifests"), equals: [])
        expect(Damage.names(temporary.path + "/versions"), equals: [])
        // A writer whose sync has failed cleans nothing up; the next one does.
        _ = try temporary.reopened().store.collect()
        try temporary.expectClean()
    }

    @Test(arguments: [false, true])
    func `leaves a whole store where others write meanwhile`(registers: Bool) throws {
        let temporary = try TemporaryStore()
        try fail(temporary, registers: registers) { second, _ in
            _ = try second.register(makeManifest("2", ["x": "other"]))
        }
        try expect(temporary.reopened().versions().map(\.version).contains("2"))
        // A writer whose sync has failed cleans nothing up; the next one does.
        _ = try temporary.reopened().store.collect()
        try temporary.expectClean()
    }
}
