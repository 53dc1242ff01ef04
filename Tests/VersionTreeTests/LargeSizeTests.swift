import StorageTestSupport

// Sizes at the edges of 32 bits, of a double, and of 63 bits. No byte of them is written: a manifest may
// come before its content, and say of it what it likes.

@Suite struct LargeSizeTests {
    private static let sizes: [Int64] = [
        (1 << 31) - 1, 1 << 31, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, (1 << 53) + 1,
    ]
    private static let sum = sizes.reduce(0, +)

    private func manifest(_ version: String, _ sizes: [Int64]) throws -> Manifest {
        try Manifest(
            version: VersionName(version), ordinal: 1, createdAt: 1,
            entries: sizes.enumerated().map { position, size in
                Manifest.Entry(
                    path: try TreePath("large/\(position)"),
                    address: try address(of: "\(version) \(size)"), byteCount: size)
            })
    }

    @Test func `a manifest keeps every size exactly`() throws {
        for sizes in [Self.sizes, [.max]] {
            let manifest = try manifest("1", sizes)
            let read = try Manifest(parsing: manifest.serialized())
            expect(read.entries.map(\.byteCount), equals: sizes)
            expect(read.byteCount, equals: sizes.reduce(0, +))
        }
    }

    @Test func `sizes that add up to more than 63 bits are refused`() throws {
        expectRefusal(.badManifest) { try manifest("1", [.max, 1]) }
        expectRefusal(.badManifest) { try manifest("1", [1 << 62, 1 << 62]) }
    }

    @Test func `what is missing and what a version holds is told exactly`() throws {
        let temporary = try TemporaryStore()
        let versions = temporary.versions
        try versions.register(manifest("1", Self.sizes))
        try expect(versions.missing(of: "1").map(\.bytes), equals: Self.sizes)
        try expect(versions.versions().map(\.bytes), equals: [Self.sum])
        let progress = try require(try versions.progress().first)
        expect(progress.missingBytes == Self.sum && progress.totalBytes == Self.sum)
        let usage = try versions.usage(of: ["1"])
        expect(usage.map(\.apparentBytes), equals: [Self.sum])
        expect(usage.map(\.missingBytes), equals: [Self.sum])
        try expect(versions.store.usage().apparentBytes, equals: Self.sum)
        try temporary.expectClean()
    }

    /// Every question about sums, to a store whose versions claim more together than 63 bits hold.
    private static let questions: [String: @Sendable (VersionStore) throws -> Void] = [
        "versions": { _ = try $0.versions() },
        "progress": { _ = try $0.progress() },
        "usage of all": { _ = try $0.usage() },
        "usage of one by directory": { _ = try $0.usage(of: "1", by: .directory) },
        "usage of the store": { _ = try $0.store.usage() },
        "survey": {
            var options = SurveyOptions()
            options.mapFilesMax = 100
            options.retiring = ["1", "2"]
            _ = try $0.survey(options)
        },
        "retirement": { _ = try $0.retirement(of: ["1", "2", "3"]) },
        "diff": { _ = try $0.diff(from: "1", to: "2") },
        "retention": {
            var policy = RetentionPolicy()
            policy.byteCountMax = 1
            _ = try $0.planRetention(policy)
        },
        "check": { _ = try $0.check() },
        "collection": { _ = try $0.store.planCollection(retiring: ["1", "2", "3"]) },
        "retiring": { versions in
            for name in ["1", "2", "3"] { try versions.retire(name) }
            _ = try versions.collect()
        },
        "the index, made again": { versions in
            Damage.remove(versions.store.path + "/index.sqlite")
            _ = try VersionStore.open(versions.store.path).versions()
        },
    ]

    @Test(arguments: questions.keys.sorted())
    func `sums beyond 63 bits end nothing when asked for`(_ question: String) throws {
        let temporary = try TemporaryStore()
        for name in ["1", "2", "3"] {
            try temporary.versions.register(manifest(name, [.max - 5, 2, 3]))
        }
        let ask = try require(Self.questions[question])
        try ask(temporary.versions)
    }
}
