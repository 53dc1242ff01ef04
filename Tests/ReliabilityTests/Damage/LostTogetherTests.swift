import HotPush
import StorageTestSupport

/// A version may lose its manifest and its tree while the store loses its index: docs/maintenance.md promises that one
/// repair is enough.
@Suite("What a version loses together") struct LostTogetherTests {
    typealias Victim = TamperingTests.Victim

    enum Role: String, CaseIterable, Sendable {
        case current = "1"
        case knownGood = "0"
        case pending = "2"
        case protected = "+2"

        var version: String { rawValue.replacingOccurrences(of: "+", with: "") }
    }

    enum Piece: CaseIterable, Sendable { case whole, damaged, gone }

    struct Loss: Sendable, CustomTestStringConvertible {
        var role: Role
        var manifest: Piece
        var tree: Piece
        var losesIndex: Bool
        var isFetching: Bool

        var testDescription: String {
            "\(role): manifest \(manifest), tree \(tree)\(losesIndex ? ", no index" : "")"
                + (isFetching ? ", repaired from an origin" : "")
        }

        static let all: [Loss] = Role.allCases.flatMap { role in
            Piece.allCases.flatMap { manifest in
                Piece.allCases.flatMap { tree in
                    [(false, false), (false, true), (true, false), (true, true)].map {
                        Loss(
                            role: role, manifest: manifest, tree: tree, losesIndex: $0,
                            isFetching: $1)
                    }
                }
            }
        }

        func inflict(on victim: Victim) throws {
            let version = role.version
            let path = victim.path("manifests/\(version).json")
            switch manifest {
            case .whole: break
            case .damaged: try Damage.flip(path, at: 3)
            case .gone: Damage.remove(path)
            }
            switch tree {
            case .whole: break
            case .damaged:
                chmod(victim.path("versions/\(version)"), 0o755)
                Damage.remove(victim.path("versions/\(version)/index.html"))
            case .gone: try TamperingTests.removeTree(victim, version)
            }
            guard losesIndex else { return }
            for name in ["index.sqlite", "index.sqlite-journal"] {
                Damage.remove(victim.path(name))
            }
        }
    }

    /// A store with a version of each role, and an origin that offers all of them.
    private func victim(_ role: Role) throws -> Victim {
        let victim = try Victim()
        let versions = try victim.place.open()
        for version in ["0", "1"] {
            try versions.makeKnownGood(version)
        }
        if role == .pending { try versions.activateAtNextBoot("2") }
        if role == .protected { _ = try versions.protect("2") }
        try Scenario.publish(["0", "1", "2"], of: versions, to: victim.place.beside + "/origin")
        return victim
    }

    private func repair(_ victim: Victim, isFetching: Bool) throws -> (CheckReport, RepairPlan) {
        let versions = try victim.place.open()
        let origin = victim.place.beside + "/origin"
        let repair = OriginRepair(into: versions, over: DirectoryTransport(origin))
        let source =
            try isFetching ? repair.source(origin, at: .directory(origin)) : nil
        var planned: RepairPlan?
        let report = try versions.repair(from: source) {
            planned = $0
            return true
        }
        return (report, try require(planned))
    }

    @Test(arguments: TestShare(oneIn: 4, of: "losses together").of(Loss.all))
    func `comes back with one repair, or is left to a person`(_ loss: Loss) throws {
        let victim = try victim(loss.role)
        try loss.inflict(on: victim)
        let (report, plan) = try repair(victim, isFetching: loss.isFetching)
        let left = report.findings.filter { !$0.isRepaired }
        let found = try victim.place.open().check(CheckOptions(isDeep: true)).findings
        let story = "\(plan.steps.map(\.sentence)); \(report.findings); then \(found)"
        if loss.isFetching { expect(left.isEmpty, "\(story)") }
        guard !left.isEmpty else {
            expect(found.isEmpty, "\(story)")
            let lifecycle = try victim.place.open().lifecycle()
            guard lifecycle.needed.contains(loss.role.version) else {
                // What is left shows no content of its own, and nobody knows what it was.
                return expect(loss.losesIndex && loss.manifest == .gone && loss.tree != .whole)
            }
            return try expect(
                readTree(victim.path("versions/\(loss.role.version)")),
                equals: Place.contents[loss.role.version])
        }
        let (again, rest) = try repair(victim, isFetching: loss.isFetching)
        expect(rest.steps.allSatisfy { $0.operation == .nothing }, "\(rest.steps); \(story)")
        expect(!again.findings.contains(where: \.isRepaired), "\(again.findings); \(story)")
    }
}
