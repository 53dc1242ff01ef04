import StorageTestSupport

/// A place where a verb can be run again and again, each time with another call to the disk failing.
final class ErrorBench {
    let scenario: Scenario
    private let directory = TemporaryDirectory(inMemory: true)
    private let place: Place
    private let beginning: RecordingDisk
    private let before: Facts
    private let after: Facts
    let operations: [FaultyFileSystem.Operation]
    private var number = 0

    /// What was looked at, and what was wrong.
    struct Tally {
        var asked = 0
        /// Errors that the verb really met.
        var fired: [Int32: Int] = [:]
        /// Runs that ended with an error; the others got over it.
        var refused = 0
        var problems: [String] = []

        var firedCount: Int { fired.values.reduce(0, +) }

        /// Whether most errors were met where they fit: threads may take another way than in the run that
        /// was counted.
        var isSound: Bool { firedCount * 4 >= asked * 3 }

        static func += (left: inout Tally, right: Tally) {
            left.asked += right.asked
            left.fired.merge(right.fired, uniquingKeysWith: +)
            left.refused += right.refused
            left.problems += right.problems
        }
    }

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

    /// A call of the verb: the n-th, from 1, of those at its place.
    typealias Call = (number: Int, operation: FaultyFileSystem.Operation)

    /// The calls of a run that fail: of those that are alike the first `count`, which stand for all.
    func calls(_ count: Int) -> [Call] {
        var seen: [String: Int] = [:]
        var result: [Call] = []
        for operation in operations {
            let alike = operation.place(in: place.root)
            let number = seen[alike, default: 0] + 1
            seen[alike] = number
            if number <= count { result.append((number, operation)) }
        }
        return result
    }

    /// Lets a call fail, and if it is a write, first makes half of it; says where.
    func fail(_ call: Call, with number: Int32, tearing: Bool = false) throws -> Tally {
        let alike = call.operation.place(in: place.root)
        let fault: FaultyFileSystem.Fault =
            tearing ? .tear(number, at: call.number) : .fail(number, at: call.number)
        // Threads may take another way than in the run that was counted, and make fewer calls there.
        var tally = Tally(asked: 1)
        for _ in 0..<5 where tally.firedCount == 0 {
            let once = try survive(fault, alike, number)
            (tally.fired, tally.refused) = (once.fired, once.refused)
            tally.problems += once.problems
        }
        tally.problems = tally.problems.map {
            "\(scenario.testDescription), \(tearing ? "half a write, " : "")"
                + "\(String(cString: strerror(number))) at \(call.number) "
                + "of \(alike): \($0)"
        }
        return tally
    }

    /// Runs the verb on a fresh copy with a fault; it was met if it fits the call.
    private func survive(
        _ fault: FaultyFileSystem.Fault, _ alike: String, _ errno: Int32
    ) throws -> Tally {
        number += 1
        let here = place.moved(to: directory.appending("run-\(number)"))
        defer { Damage.remove(here.root) }
        let files = beginning.indexes.first ?? .absent
        _ = try Remains(
            beginning.beginning, .everything(beginning.beginning), seed: 0, saved: files,
            now: files
        ).build(at: here.root)
        // A copied index has another change time, and is made again: here, not under the fault.
        if scenario.hasStore, scenario.testDescription != Scenario.rebuild.testDescription {
            _ = try here.open().store.usage()
        }
        let disk = FaultyFileSystem()
        let root = here.root
        disk.arm(fault.counting { $0.place(in: root) == alike })
        var failure: StoreError?
        do { try scenario.run(here, disk, true) } catch let error as StoreError {
            failure = error
        }
        var tally = Tally()
        if disk.firedAt?.fittingErrors.contains(errno) == true { tally.fired[errno] = 1 }
        // "When it throws, the version is not there."
        if failure != nil, scenario.testDescription == Scenario.add.testDescription,
            try here.open().versions().contains(where: { $0.version == "1" })
        {
            tally.problems.append("the version is there though it threw")
        }
        tally.problems += PromiseCheck(
            scenario: scenario, before: before, after: after, isAcknowledged: failure == nil
        ).problems(at: here, on: POSIXFileSystem(), tryingWithoutIndex: false)
        if let failure {
            tally.refused = 1
            if !disk.hasFired { tally.problems.append("fails without an error: \(failure)") }
            tally.problems += failure.gaps.map { "\($0): \(failure.message)" }
        }
        return tally
    }
}

extension StoreError {
    /// What is missing for its message to be of use: what failed, on what, why, and what to do about it.
    var gaps: [String] {
        guard case .systemCall(_, let number, let path) = cause else {
            let namesSomething =
                message.contains("/") || message.contains("version ") || message.contains("object ")
            let explains = message.contains(";") || message.contains(":")
            return (namesSomething ? [] : ["names nothing"])
                + (explains ? [] : ["gives no reason and no advice"])
        }
        let name = path.split(separator: "/").last.map(String.init) ?? path
        let isOfTheDisk = [ENOSPC, EDQUOT, EACCES, EPERM, EROFS, EMFILE, EIO].contains(number)
        return (message.contains(name) ? [] : ["names no path"])
            + (message.contains(String(cString: strerror(number))) ? [] : ["gives no reason"])
            + (isOfTheDisk && !message.contains("; ") ? ["gives no advice"] : [])
    }
}
