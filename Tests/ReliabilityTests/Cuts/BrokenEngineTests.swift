import StorageTestSupport

/// The suite, tested: an engine that is broken in one way must be found out.
@Suite("The suite of power cuts") struct BrokenEngineTests {
    /// A way to be broken, made at the disk, and the verbs that show it.
    struct Fault: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var scenarios: [Scenario]
        var make: @Sendable (RecordingDisk) -> any FileSystem
        /// Fail each of the syncs in turn, too.
        var failsSyncs = false

        init(
            _ name: String, in scenarios: [Scenario], failsSyncs: Bool = false,
            _ change: @escaping @Sendable (inout LyingDisk) -> Void
        ) {
            testDescription = name
            self.scenarios = scenarios
            self.failsSyncs = failsSyncs
            make = { disk in
                var lying = LyingDisk(disk)
                change(&lying)
                return lying
            }
        }

        init(
            _ name: String, in scenarios: [Scenario],
            postponing: @escaping @Sendable (String) -> Bool
        ) {
            testDescription = name
            self.scenarios = scenarios
            make = { disk in
                disk.postpones = postponing
                return disk
            }
        }
    }

    static let faults = [
        Fault("pretends to sync files", in: [.put, .activate]) {
            $0.ignoresSync = { _, isDirectory in !isDirectory }
        },
        Fault("does not sync directories", in: [.activate, .retire, .withdraw]) {
            $0.ignoresSync = { _, isDirectory in isDirectory }
        },
        Fault("does not sync the parent of a new shard", in: [.put]) {
            $0.canSyncAll = false
            $0.ignoresSync = { path, _ in path.hasSuffix("/objects") }
        },
        Fault("never calls syncfs", in: [.add, .arrive, .publish]) {
            $0.ignoresSyncAll = { _ in true }
        },
        Fault("publishes content before it is durable", in: [.add]) {
            $0.ignoresSyncAll = { $0 == 1 }
        },
        Fault("shows manifest and tree before they are durable", in: [.add]) {
            $0.ignoresSyncAll = { $0 == 2 }
        },
        Fault("acknowledges before the last syncfs", in: [.add]) {
            $0.ignoresSyncAll = { $0 == 3 }
        },
        Fault(
            "tells the index before the object", in: [.put, .add],
            postponing: { $0.hasPrefix("link ") && $0.utf8.count == 5 + 65 }),
        Fault("renames before it syncs", in: [.activate, .confirm]) {
            $0.ignoresSync = { path, _ in path.hasSuffix(".lifecycle.json.new") }
        },
        Fault("writes over the lifecycle in place", in: [.activate]) { $0.writesInPlace = true },
        Fault("unlinks before it renames", in: [.activate]) { $0.unlinksFirst = true },
        Fault("ignores a failed sync", in: [.put], failsSyncs: true) {
            $0.afterFailedSync = .ignores
        },
        Fault("syncs again after a failed sync", in: [.put], failsSyncs: true) {
            $0.afterFailedSync = .triesAgain
        },
        Fault("deletes content before its version is forgotten", in: [.retireAndCollect]) {
            $0.ignoresSync = { path, _ in path.hasSuffix("/manifests") }
        },
        Fault("deletes a tree before its hidden name is durable", in: [.replace]) {
            $0.ignoresSync = { path, _ in path.hasSuffix("/versions") }
        },
        Fault("changes the index unannounced", in: [.collect, .retireAndCollect]) {
            $0.ignoresSync = { path, _ in path.hasSuffix("/stamp") }
        },
        Fault("does not sync the index", in: [.retire]) { $0.indexSync = .never },
        Fault("calls the index committed before it is synced", in: [.retire]) {
            $0.indexSync = .afterTheStamp
        },
        Fault("does not write on after a short write", in: [.add]) { $0.writesHalves = true },
        Fault("offers a release before its objects are durable", in: [.publish]) {
            $0.ignoresSyncAll = { _ in true }
        },
        Fault("replaces a pointer that is not durable", in: [.publish, .withdraw]) {
            $0.ignoresSync = { path, isDirectory in !isDirectory && path.contains("/put-") }
        },
    ]

    @Test(arguments: TestShare(oneIn: 9, of: "broken engines").of(faults))
    func `catches an engine that`(_ fault: Fault) throws {
        for scenario in fault.scenarios {
            if try isCaught(fault, in: scenario) { return }
        }
        Issue.record("an engine that \(fault.testDescription) passes")
    }

    private func isCaught(_ fault: Fault, in scenario: Scenario) throws -> Bool {
        for sync in fault.failsSyncs ? 1...20 : 0...0 {
            var cuts = PowerCuts(scenario: scenario)
            cuts.stopsEarly = true
            cuts.fault = { disk in
                disk.failingSync = sync
                return fault.make(disk)
            }
            let tally = try cuts.run()
            // An engine that refuses is sound, unless what it stumbles over is its own work.
            let isBroken = tally.problems.contains {
                !$0.contains(" failed: ") || $0.contains("[damagedObject]")
            }
            if isBroken { return true }
        }
        return false
    }

    @Test func `catches an engine that takes what a killed process has left for durable`() throws {
        var cuts = PowerCuts(scenario: .activate)
        cuts.fault = { disk in
            var lying = LyingDisk(disk)
            lying.ignoresSync = { path, _ in path.hasSuffix("/store") }
            return lying
        }
        try expect(!cuts.runTwice().problems.isEmpty)
    }

    @Test func `lets an engine pass that gives up after a failed sync`() throws {
        // Neither may what was acknowledged be lost, nor may it be called done.
        for sync in 1...20 {
            var cuts = PowerCuts(scenario: .put)
            cuts.fault = { disk in
                disk.failingSync = sync
                return disk
            }
            let tally = try cuts.run()
            if tally.problems.isEmpty { return }
            expect(tally.problems.count == 1 && tally.problems[0].contains("put failed: "))
        }
    }
}
