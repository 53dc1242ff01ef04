import HotPush
import StorageTestSupport

@Suite("A retry") struct RetryTests {
    @Test(
        "is worth it for what may pass",
        arguments: [
            (.failed(TransferFailure(.resolve, "")), nil, true),
            (.failed(TransferFailure(.connect, "")), nil, true),
            (.failed(TransferFailure(.broken, "")), nil, true),
            (.failed(TransferFailure(.timeout, "")), nil, true),
            (.failed(TransferFailure(.broken, "")), 200, true),
            (.failed(TransferFailure(.timeout, "")), 206, true),
            (.failed(TransferFailure(.security, "")), nil, false),
            (.failed(TransferFailure(.redirect, "")), nil, false),
            (.failed(TransferFailure(.malformed, "")), nil, false),
            (.failed(TransferFailure(.request, "")), nil, false),
            (.finished, 200, false), (.finished, 206, false), (.finished, 304, false),
            (.finished, 400, false), (.finished, 401, false), (.finished, 403, false),
            (.finished, 404, false), (.finished, 410, false), (.finished, 416, false),
            (.finished, 451, false), (.finished, 501, false), (.finished, 505, false),
            (.finished, 408, true), (.finished, 425, true), (.finished, 429, true),
            (.finished, 500, true), (.finished, 502, true), (.finished, 503, true),
            (.finished, 504, true),
            // The status is known: that its page broke off changes nothing.
            (.failed(TransferFailure(.broken, "")), 404, false),
            (.failed(TransferFailure(.malformed, "")), 503, true),
            (.refused, nil, false), (.refused, 503, false), (.tooLarge, 200, false),
            (.cancelled, nil, false), (.cancelled, 503, false),
        ] as [(TransferOutcome, Int?, Bool)])
    func worth(_ outcome: TransferOutcome, _ status: Int?, _ isWorth: Bool) {
        expect(RetryPolicy.isWorthRetrying(outcome, status: status), equals: isWorth)
    }

    @Test(
        "waits evenly between nothing and a limit that doubles",
        arguments: [(1, 500), (2, 1000), (3, 2000), (4, 4000), (7, 30_000), (60, 30_000), (0, 500)])
    func limits(_ failureCount: Int, _ limit: Int) {
        var generator = SeededRandom(seed: 1)
        var delays: [Duration] = []
        for _ in 0..<2000 {
            delays.append(RetryPolicy().delay(failureCount: failureCount, using: &generator))
        }
        expect(delays.allSatisfy { $0 >= .zero && $0 <= .milliseconds(limit) })
        // All parts of the span are used, as for even draws: each tenth 200 times, give or take.
        for tenth in 0..<10 {
            let span =
                Duration.milliseconds(limit) * tenth
                / 10..<(.milliseconds(limit) * (tenth + 1) / 10)
            expect((120...280).contains(delays.count { span.contains($0) }))
        }
    }

    private func decision(
        _ status: Int, retryAfter: String, now: Int64 = 0, seed: UInt64 = 3
    ) -> RetryBudget.Decision {
        let fields = [(name: "retry-after", value: retryAfter)]
        var (budget, generator) = (RetryBudget(), SeededRandom(seed: seed))
        return budget.decide(
            1, .finished, head: TransferHead(status: status, fields: fields, url: ""),
            newByteCount: 0, now: now, using: &generator)
    }

    @Test(arguments: [
        ("7", 7), ("0", 0), ("119", 119), ("121", 120), ("99999999999999999999999", 120),
        // 2026-01-01 00:00:00 UTC is now.
        ("Thu, 01 Jan 2026 00:00:30 GMT", 30), ("Thu, 01 Jan 2026 01:00:00 GMT", 120),
        ("Wed, 31 Dec 2025 23:59:59 GMT", 0), ("Thursday, 01-Jan-26 00:00:30 GMT", 30),
    ])
    func `comes no sooner than the server asks, within bounds`(_ value: String, _ seconds: Int) {
        for seed in UInt64(0)..<20 {
            let decision = decision(503, retryAfter: value, now: 1_767_225_600, seed: seed)
            guard case .again(let delay) = decision else {
                Issue.record("no retry: \(decision)")
                continue
            }
            expect(delay >= .seconds(seconds))
            expect(delay <= .seconds(seconds) + .milliseconds(500))
        }
    }

    @Test(arguments: ["soon", "-5", "1.5", "", "5 s"])
    func `does not mind a Retry-After that is none`(_ value: String) {
        let decision = decision(503, retryAfter: value)
        guard case .again(let delay) = decision, delay <= .milliseconds(500) else {
            Issue.record("no retry, or a late one: \(decision)")
            return
        }
    }

    private func fail(
        _ budget: inout RetryBudget, _ id: Int, _ count: Int, bringing newByteCount: Int64 = 0
    ) -> [RetryBudget.Decision] {
        var generator = SeededRandom(seed: 5)
        return (0..<count).map { _ in
            budget.decide(
                id, .failed(TransferFailure(.broken, "")), head: nil, newByteCount: newByteCount,
                now: 0, using: &generator)
        }
    }

    private func isAgain(_ decision: RetryBudget.Decision) -> Bool {
        if case .again = decision { true } else { false }
    }

    @Test func `ends when a file has used up its attempts; other files have theirs`() {
        var policy = RetryPolicy()
        policy.failureCountMax = 3
        var budget = RetryBudget(policy)
        let decisions = fail(&budget, 1, 3)
        expect(decisions.prefix(2).allSatisfy(isAgain))
        expect(decisions[2], equals: .spent)
        expect(fail(&budget, 2, 1).allSatisfy(isAgain))
    }

    @Test(
        "ends soon where nobody is there; not where somebody has answered before",
        arguments: [(TransferFailure.Kind.resolve, 2), (.connect, 2), (.timeout, 7), (.broken, 7)])
    func unreached(_ kind: TransferFailure.Kind, _ retryCount: Int) {
        let policy = RetryPolicy()
        for (policy, expected) in [(policy, retryCount), (policy.afterAnswer, 7)] {
            var generator = SeededRandom(seed: 5)
            let told = Mutex<[Retry]>([])
            var budget = RetryBudget(policy) { retry in told.withLock { $0.append(retry) } }
            var delays: [Duration] = []
            while case .again(let delay) = budget.decide(
                1, .failed(TransferFailure(kind, "why")), head: nil, newByteCount: 0, now: 0,
                using: &generator)
            { delays.append(delay) }
            expect(delays.count, equals: expected)
            expect(delays.prefix(2).reduce(.zero, +) <= .milliseconds(1500))
            // Each is told, with its reason and its rest.
            expect(told.withLock { $0.map(\.delay) }, equals: delays)
            expect(told.withLock { $0.allSatisfy { $0.reason == "why" } })
        }
    }

    @Test func `counts anew after bytes that were not here before`() {
        var policy = RetryPolicy()
        policy.failureCountMax = 3
        policy.pullFailureCountMax = 4
        var budget = RetryBudget(policy)
        for _ in 0..<10 {
            expect(fail(&budget, 1, 2).allSatisfy(isAgain))
            // As much as a second must bring.
            expect(fail(&budget, 1, 1, bringing: 137).allSatisfy(isAgain))
        }
        expect(fail(&budget, 1, 3).last, equals: .spent)
    }

    @Test(
        "ends where each attempt brings less than the least rate, however long it continues",
        arguments: [
            (1, Duration.zero, 1), (135, .zero, 1), (30, .seconds(60), 1), (8191, .seconds(60), 1),
            (8191, .seconds(3600), 1), (500, .seconds(60), 16),
        ] as [(Int64, Duration, Int)])
    func trickle(_ byteCount: Int64, _ lasting: Duration, _ count: Int) {
        let policy = RetryPolicy()
        var generator = SeededRandom(seed: 5)
        func decisions(_ byteCount: Int64) -> [RetryBudget.Decision] {
            var budget = RetryBudget(policy)
            return (0..<20).map { _ in
                budget.decide(
                    1, .failed(TransferFailure(.broken, "")), head: nil, newByteCount: byteCount,
                    lasting: lasting, among: count, now: 0, using: &generator)
            }
        }
        expect(decisions(byteCount)[policy.failureCountMax - 1], equals: .spent)
        // A little more is progress, and so is the share of one of many.
        expect(decisions(8192 / Int64(count)).allSatisfy(isAgain))
    }

    @Test func `ends when the pull has used up its attempts, whatever the files`() {
        var policy = RetryPolicy()
        policy.pullFailureCountMax = 5
        var budget = RetryBudget(policy)
        for id in 0..<4 { expect(fail(&budget, id, 1).allSatisfy(isAgain)) }
        expect(fail(&budget, 4, 1), equals: [.pullSpent])
        budget.progressed(9)
        expect(fail(&budget, 5, 1).allSatisfy(isAgain))
    }

    @Test func `is useless where nothing will change, and costs nothing then`() {
        expect(decision(404, retryAfter: "1"), equals: .useless)
    }
}
