import StorageTestSupport

/// A repair says what it will do before it does it, and content that can be had from elsewhere takes
/// the place of what is lost without a version being incomplete for a moment longer than before.
@Suite struct RepairTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore(adding: "1", Self.files)
        try temporary.add("2", ["a": "second content", "c": "third content"])
        try temporary.versions.activate("1")
    }

    static let files = ["a": "first content", "b": "second content", "run": "#! /bin/sh"]

    /// Brings what it has, and notes what it was asked for.
    final class Elsewhere {
        let texts: [String]
        private(set) var asked: [Reference] = []
        init(_ texts: [String]) { self.texts = texts }

        func fetching(_ versions: VersionStore) -> RepairSource {
            RepairSource { (lost) throws(StoreError) in
                self.asked += lost
                var came: Set<ObjectID> = []
                let incoming = try IncomingContents(versions.store)
                for one in lost {
                    for text in self.texts {
                        var hasher = try ObjectHasher()
                        hasher.update(Array(text.utf8).span.bytes)
                        guard hasher.finish().address == one.address else { continue }
                        var item = try incoming.begin(one.address, byteCount: one.byteCount)
                        try item.append(Array(text.utf8).span.bytes)
                        _ = try item.finish()
                        came.insert(one.address)
                    }
                }
                _ = try incoming.commit()
                return came
            }
        }
    }

    struct Loss: Sendable, CustomStringConvertible {
        var description: String
        var kind: Finding.Kind
        var happen: @Sendable (String) throws -> Void
    }

    static let losses: [Loss] = [
        .init(description: "flipped bit", kind: .damagedObject) { try Damage.flip($0, at: 1) },
        .init(description: "cut short", kind: .damagedObject) { try Damage.truncate($0, to: 2) },
        .init(description: "grown", kind: .damagedObject) { try Damage.extend($0, by: [1, 2]) },
        // With its bytes, or the tree would give them back.
        .init(description: "deleted", kind: .missingObject) {
            try Damage.flip($0, at: 1)
            Damage.remove($0)
        },
        .init(description: "a directory", kind: .notAFile) {
            try Damage.flip($0, at: 1)
            try Damage.replace($0, by: .directory)
        },
        .init(description: "a fifo", kind: .notAFile) {
            try Damage.flip($0, at: 1)
            try Damage.replace($0, by: .fifo)
        },
        .init(description: "a link", kind: .notAFile) {
            try Damage.flip($0, at: 1)
            try Damage.replace($0, by: .symbolicLink("/etc/hostname"))
        },
    ]

    @Test(arguments: losses, ["first content", "second content", "#! /bin/sh"])
    func `content that is fetched makes every version whole again`(
        loss: Loss, text: String
    ) throws {
        let elsewhere = Elsewhere(Array(Self.files.values))
        try loss.happen(try temporary.objectPath(of: text))
        // Its executable copy gives it back: nobody need be asked.
        let isHere = text.hasPrefix("#!")
        let versions = try temporary.reopened()
        let report = try versions.repair(from: elsewhere.fetching(versions)) { plan in
            expect(plan.steps.contains { $0.operation == (isHere ? .restoreObject : .fetchObject) })
            return true
        }
        let address = try address(of: text)
        expect(elsewhere.asked.map(\.address), equals: (isHere ? [] : [address]))
        expect(elsewhere.asked.map(\.byteCount), equals: (isHere ? [] : [Int64(text.utf8.count)]))
        expect(!report.findings.isEmpty)
        expect(report.findings.allSatisfy { $0.isRepaired && $0.kind == loss.kind })
        expect(report.findings.allSatisfy { $0.object == address && $0.path != nil })
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
        try expect(readTree(temporary.path + "/versions/1"), equals: Self.files)
        try expect(temporary.reopened().versions().allSatisfy { $0.state == .materialized })
    }

    @Test(arguments: losses)
    func `a plan that is not followed changes nothing`(loss: Loss) throws {
        let elsewhere = Elsewhere(Array(Self.files.values))
        try loss.happen(try temporary.objectPath(of: "first content"))
        _ = try temporary.reopened().check()
        let names = Damage.names(temporary.path)
        let findings = try temporary.reopened().check().findings
        let versions = try temporary.reopened()
        let report = try versions.repair(from: elsewhere.fetching(versions)) { _ in false }
        expect(report.findings, equals: findings)
        expect(elsewhere.asked, equals: [])
        expect(Damage.names(temporary.path), equals: names)
        try expect(temporary.reopened().check().findings, equals: findings)
    }

    @Test func `what an earlier repair took away is fetched, too`() throws {
        for text in ["first content", "third content"] {
            try Damage.flip(try temporary.objectPath(of: text), at: 3)
        }
        _ = try temporary.reopened().check(repairing: true)
        try expect(
            temporary.reopened().versions().map(\.state), equals: [.incomplete, .incomplete])
        let elsewhere = Elsewhere(["first content", "third content"])
        let versions = try temporary.reopened()
        let report = try versions.repair(from: elsewhere.fetching(versions)) { _ in true }
        expect(elsewhere.asked.count, equals: 2)
        // Of both versions: what nothing needs is no finding of a check, but is made whole all the same.
        expect(report.findings.map(\.kind), equals: [.incompleteVersion, .incompleteVersion])
        expect(report.findings.map(\.version), equals: ["1", "2"])
        expect(report.findings.allSatisfy { $0.isRepaired })
        try expect(temporary.reopened().versions().allSatisfy { $0.state == .materialized })
        try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test func `what no version names is not asked for`() throws {
        try temporary.versions.retire("2")
        try Damage.flip(try temporary.objectPath(of: "third content"), at: 3)
        let elsewhere = Elsewhere(["third content"])
        let versions = try temporary.reopened()
        let report = try versions.repair(from: elsewhere.fetching(versions)) { _ in true }
        expect(elsewhere.asked, equals: [])
        expect(report.findings.map(\.kind), equals: [.damagedObject])
        expect(report.findings.allSatisfy { $0.isRepaired })
    }

    @Test func `a fetch that fails leaves everything as it was`() throws {
        try Damage.flip(try temporary.objectPath(of: "first content"), at: 3)
        let versions = try temporary.reopened()
        expectRefusal(.io) {
            try versions.repair(
                from: RepairSource { (_) throws(StoreError) in throw StoreError(.io, "no way there")
                },
                proceeds: { _ in true })
        }
        try expect(temporary.reopened().versions().allSatisfy { $0.state == .materialized })
        try expect(temporary.reopened().check().findings.map(\.kind), equals: [.damagedObject])
    }

    @Test
    func
        `a tree that was kept without what is lost is whole again with the add that brings it back`()
        throws
    {
        try Damage.flip(try temporary.objectPath(of: "second content"), at: 3)
        _ = try temporary.reopened().repair { _ in true }
        let lost = try readTree(temporary.path + "/versions/1")
        expect(!lost.values.contains("second content"))
        try temporary.add("3", ["elsewhere": "second content"])
        let tree = try readTree(temporary.path + "/versions/1")
        expect(tree.values.contains("second content"))
        expect(tree.count, equals: lost.count + 1)
        try expect(temporary.reopened().check().findings, equals: [])
    }

    @Test func `each operation is in the plan once, with what it is done to`() throws {
        try Damage.flip(try temporary.objectPath(of: "second content"), at: 3)
        try Damage.setMode(try temporary.objectPath(of: "first content"), 0o600)
        Damage.remove(temporary.path + "/current")
        var plan: RepairPlan?
        let report = try temporary.reopened().repair {
            plan = $0
            return false
        }
        // Two versions show the damaged object.
        expect(report.findings.filter { $0.kind == .damagedObject }.count, equals: 2)
        let steps = try require(plan).steps
        let operations: [RepairStep.Operation] = [
            .keepTree, .quarantineObject, .removeIncompleteTree, .setCurrentLink, .setMode,
        ]
        expect(steps.map(\.operation.rawValue).sorted(), equals: operations.map(\.rawValue))
        // Tree by tree: that of what is current stays, with what is right in it.
        expect(steps.first { $0.operation == .keepTree }?.version, equals: "1")
        expect(steps.first { $0.operation == .removeIncompleteTree }?.version, equals: "2")
        let writable = try address(of: "first content")
        expect(steps.first { $0.operation == .setMode }?.object, equals: writable)
        expect(steps.allSatisfy { !$0.sentence.isEmpty })
    }

    @Test(
        "calls nothing lost that a check does not: what is staged for a version that is coming arrives"
    )
    func arriving() throws {
        let (versions, text) = (temporary.versions, "what is coming")
        let path = try TreePath("coming")
        let entry = Manifest.Entry(
            path: path, address: try address(of: text), byteCount: Int64(text.utf8.count),
            isExecutable: false)
        let manifest = try Manifest(
            version: VersionName("3"), ordinal: 3, createdAt: 1, entries: [entry])
        try versions.register(manifest)
        let incoming = try IncomingContents(versions.store)
        var item = try incoming.begin(entry.address, byteCount: entry.byteCount)
        try item.append(Array(text.utf8).span.bytes)
        _ = try item.finish()
        try expect(versions.check().findings.isEmpty)
        try expect(versions.repair { _ in true }.findings.isEmpty)
        // A pull that lives: nobody fetches it a second time.
        let lock = try versions.store.openLock(StoreLayout.pullLock("3"))
        try expect(versions.fileSystem.lock(lock.raw, exclusive: false))
        let elsewhere = Elsewhere([text])
        let report = try versions.repair(from: elsewhere.fetching(versions)) { _ in true }
        expect(report.findings.isEmpty && elsewhere.asked.isEmpty)
        try expect(incoming.commit(), equals: ["3"])
    }
}
