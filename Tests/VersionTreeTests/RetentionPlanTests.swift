import StorageTestSupport

@testable import VersionTree

@Suite("A retention plan") struct RetentionPlanTests {
    private static func summary(
        _ name: String, _ state: VersionState, isBad: Bool, _ lifecycle: Lifecycle
    ) throws -> VersionSummary {
        // Each its own, but that "a" is another name of 1's.
        let digit = name == "a" ? "1" : name
        let content = try require(ObjectID(String(repeating: digit, count: 64)))
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
        return RetentionPlan(
            versions, lifecycle, pinned: pinned, policy: .generations(count), now: 0)
    }

    private static let ten = (0..<10).reversed().map { "\($0)" }

    @Test func `keeps the last good generations and the newest, and retires the rest`() throws {
        let plan = try Self.plan(Self.ten) {
            $0.current = "7"
            $0.knownGood = ["7", "5", "4", "2"]
        }
        expect(plan.kept.map(\.version), equals: ["9", "7", "5"])
        expect(plan.retired.map(\.version), equals: ["8", "6", "4", "3", "2", "1", "0"])
        for verdict in plan.kept + plan.retired { expect(verdict.reason.contains(" ")) }
    }

    @Test(
        "lets go what was never shown and has been replaced: one version waits, whatever is current",
        arguments: ["3", nil] as [String?], ["9", "7"])
    func replaced(_ current: String?, _ pending: String) throws {
        let plan = try Self.plan(Self.ten) {
            $0.current = current
            $0.knownGood = current.map { [$0] } ?? []
            $0.pending = pending
        }
        let newer = plan.kept.map(\.version).filter { current == nil || $0 > "3" }
        expect(newer, equals: pending == "9" ? ["9"] : ["9", "7"])
    }

    @Test
    func `counts no good version that stays for another reason, but the current one`() throws {
        let plan = try Self.plan(Self.ten, pinned: ["6"]) {
            $0.current = "9"
            $0.pending = "8"
            $0.before = "5"
            $0.attempts = [.init(version: "9", content: ObjectID.zero)]
            $0.protected = ["7"]
            $0.embedded = "4"
            $0.knownGood = ["9", "8", "7", "6", "5", "4", "3", "2"]
        }
        expect(plan.kept.map(\.version), equals: ["9", "8", "7", "6", "5", "4", "3"])
    }

    @Test func `keeps good versions of so many contents, whatever names they have`() throws {
        let plan = try Self.plan(["a", "2", "1", "0"]) {
            $0.current = "a"
            $0.knownGood = ["a", "1", "2", "0"]
        }
        expect(plan.kept.map(\.version), equals: ["a", "2"])
    }

    @Test
    func `never retires what is current, pending, embedded, pinned or the last good one`() throws {
        for keeping in [-1, 0, 1] {
            let plan = try Self.plan(Self.ten, pinned: ["1"], keeping: keeping) {
                $0.current = "9"
                $0.pending = "3"
                $0.embedded = "0"
                $0.knownGood = ["4", "2"]
            }
            expect(plan.kept.map(\.version), equals: ["9", "4", "3", "1", "0"])
        }
    }

    @Test func `retires what is banned, however new, unless it is needed`() throws {
        let plan = try Self.plan(Self.ten, bad: ["9", "8", "6"], pinned: ["8"]) {
            $0.current = "7"
            $0.knownGood = ["7", "6", "5", "4"]
        }
        expect(plan.kept.map(\.version), equals: ["8", "7", "5"])
        expect(plan.retired.first?.reason, equals: "it is banned")
    }

    @Test func `counts no generation that cannot be shown`() throws {
        let plan = try Self.plan(Self.ten, incomplete: ["6"]) {
            $0.current = "9"
            $0.knownGood = ["9", "6", "5", "4"]
        }
        expect(plan.kept.map(\.version), equals: ["9", "5"])
    }

    @Test func `keeps a newer partial download and retires an older one`() throws {
        let plan = try Self.plan(["3", "2", "1"], incomplete: ["3", "1"]) {
            $0.current = "2"
            $0.knownGood = ["2"]
        }
        expect(plan.kept.map(\.version), equals: ["3", "2"])
        expect(plan.retired.map(\.version), equals: ["1"])
    }

    @Test func `retires nothing while nothing is current, and nothing of an empty store`() throws {
        try expect(Self.plan(Self.ten) { _ in }.retired.isEmpty)
        try expect(Self.plan([]) { $0.current = "1" }.retired.isEmpty)
    }

    // MARK: An operator's policy

    /// What a policy says about ten versions, the newest first; a version's name is its age in days.
    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var keep = 0
        var olderThanDays: Int64?
        var incomplete: Set<String> = []
        var bad: Set<String> = []
        var pinned: Set<String> = []
        var set: @Sendable (inout Lifecycle) -> Void = { $0.current = "0" }
        var kept: [String]
    }

    private static let ages = (0..<10).map { "\($0)" }

    private static let cases = [
        Case(testDescription: "only what is needed", kept: ["0"]),
        Case(testDescription: "the newest three besides", keep: 3, kept: ["0", "1", "2", "3"]),
        Case(
            testDescription: "the newest three besides all that is needed", keep: 3, pinned: ["9"],
            set: {
                $0.current = "1"
                $0.pending = "0"
                $0.embedded = "8"
                $0.knownGood = ["1", "2", "6"]
            }, kept: ["0", "1", "2", "3", "4", "5", "6", "8", "9"]),
        Case(
            testDescription: "every known good one",
            set: {
                $0.current = "0"
                $0.knownGood = ["4", "6", "9"]
            }, kept: ["0", "4", "6", "9"]),
        Case(testDescription: "what is young", olderThanDays: 4, kept: ["0", "1", "2", "3"]),
        Case(
            testDescription: "what is young or among the newest", keep: 6, olderThanDays: 2,
            kept: ["0", "1", "2", "3", "4", "5", "6"]),
        Case(testDescription: "the newest while none is current", set: { _ in }, kept: ["0"]),
        Case(
            testDescription: "as many as asked for while none is current", keep: 2, set: { _ in },
            kept: ["0", "1"]),
        Case(
            testDescription: "no banned one in place of another", keep: 2, bad: ["1", "2"],
            kept: ["0", "3", "4"]),
        Case(
            testDescription: "what may still be arriving", keep: 1, incomplete: ["0", "1", "5"],
            set: { $0.current = "3" }, kept: ["0", "2", "3"]),
        Case(
            testDescription: "no part that something whole has replaced", keep: 2,
            incomplete: ["1", "2", "3"], kept: ["0", "4", "5"]),
        Case(
            testDescription: "a download newer than all that is whole", incomplete: ["0"],
            set: { $0.current = "1" }, kept: ["0", "1"]),
    ]

    @Test(arguments: cases)
    func `keeps`(_ given: Case) throws {
        var lifecycle = Lifecycle()
        given.set(&lifecycle)
        let day: Int64 = 86_400
        let versions = try Self.ages.map { name in
            var summary = try Self.summary(
                name, given.incomplete.contains(name) ? .incomplete : .complete,
                isBad: given.bad.contains(name), lifecycle)
            summary.createdAt = 100 * day - (Int64(name) ?? 0) * day
            return summary
        }
        var policy = RetentionPolicy()
        policy.newestCount = given.keep
        policy.minimumAge = given.olderThanDays.map { .seconds($0 * day) }
        let plan = RetentionPlan(
            versions, lifecycle, pinned: given.pinned, policy: policy, now: 100 * day)
        expect(plan.kept.map(\.version), equals: given.kept)
        expect(plan.kept.count + plan.retired.count, equals: versions.count)
        for verdict in plan.kept + plan.retired { expect(verdict.reason.contains(" ")) }
    }

    @Test(
        "retires the oldest first, and no more than a limit of bytes asks for",
        arguments: [
            (1000, ["0"], 550), (550, ["0"], 550), (549, ["0", "9"], 540),
            (520, ["0", "9", "8"], 520), (519, ["0", "9", "8", "7"], 490),
            (0, ["0", "9", "8", "7", "6", "5", "4", "3", "2", "1"], 100),
        ] as [(Int64, [String], Int64)])
    func limit(_ limit: Int64, _ gone: [String], _ left: Int64) throws {
        var lifecycle = Lifecycle()
        lifecycle.current = "0"
        let versions = try Self.ages.map {
            try Self.summary($0, .complete, isBad: false, lifecycle)
        }
        var plan = RetentionPlan(versions, lifecycle, pinned: [], policy: RetentionPolicy(), now: 0)
        // 9 gives back 10, 8 gives back 20, and so on; the current one holds 100.
        plan.reach(limit, from: 550, freeing: [10, 20, 30, 40, 50, 60, 70, 80, 90])
        expect(plan.retired.map(\.version), equals: gone.dropFirst().reversed())
        expect(Set(plan.kept.map(\.version)), equals: Set(Self.ages).subtracting(gone.dropFirst()))
        expect(plan.byteCount, equals: left)
    }

    @Test(
        "counts the age of a version whose clock was wrong from the next one that was registered",
        arguments: [
            // Newest first: the days at which they say that they were registered, and those that are 30 days old by day 100.
            ([90, 30, 400, 20], ["1", "2", "3"]), ([400, 90, 20], ["2"]),
            ([90, -20_000, 60], ["2"]),
            ([-20_000, 60], ["1"]), ([95, 400, 95], []), ([400, 400], []),
            ([99, 65, 69], ["1", "2"]),
        ] as [([Int64], [String])])
    func wrongClocks(_ days: [Int64], _ retired: [String]) throws {
        let versions = try days.enumerated().map { (place, day) in
            var summary = try Self.summary("\(place)", .complete, isBad: false, Lifecycle())
            summary.createdAt = day * 86_400
            return summary
        }
        var lifecycle = Lifecycle()
        lifecycle.current = "9"
        var policy = RetentionPolicy()
        policy.minimumAge = .seconds(30 * 86_400)
        let plan = RetentionPlan(versions, lifecycle, pinned: [], policy: policy, now: 100 * 86_400)
        expect(plan.retired.map(\.version), equals: retired)
    }
}
