import CASStore
import HotPush
import Testing

@testable import VersionTree

@Suite("A retention plan") struct RetentionPlanTests {
    private static func summary(
        _ name: String, _ state: VersionState, isBad: Bool, _ lifecycle: Lifecycle
    ) throws -> VersionSummary {
        // A plan looks at what is banned, not at contents.
        let content = try #require(ObjectID(String(repeating: "0", count: 64)))
        return VersionSummary(
            version: name, content: content, state: state, files: 1, bytes: 1, uniqueBytes: 1,
            missingObjects: 0,
            createdAt: 0, isCurrent: lifecycle.current == name,
            isPending: lifecycle.pending == name,
            isKnownGood: lifecycle.knownGood.contains(name), isBad: isBad,
            isEmbedded: lifecycle.embedded == name)
    }

    private static func plan(
        _ names: [String], incomplete: Set<String> = [], bad: Set<String> = [],
        pinned: Set<String> = [], keeping count: Int = 2, _ set: (inout Lifecycle) -> Void
    ) throws -> RetentionPlan {
        var lifecycle = Lifecycle()
        set(&lifecycle)
        let versions = try names.map {
            try summary(
                $0, incomplete.contains($0) ? .incomplete : .materialized, isBad: bad.contains($0),
                lifecycle)
        }
        return RetentionPlan(versions, lifecycle, pinned: pinned, goodCount: count)
    }

    private static let ten = (0..<10).reversed().map { "\($0)" }

    @Test("keeps the last good generations and what is newer, and retires the rest")
    func generations() throws {
        let plan = try Self.plan(Self.ten) {
            $0.current = "7"
            $0.knownGood = ["7", "5", "4", "2"]
        }
        #expect(plan.kept.map(\.version) == ["9", "8", "7", "5"])
        #expect(plan.retired.map(\.version) == ["6", "4", "3", "2", "1", "0"])
        for verdict in plan.kept + plan.retired { #expect(verdict.reason.contains(" ")) }
    }

    @Test("never retires what is current, pending, embedded, pinned or the last good one")
    func needed() throws {
        for keeping in [-1, 0, 1] {
            let plan = try Self.plan(Self.ten, pinned: ["1"], keeping: keeping) {
                $0.current = "9"
                $0.pending = "3"
                $0.embedded = "0"
                $0.knownGood = ["4", "2"]
            }
            #expect(plan.kept.map(\.version) == ["9", "4", "3", "1", "0"])
        }
    }

    @Test("retires what is banned, however new, unless it is needed")
    func banned() throws {
        let plan = try Self.plan(Self.ten, bad: ["9", "8", "6"], pinned: ["8"]) {
            $0.current = "7"
            $0.knownGood = ["7", "6", "5", "4"]
        }
        #expect(plan.kept.map(\.version) == ["8", "7", "5"])
        #expect(plan.retired.first?.reason == "it is banned")
    }

    @Test("counts no generation that cannot be shown")
    func incompleteGood() throws {
        let plan = try Self.plan(Self.ten, incomplete: ["6"]) {
            $0.current = "9"
            $0.knownGood = ["9", "6", "5", "4"]
        }
        #expect(plan.kept.map(\.version) == ["9", "5"])
    }

    @Test("keeps a newer partial download and retires an older one")
    func partial() throws {
        let plan = try Self.plan(["3", "2", "1"], incomplete: ["3", "1"]) {
            $0.current = "2"
            $0.knownGood = ["2"]
        }
        #expect(plan.kept.map(\.version) == ["3", "2"])
        #expect(plan.retired.map(\.version) == ["1"])
    }

    @Test("retires nothing while nothing is current, and nothing of an empty store")
    func nothingCurrent() throws {
        #expect(try Self.plan(Self.ten) { _ in }.retired.isEmpty)
        #expect(try Self.plan([]) { $0.current = "1" }.retired.isEmpty)
    }
}
