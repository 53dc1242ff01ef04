/// The deadlines of many slots, earliest first.
///
/// Moving a deadline later (every request moves its connection's) costs nothing: the old entry stays, and is
/// postponed when it comes up. Each slot has one entry that counts. It has others only if a deadline moved earlier;
/// those are dropped when they come up.
struct DeadlineQueue {
    private struct Entry {
        var time: Int64
        var slot: Int
    }

    private var heap: [Entry] = []
    private var queued: [Int64] = []
    private var deadlines: [Int64] = []

    static let never = Int64.max

    var entryCount: Int { heap.count }

    /// Sets a slot's deadline, or removes it with ``never``.
    mutating func set(_ slot: Int, to time: Int64) {
        while deadlines.count <= slot {
            deadlines.append(Self.never)
            queued.append(Self.never)
        }
        deadlines[slot] = time
        guard time < queued[slot] else { return }
        queued[slot] = time
        push(Entry(time: time, slot: slot))
    }

    /// When to look again: at the earliest deadline or sooner, never later.
    var next: Int64 { heap.first?.time ?? Self.never }

    /// Removes and returns a slot whose deadline is `now` or earlier.
    mutating func popExpired(now: Int64) -> Int? {
        while let first = heap.first, first.time <= now {
            pop()
            guard queued[first.slot] == first.time else { continue }
            let deadline = deadlines[first.slot]
            if deadline <= now {
                queued[first.slot] = Self.never
                deadlines[first.slot] = Self.never
                return first.slot
            }
            queued[first.slot] = deadline
            if deadline != Self.never { push(Entry(time: deadline, slot: first.slot)) }
        }
        return nil
    }

    private mutating func push(_ entry: Entry) {
        heap.append(entry)
        var child = heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].time < heap[parent].time else { break }
            heap.swapAt(child, parent)
            child = parent
        }
    }

    private mutating func pop() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in 2 * parent + 1..<2 * parent + 3
            where child < heap.count && heap[child].time < heap[least].time {
                least = child
            }
            guard least != parent else { return }
            heap.swapAt(least, parent)
            parent = least
        }
    }
}
