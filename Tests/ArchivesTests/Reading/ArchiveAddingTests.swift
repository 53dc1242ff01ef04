import ArchiveReading
import StorageTestSupport

@Suite("An archive that is added") struct ArchiveAddingTests {
    let directory = TemporaryDirectory(inMemory: true)

    private func write(_ zip: ForeignZip, _ name: String = "a.zip") throws -> String {
        let path = directory.appending(name)
        try Data(zip.bytes()).write(to: URL(filePath: path))
        return path
    }

    private static let release = ForeignZip(
        .init("CodePush/index.html", "<h1>two</h1>"), .init("CodePush/run", "#!", mode: 0o100755),
        .init("CodePush/empty", ""), .init("CodePush/large", String(repeating: "l", count: 300_000))
    )

    @Test func `becomes the version that its directory would become`() throws {
        let path = try write(Self.release)
        let versions = try VersionStore.create(at: directory.appending("store")).versions
        let report = try versions.add(archive: path, version: "2", stripping: "CodePush")
        expect(report.files == 4 && report.newObjects == 4 && report.bytes == 300_014)
        let tree = directory.appending("tree")
        try Damage.makeDirectory(tree)
        for entry in Self.release.entries {
            let name = String(decoding: entry.name, as: UTF8.self).dropFirst("CodePush/".count)
            let file = "\(tree)/\(name)"
            try Data(entry.content).write(to: URL(filePath: file))
            try Damage.setMode(file, name == "run" ? 0o755 : 0o644)
        }
        let same = try versions.add(directory: tree, version: "same")
        expect(same.newObjects, equals: 0)
        let all = try versions.versions()
        expect(Set(all.map(\.content)).count == 1 && all.allSatisfy { $0.state == .materialized })
        // The same once more is nothing new; another content is another version.
        try expect(
            versions.add(archive: path, version: "2", stripping: "CodePush/").newObjects, equals: 0)
        #expect(throws: StoreError.self) { try versions.add(archive: path, version: "2") }
        expectRefusal(.tooLarge) {
            try versions.add(archive: path, version: "3", byteCountMax: 300_013)
        }
        expectRefusal(.notFound) { try versions.add(archive: path + "x", version: "3") }
        try expect(versions.versions().count, equals: 2)
    }

    /// Killed after any operation, or refused one: the version is there whole or not at all, and then it can be added.
    @Test(arguments: [true, false]) func `is there whole or not, whatever happens meanwhile`(
        _ isKilled: Bool
    ) throws {
        let path = try write(Self.release)
        let share = TestShare(oneIn: 9)
        let count = try share.count { position in
            let temporary = try TemporaryStore()
            let disk = FaultyFileSystem()
            let options = StoreOptions(isDurable: isKilled, reservedByteCount: 1 << 20)
            var error: StoreError?
            var (hasFired, trace) = (false, "")
            do {
                let versions = try VersionStore.open(
                    temporary.path, options: options, fileSystem: disk)
                disk.arm(isKilled ? .stop(after: position) : .fail(EIO, at: position + 1))
                error = refusal { try versions.add(archive: path, version: "2") }
                (hasFired, trace) = (disk.hasFired, disk.trace)
                if !isKilled { disk.disarm() }
            }
            let again = try temporary.reopened()
            let names = try again.versions().map(\.version)
            // What was acknowledged is there, and nothing half.
            expect(names == ["2"] || names == [] && error != nil, "\(position): \(names)\n\(trace)")
            try again.add(archive: path, version: "2")
            try expect(
                again.versions().map(\.state), equals: [.materialized], "\(position)\n\(trace)")
            try again.store.collect()
            let found = try again.check(CheckOptions(isDeep: true)).findings
            expect(found, equals: [], "\(position)\n\(trace)")
            return hasFired
        }
        expect(count > 100)
    }
}
