import StorageTestSupport

/// Every verb, with calls to the disk failing.
///
/// Always: of each kind of call the first, and of those that are the first of their kind and place one in
/// three, with one of the errors that fit it in turn; a quarter of them in each run. If
/// `CASTREE_TEST_ERRORS` is set: of the calls that are alike, in kind and place, the first and the second.
/// If `CASTREE_TEST_ALL` is (`make errors`): every call with every error that fits it.
@Suite("A store whose disk reports an error") struct ErrorTests {
    private static let isThorough =
        ProcessInfo.processInfo.environment["CASTREE_TEST_ALL"] != nil
    private static let isAsked =
        ProcessInfo.processInfo.environment["CASTREE_TEST_ERRORS"] != nil || isThorough

    @Test("keeps its promises when the first call of a kind fails, with each error in turn")
    func slice() throws {
        let all = Scenario.all
        let total = Mutex(ErrorBench.Tally())
        let failures = Notices()
        DispatchQueue.concurrentPerform(iterations: all.count) { index in
            do {
                let bench = try ErrorBench(all[index])
                var tally = ErrorBench.Tally()
                // Of each kind of call the first; of the others, by what they are about, one in three.
                let calls = bench.calls(1)
                let share = TestShare(oneIn: 8, of: all[index].testDescription)
                var kinds: Set<String> = []
                for (turn, call) in calls.enumerated() {
                    let kind = "\(call.operation.verb) \(String(describing: call.operation.access))"
                    guard kinds.insert(kind).inserted || (turn + index) % 3 == 0 else { continue }
                    guard share.takes(turn) else { continue }
                    let errors = call.operation.fittingErrors
                    tally += try bench.fail(call, with: errors[(turn + index) % errors.count])
                    if call.operation.verb == .write {
                        tally += try bench.fail(call, with: ENOSPC, tearing: true)
                    }
                }
                total.withLock { $0 += tally }
            } catch {
                failures.add("\(all[index].testDescription): \(error)")
            }
        }
        let tally = total.withLock(\.self)
        expect(failures.all.isEmpty)
        expect(tally.problems.isEmpty, "\(tally.problems.prefix(5).joined(separator: "\n"))")
        expect(tally.isSound, "of \(tally.asked) errors only \(tally.firedCount) were met")
        let names = tally.fired.sorted { $0.key < $1.key }.map {
            "\($0.value) × \(String(cString: strerror($0.key)))"
        }
        if TestShare.isWhole, all.count > 20 {
            let expected: Set = [
                EIO, ENOSPC, EDQUOT, EROFS, EMFILE, EACCES, EPERM, EMLINK, EXDEV, ENOLCK,
            ]
            expect(Set(tally.fired.keys), equals: expected)
        }
        print(
            "errors, a slice of \(all.count) verbs: \(tally.asked) asked for, "
                + "\(tally.firedCount) met, \(tally.refused) refused: \(names.joined(separator: ", "))"
        )
    }

    @Test func `takes no manifest that it does not give once for a lost one`() throws {
        let all = Scenario.all
        let failures = Mutex<[String]>([])
        let firedCount = Mutex(0)
        DispatchQueue.concurrentPerform(iterations: all.count) { index in
            do {
                let bench = try ErrorBench(all[index])
                let share = TestShare(oneIn: 3, of: "manifests, \(all[index].testDescription)")
                for (turn, call) in bench.calls(.max).enumerated()
                where share.takes(turn) && call.operation.path.contains("/store/manifests/")
                    && !call.operation.changesDisk
                    && [.open, .status, .read].contains(call.operation.verb)
                {
                    let tally = try bench.fail(call, with: EIO)
                    firedCount.withLock { $0 += tally.firedCount }
                    failures.withLock { $0 += tally.problems }
                }
            } catch {
                failures.withLock { $0.append("\(all[index].testDescription): \(error)") }
            }
        }
        let problems = failures.withLock(\.self)
        expect(problems.isEmpty, "\(problems.prefix(5).joined(separator: "\n"))")
        expect(firedCount.withLock(\.self) > 0)
    }

    @Test func `has every error say what failed, on what, why, and what to do`() {
        let whole = StoreError(systemCall: "write", errno: EIO, path: "/store/stamp")
        expect(whole.gaps, equals: [])
        for (message, gap) in [
            ("unable to write: \(String(cString: strerror(EIO))); check the disk", "names no path"),
            ("unable to write /store/stamp; check the disk", "gives no reason"),
            ("unable to write /store/stamp: \(String(cString: strerror(EIO)))", "gives no advice"),
        ] {
            expect(StoreError(.io, message, cause: whole.cause).gaps, equals: [gap])
        }
        expect(StoreError(.io, "something did not work").gaps.count, equals: 2)
    }

    @Test(
        .enabled(if: isAsked, "takes minutes: set CASTREE_TEST_ERRORS, or make errors"),
        arguments: Scenario.all)
    func `keeps its promises when a call fails`(_ scenario: Scenario) throws {
        let bench = try ErrorBench(scenario)
        var tally = ErrorBench.Tally()
        let calls = bench.calls(Self.isThorough ? .max : 2)
        for (turn, call) in calls.enumerated() {
            let all = call.operation.fittingErrors
            for number in Self.isThorough ? all : [all[turn % all.count]] {
                tally += try bench.fail(call, with: number)
            }
            if call.operation.verb == .write {
                tally += try bench.fail(call, with: ENOSPC, tearing: true)
            }
        }
        expect(tally.problems.isEmpty, "\(tally.problems.prefix(5).joined(separator: "\n"))")
        expect(tally.isSound, "of \(tally.asked) errors only \(tally.firedCount) were met")
        print(
            "errors, \(scenario.testDescription): \(bench.operations.count) calls, "
                + "\(tally.asked) errors, \(tally.firedCount) met, \(tally.refused) refused")
    }
}
