import Expectations

@testable import ServeFromCAS

// docs/clients.md, "What the server does": what clients fetch is put together beside the threads that serve.
@Suite("Long work for clients")
struct PlanQueueTests {
    private static func limits(
        threads: Int = 2, perClient: Int = 3, all: Int = 5, waiting: Int = 4
    ) -> PlanQueue.Limits {
        var limits = PlanQueue.Limits()
        limits.threads = threads
        limits.perClient = perClient
        limits.all = all
        limits.waiting = waiting
        return limits
    }

    private func wait(until isSo: () -> Bool) throws {
        let end = ContinuousClock.now + .seconds(120)
        while !isSo() {
            try require(ContinuousClock.now < end, "it never came")
            sched_yield()
        }
    }

    @Test("is taken up to a bound for each client and one for all, and again once some is done")
    func bounds() throws {
        let queue = PlanQueue(Self.limits())
        let done = Mutex<[String: @Sendable () -> Void]>([:])
        func add(_ key: String, _ client: UInt8) -> Bool {
            queue.add(key, for: [client]) { end in done.withLock { $0[key] = end } }
        }
        func end(_ key: String) throws {
            try wait { done.withLock { $0[key] != nil } }
            done.withLock { $0.removeValue(forKey: key) }?()
        }
        for key in ["a", "b", "c"] { expect(add(key, 1), "\(key)") }
        // What is not over counts, though no thread is busy with it.
        expect(!add("d", 1))
        expect(add("d", 2) && add("e", 2))
        for client: UInt8 in 2...9 { expect(!add("f", client), "all together") }
        try end("d")
        expect(!add("f", 1), "another's end is of no use to who has too much")
        expect(add("f", 3) && !add("g", 3))
        for key in ["a", "b", "c", "e", "f"] { try end(key) }
        for key in ["a", "b", "c"] { expect(add(key, 1), "again: \(key)") }
    }

    @Test func `for one thing is done one after the other, and counts once, whoever asks`() throws {
        let queue = PlanQueue(Self.limits(perClient: 1, all: 1))
        let (gate, order) = (try Gate(), Sink<Int>())
        expect(
            queue.add("a", for: [1]) { done in
                gate.wait()
                order.add(0)
                done()
            })
        for number in 1...4 {
            let isTaken = queue.add("a", for: [UInt8(number % 2)]) { done in
                order.add(number)
                done()
            }
            expect(isTaken, "\(number)")
        }
        expect(!queue.add("a", for: [1]) { $0() }, "there is a bound for these, too")
        expect(!queue.add("b", for: [2]) { $0() })
        expect(order.all.isEmpty)
        gate.open()
        try wait { order.all.count == 5 }
        expect(order.all, equals: [0, 1, 2, 3, 4])
        try wait { queue.add("b", for: [2]) { $0() } }
    }

    @Test func `keeps no caller waiting, whatever it waits for itself`() throws {
        let queue = PlanQueue(Self.limits(threads: 2, perClient: 5))
        let (gate, over) = (try Gate(), Sink<Int>())
        for number in 0..<5 {
            let isTaken = queue.add("\(number)", for: [1]) { done in
                gate.wait()
                over.add(number)
                done()
            }
            expect(isTaken)
        }
        // All were taken, though the two threads stand at the gate.
        expect(over.all.isEmpty)
        for _ in 0..<5 { gate.open() }
        try wait { over.all.count == 5 }
        expect(Set(over.all), equals: Set(0..<5))
    }
}
