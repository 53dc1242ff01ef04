import CASStore
import Foundation
import StorageTestSupport
import Testing
import VersionTree

/// Every verb, with calls to the disk failing: of each kind the first and the second, with one of the
/// errors that fit it in turn, if `CASTREE_TEST_ERRORS` is set; every call with every error that fits it
/// if `CASTREE_TEST_ALL` is (`make errors`).
@Suite("A store whose disk reports an error") struct ErrorTests {
    /// The calls of a run that fail: all of them, or of each kind the first and the second, which stand for
    /// all.
    private func calls(
        _ operations: [FaultyFileSystem.Operation]
    ) -> [(position: Int, operation: FaultyFileSystem.Operation)] {
        var seen: [String: Int] = [:]
        var result: [(Int, FaultyFileSystem.Operation)] = []
        for (index, operation) in operations.enumerated() {
            let count = seen[operation.place, default: 0]
            seen[operation.place] = count + 1
            if Self.isThorough || count < 2 { result.append((index + 1, operation)) }
        }
        return result
    }

    private static let isAsked =
        ProcessInfo.processInfo.environment["CASTREE_TEST_ERRORS"] != nil || isThorough

    private static let isThorough =
        ProcessInfo.processInfo.environment["CASTREE_TEST_ALL"] != nil

    private final class Bench {
        let scenario: Scenario
        let directory = TemporaryDirectory(inMemory: true)
        let place: Place
        let beginning: RecordingDisk
        let before: Facts
        let after: Facts
        let operations: [FaultyFileSystem.Operation]
        var number = 0

        init(_ scenario: Scenario) throws {
            self.scenario = scenario
            place = try PowerCuts.prepared(scenario, in: directory)
            if scenario.testDescription == Scenario.rebuild.testDescription {
                before = try Facts(place, place.open())
                try scenario.prepareAgain(place)
            } else {
                before = scenario.hasStore ? try Facts(place, place.open()) : Facts()
            }
            beginning = try RecordingDisk(place.root)
            let disk = FaultyFileSystem()
            try scenario.run(place, disk, true)
            operations = disk.operations
            after = try Facts(place, place.open())
        }

        /// Runs the verb on a fresh copy with a fault.
        func survive(_ fault: FaultyFileSystem.Fault) throws -> [String] {
            number += 1
            let here = place.moved(to: directory.appending("run-\(number)"))
            defer { Damage.remove(here.root) }
            let files = beginning.indexes.first ?? .absent
            _ = try Remains(
                beginning.beginning, .everything(beginning.beginning), seed: 0, saved: files,
                now: files
            ).build(at: here.root)
            // A copied index has another change time, and is made again: here, not under the fault.
            if scenario.hasStore,
                scenario.testDescription != Scenario.rebuild.testDescription
            {
                _ = try here.open().store.usage()
            }
            let disk = FaultyFileSystem()
            disk.arm(fault)
            var failure: StoreError?
            do { try scenario.run(here, disk, true) } catch let error as StoreError {
                failure = error
            }
            let problems = PromiseCheck(
                scenario: scenario, before: before, after: after, isAcknowledged: failure == nil
            ).problems(at: here, on: POSIXFileSystem(), tryingWithoutIndex: false)
            return problems + sentence(failure)
        }

        // Every error is a sentence: what failed, on what.
        private func sentence(_ failure: StoreError?) -> [String] {
            guard let failure else { return [] }
            return failure.message.count > 15 ? [] : ["no sentence: \(failure.message)"]
        }
    }

    @Test(
        "keeps its promises when a call fails",
        .enabled(if: isAsked, "takes minutes: set CASTREE_TEST_ERRORS, or make errors"),
        arguments: Scenario.all)
    func failing(_ scenario: Scenario) throws {
        let bench = try Bench(scenario)
        var count = 0
        var problems: [String] = []
        for (turn, call) in calls(bench.operations).enumerated() {
            let all = call.operation.fittingErrors
            for number in Self.isThorough ? all : [all[turn % all.count]] {
                count += 1
                problems += try bench.survive(.fail(number, at: call.position)).map {
                    "\(scenario.testDescription), \(String(cString: strerror(number))) at "
                        + "\(call.position) (\(call.operation.place)): \($0)"
                }
            }
            if call.operation.verb == .write {
                count += 1
                problems += try bench.survive(.tear(ENOSPC, at: call.position, ofAll: true)).map {
                    "\(scenario.testDescription), half a write at \(call.position): \($0)"
                }
            }
        }
        #expect(problems.isEmpty, "\(problems.prefix(5).joined(separator: "\n"))")
        print(
            "errors, \(scenario.testDescription): \(bench.operations.count) calls, \(count) errors")
    }
}
