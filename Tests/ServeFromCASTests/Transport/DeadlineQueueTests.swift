import CASStore
import Testing

@testable import ServeFromCAS

@Suite("A queue of deadlines")
struct DeadlineQueueTests {
    private func expired(_ queue: inout DeadlineQueue, _ now: Int64) -> [Int] {
        var slots: [Int] = []
        while let slot = queue.popExpired(now: now) { slots.append(slot) }
        return slots
    }

    @Test("gives slots out when their time has come, earliest first, once")
    func order() {
        var queue = DeadlineQueue()
        for (slot, time) in [50, 10, 40, 20, 30].enumerated() {
            queue.set(slot, to: Int64(time))
        }
        #expect(queue.next == 10)
        #expect(expired(&queue, 9).isEmpty)
        #expect(expired(&queue, 30) == [1, 3, 4])
        #expect(expired(&queue, 100) == [2, 0])
        #expect(expired(&queue, 1000).isEmpty)
        #expect(queue.next == DeadlineQueue.never)
    }

    @Test("heeds a deadline that moved, earlier or later or away")
    func moving() {
        var queue = DeadlineQueue()
        for slot in 0..<3 { queue.set(slot, to: 100) }
        queue.set(0, to: 50)
        queue.set(1, to: 200)
        queue.set(2, to: DeadlineQueue.never)
        #expect(expired(&queue, 60) == [0])
        #expect(expired(&queue, 150).isEmpty)
        #expect(expired(&queue, 200) == [1])
        queue.set(2, to: 250)
        #expect(expired(&queue, 300) == [2])
    }

    @Test("stays small however often deadlines move later")
    func bounded() {
        var queue = DeadlineQueue()
        for round in 0..<10_000 {
            for slot in 0..<10 { queue.set(slot, to: Int64(1000 + round)) }
        }
        #expect(queue.entryCount == 10)
    }
}

@Suite("A table of what was used last")
struct RecentlyUsedTests {
    private func key(_ number: UInt8) throws -> ObjectID {
        try #require(ObjectID(bytes: [UInt8](repeating: number, count: 32)))
    }

    @Test("throws out what was not used for longest, when the cost is over the limit")
    func order() throws {
        var table = RecentlyUsed<Int>(limit: 10)
        for number in 1...3 { table.insert(try key(UInt8(number)), number, cost: 3) }
        #expect(table.value(of: try key(1)) == 1)
        table.insert(try key(4), 4, cost: 3)
        #expect(table.value(of: try key(2)) == nil)
        #expect(table.value(of: try key(1)) == 1)
        #expect(table.cost == 9)
        table.insert(try key(5), 5, cost: 11)
        #expect(table.value(of: try key(5)) == nil)
        #expect(table.count == 3)
        table.insert(try key(1), 7, cost: 10)
        #expect(table.value(of: try key(1)) == 7)
        #expect(table.count == 1)
        table.remove(try key(1))
        #expect(table.cost == 0)
    }
}
