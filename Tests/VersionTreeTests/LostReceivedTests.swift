import StorageTestSupport

@testable import CASStore

/// What a publisher sent is kept as it came, and no version needs it: one that has lost nothing else stays whole.
@Suite("What a publisher sent, once it is lost,") struct LostReceivedTests {
    private static let sent = Array(#"{"version":"1" , "files":[]}"#.utf8)
    private static let files = ["a": "first content", "b/c": "second content"]

    /// A store with version 1, whole and shown, and version 2 that is current unless 1 is.
    private func makeStore(isCurrent: Bool) throws -> TemporaryStore {
        let temporary = try TemporaryStore()
        let store = temporary.versions.store
        let lease = try store.makeLease()
        let address = try store.put(Self.sent, protectedBy: lease)
        for text in Self.files.values { _ = try store.put(Array(text.utf8), protectedBy: lease) }
        var manifest = try makeManifest("1", Self.files, ordinal: 0, createdAt: 0)
        manifest.received = .init(
            format: "meteor/1", address: address, byteCount: Int64(Self.sent.count))
        try temporary.versions.register(manifest)
        try temporary.versions.activate("1")
        if !isCurrent {
            try temporary.add("2", ["a": "first content"])
            try temporary.versions.activate("2")
        }
        return temporary
    }

    private func sentAddress() throws -> ObjectID { try address(of: Self.sent) }

    private func lose(_ how: String, in temporary: TemporaryStore) throws {
        let path = temporary.objectPath(try sentAddress())
        if how == "damaged" { try Damage.flip(path, at: 3) } else { Damage.remove(path) }
    }

    /// Version 1 is whole without it, and shows what it showed.
    private func expectWhole(_ temporary: TemporaryStore) throws {
        let versions = try temporary.reopened()
        try expect(versions.manifest(of: "1").received == nil)
        try expect(versions.versions().first { $0.version == "1" }?.state, equals: .materialized)
        for (path, text) in Self.files {
            let shown = try Damage.contents("\(temporary.path)/versions/1/\(path)")
            expect(shown, equals: Array(text.utf8))
        }
        try temporary.expectClean()
    }

    @Test(
        "is forgotten by a repair, which says so and leaves the tree",
        arguments: ["missing", "damaged"], [true, false])
    func forgotten(how: String, isCurrent: Bool) throws {
        let temporary = try makeStore(isCurrent: isCurrent)
        try lose(how, in: temporary)
        let tree = try POSIXFileSystem().status(
            POSIXFileSystem.workingDirectory, "\(temporary.path)/versions/1")
        var plan: RepairPlan?
        let report = try temporary.reopened().repair {
            plan = $0
            return true
        }
        let steps = try require(plan).steps
        let quarantined: [RepairStep.Operation] = how == "damaged" ? [.quarantineObject] : []
        expect(steps.map(\.operation), equals: quarantined + [.dropReceived])
        expect(steps.last?.version, equals: "1")
        try expect(steps.last?.object, equals: sentAddress())
        expect(report.findings.count, equals: 1)
        let finding = try require(report.findings.first)
        expect(finding.isRepaired && !finding.isLost)
        expect(finding.message.contains("what the publisher of version 1 sent"))
        let now = try POSIXFileSystem().status(
            POSIXFileSystem.workingDirectory, "\(temporary.path)/versions/1")
        expect(now?.inode, equals: tree?.inode)
        try expectWhole(temporary)
        try expect(temporary.shown().count, equals: (isCurrent ? 2 : 1))
    }

    @Test(arguments: [true, false])
    func `and was noted as lost before, is forgotten, too`(isCurrent: Bool) throws {
        let temporary = try makeStore(isCurrent: isCurrent)
        try lose("missing", in: temporary)
        let store = try temporary.reopened().store
        var report = CheckReport()
        var sound = SoundInodes()
        _ = try store.repairObjects(store.checkObjects(CheckOptions(), &report, &sound))
        try expect(store.versionRow("1")?.isComplete, equals: false)
        var plan: RepairPlan?
        let repaired = try temporary.reopened().repair {
            plan = $0
            return true
        }
        expect(plan?.steps.map(\.operation), equals: [.dropReceived])
        expect(repaired.findings.map(\.isRepaired), equals: [true])
        try expectWhole(temporary)
    }

    @Test func `is fetched where somebody has it`() throws {
        let temporary = try makeStore(isCurrent: true)
        try lose("missing", in: temporary)
        let versions = try temporary.reopened()
        let source = RepairSource { (lost) throws(StoreError) in
            let lease = try versions.store.makeLease()
            _ = try versions.store.put(Self.sent, protectedBy: lease)
            return Set(lost.map(\.address))
        }
        _ = try versions.repair(from: source) { plan in
            !plan.steps.contains { $0.operation == .dropReceived }
        }
        try expect(versions.manifest(of: "1").received?.address, equals: sentAddress())
        try temporary.expectClean()
    }

    @Test func `is not forgotten where a file of the version is lost, too`() throws {
        let temporary = try makeStore(isCurrent: false)
        try lose("missing", in: temporary)
        let lost = try address(of: Array("second content".utf8))
        try Damage.flip(temporary.objectPath(lost), at: 3)
        var plan: RepairPlan?
        _ = try temporary.reopened().repair {
            plan = $0
            return true
        }
        expect(plan?.steps.contains { $0.operation == .dropReceived }, equals: false)
        let versions = try temporary.reopened()
        try expect(versions.store.versionRow("1")?.isComplete, equals: false)
        try expect(versions.manifest(of: "1").received?.address, equals: sentAddress())
    }

    @Test func `is waited for by a version that is still coming`() throws {
        let temporary = try TemporaryStore(adding: "0", Self.files)
        var manifest = try makeManifest("1", Self.files, ordinal: 0, createdAt: 0)
        manifest.received = .init(
            format: "meteor/1", address: try sentAddress(), byteCount: Int64(Self.sent.count))
        try temporary.versions.register(manifest)
        _ = try temporary.versions.repair { _ in true }
        try expect(temporary.versions.manifest(of: "1").received?.address, equals: sentAddress())
        try expect(temporary.versions.store.versionRow("1")?.isComplete, equals: false)
    }
}
