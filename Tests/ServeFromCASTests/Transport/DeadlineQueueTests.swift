import Expectations
import Platform

@testable import ServeFromCAS
@testable import WebServer

@Suite("A queue of deadlines")
struct DeadlineQueueTests {
    private func expired(_ queue: inout DeadlineQueue, _ now: Int64) -> [Int] {
        var slots: [Int] = []
        while let slot = queue.popExpired(now: now) { slots.append(slot) }
        return slots
    }

    @Test func `gives slots out when their time has come, earliest first, once`() {
        var queue = DeadlineQueue()
        for (slot, time) in [50, 10, 40, 20, 30].enumerated() {
            queue.set(slot, to: Int64(time))
        }
        expect(queue.next, equals: 10)
        expect(expired(&queue, 9).isEmpty)
        expect(expired(&queue, 30), equals: [1, 3, 4])
        expect(expired(&queue, 100), equals: [2, 0])
        expect(expired(&queue, 1000).isEmpty)
        expect(queue.next, equals: DeadlineQueue.never)
    }

    @Test func `heeds a deadline that moved, earlier or later or away`() {
        var queue = DeadlineQueue()
        for slot in 0..<3 { queue.set(slot, to: 100) }
        queue.set(0, to: 50)
        queue.set(1, to: 200)
        queue.set(2, to: DeadlineQueue.never)
        expect(expired(&queue, 60), equals: [0])
        expect(expired(&queue, 150).isEmpty)
        expect(expired(&queue, 200), equals: [1])
        queue.set(2, to: 250)
        expect(expired(&queue, 300), equals: [2])
    }

    @Test func `stays small however often deadlines move later`() {
        var queue = DeadlineQueue()
        for round in 0..<10_000 {
            for slot in 0..<10 { queue.set(slot, to: Int64(1000 + round)) }
        }
        expect(queue.entryCount, equals: 10)
    }
}

@Suite("A table of what was used last")
struct RecentlyUsedTests {
    private func key(_ number: UInt8) throws -> ObjectID {
        try require(ObjectID(bytes: [UInt8](repeating: number, count: 32)))
    }

    @Test func `throws out what was not used lately, when the cost is over the limit`() throws {
        var table = RecentlyUsed<ObjectID, Int>(limit: 10)
        for number in 1...3 { table.insert(try key(UInt8(number)), number, cost: 3) }
        expect(table.value(of: try key(1)), equals: 1)
        table.insert(try key(4), 4, cost: 3)
        expect(table.value(of: try key(2)) == nil)
        expect(table.value(of: try key(1)), equals: 1)
        expect(table.cost, equals: 9)
        table.insert(try key(5), 5, cost: 11)
        expect(table.value(of: try key(5)) == nil)
        expect(table.count, equals: 3)
        table.insert(try key(1), 7, cost: 10)
        expect(table.value(of: try key(1)), equals: 7)
        expect(table.count, equals: 1)
        table.remove(try key(1))
        expect(table.cost, equals: 0)
    }

    @Test func `has what a dictionary has, after many changes`() throws {
        var table = RecentlyUsed<ObjectID, Int>(limit: 1_000_000)
        var wanted: [ObjectID: Int] = [:]
        var state: UInt64 = 9
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 33
        }
        let keys = try (0..<700).map { number in
            let low = [UInt8](repeating: UInt8(number % 7), count: 30)
            return try require(ObjectID(bytes: [UInt8(number / 256), UInt8(number % 256)] + low))
        }
        for step in 0..<20_000 {
            let key = keys[Int(next()) % keys.count]
            switch next() % 3 {
            case 0:
                table.remove(key)
                wanted[key] = nil
            default:
                table.insert(key, step, cost: 1)
                wanted[key] = step
            }
        }
        for key in keys { expect(table.value(of: key), equals: wanted[key]) }
        expect(table.count, equals: wanted.count)
        expect(table.cost, equals: wanted.count)
    }

    @Test func `keeps what is asked for again and again, however much passes through`() throws {
        var table = RecentlyUsed<ObjectID, Int>(limit: 20)
        let wanted = try key(0)
        table.insert(wanted, 0, cost: 1)
        for number in 1...200 {
            expect(table.value(of: wanted), equals: 0)
            table.insert(try key(UInt8(number)), number, cost: 1)
            expect(table.cost <= 20)
        }
        expect(table.value(of: try key(1)) == nil)
    }
}
