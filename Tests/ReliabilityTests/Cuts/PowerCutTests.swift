import Expectations

/// Every verb, cut off after every change that it makes to the disk; of the states that may be left, a share in each run.
@Suite("A store whose power is cut") struct PowerCutTests {
    @Test(arguments: Scenario.all)
    func `keeps its promises after every change of a verb`(_ scenario: Scenario) throws {
        let tally = try PowerCuts(scenario: scenario, oneIn: 60).run()
        expect(tally.problems.isEmpty, "\(tally.problems.prefix(5).joined(separator: "\n"))")
        expect(tally.points > 3)
        print(
            "power cuts, \(scenario.testDescription): \(tally.points) points, "
                + "\(tally.ends) of them with each part alone, \(tally.states) states, "
                + "\(tally.distinct) looked at")
    }

    /// Verbs that write no content of a tree; docs/reliability.md, "What is not covered", tells of the others.
    private static let withoutTrees: [Scenario] = [
        .initialize, .put, .arrive, .suspend, .register, .activate, .schedule, .confirm, .rollback,
        .unban,
        .retire, .collect, .retireAndCollect, .publish, .publishFirst, .withdraw, .prune,
    ]

    @Test(arguments: withoutTrees)
    func `keeps its promises where the system has no syncfs`(_ scenario: Scenario) throws {
        var cuts = PowerCuts(scenario: scenario, oneIn: 240)
        cuts.fault = { disk in
            var lying = LyingDisk(disk)
            lying.canSyncAll = false
            return lying
        }
        let tally = try cuts.run()
        expect(tally.problems.isEmpty, "\(tally.problems.prefix(5).joined(separator: "\n"))")
    }

    @Test(
        "keeps its promises when a process is killed, another ends its work, and then the power goes",
        arguments: Scenario.all)
    func secondLife(_ scenario: Scenario) throws {
        let tally = try PowerCuts(scenario: scenario, oneIn: 60).runTwice()
        expect(tally.problems.isEmpty, "\(tally.problems.prefix(5).joined(separator: "\n"))")
        print(
            "second lives, \(scenario.testDescription): \(tally.points) points, "
                + "1 of \(tally.stride) looked at, \(tally.states) states")
    }
}
