import StorageTestSupport

/// `--dry-run` says what happens.
///
/// Whatever was done to a store, the plan of its repair names each tree that goes and
/// none that stays, and what it restores or builds is there afterwards. A second repair finds nothing to do.
@Suite("The plan of a repair") struct PlannedRepairTests {
    @Test(
        arguments: TestShare(oneIn: 4, of: "planned repairs").of(
            TamperingTests.tamperings + losses))
    func `is what happens, if somebody`(_ tampering: TamperingTests.Tampering) throws {
        let victim = try TamperingTests.Victim()
        try tampering.act(victim)
        var planned: RepairPlan?
        _ = try victim.place.open().repair { plan in
            planned = plan
            return false
        }
        let plan = try require(planned)
        let before = Self.trees(victim)
        let report = try victim.place.open().repair { _ in true }
        let after = Self.trees(victim)
        let sentences = plan.steps.map(\.sentence)
        let told = plan.steps.filter {
            [.removeTree, .removeIncompleteTree, .recoverManifest, .removeLeftover]
                .contains($0.operation)
        }.compactMap { $0.path ?? $0.version.map { "versions/\($0)" } }
        for tree in before.subtracting(after) {
            expect(told.contains("versions/\(tree)"), "\(tree) went: \(sentences)")
        }
        let store = try victim.place.open().store
        for step in plan.steps {
            switch step.operation {
            case .removeTree, .removeIncompleteTree:
                let name = try require(step.path).dropFirst("versions/".count)
                expect(!after.contains(String(name)), "\(name) stays: \(sentences)")
            case .buildTree, .rebuildTree, .keepTree:
                expect(after.contains(try require(step.version)), "\(sentences)")
            case .restoreObject:
                try expect(store.contains(require(step.object)), "\(sentences)")
            default: break
            }
        }
        // Nothing was fetched, and nobody says so.
        expect(
            !report.findings.contains { $0.message.contains("fetched") },
            "\(report.findings.map(\.message))")
        // Whatever is left needs a person.
        var again: RepairPlan?
        _ = try victim.place.open().repair { plan in
            again = plan
            return false
        }
        let rest = try require(again).steps.filter { $0.operation != .nothing }.map(\.sentence)
        expect(rest.isEmpty, "a second repair would continue; the first: \(sentences)")
    }

    /// More than one thing at once, as disks lose them.
    private static let losses = [
        TamperingTests.Tampering("loses objects and index", .missingObject) { victim in
            for name in ["objects", "index.sqlite"] { Damage.remove(victim.path(name)) }
        },
        TamperingTests.Tampering("loses all but the trees", .missingManifest) { victim in
            for name in ["objects", "index.sqlite", "manifests", "lifecycle.json"] {
                Damage.remove(victim.path(name))
            }
        },
        TamperingTests.Tampering("loses an object and the trees that show it", .missingObject) {
            victim in
            Damage.remove(try victim.object("hello"))
            try TamperingTests.removeTree(victim, "1")
        },
        TamperingTests.Tampering("loses an object of a version that nobody shows", .missingObject) {
            victim in
            Damage.remove(try victim.object("two"))
            let tree = victim.path("versions/2")
            chmod(tree, 0o755)
            Damage.remove(tree + "/index.html")
        },
    ]

    /// The names in `versions/` that are not hidden.
    private static func trees(_ victim: TamperingTests.Victim) -> Set<String> {
        let names = try? FileManager.default.contentsOfDirectory(atPath: victim.path("versions"))
        return Set((names ?? []).filter { !$0.hasPrefix(".") })
    }
}
