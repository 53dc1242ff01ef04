import StorageTestSupport

@testable import HotPush

/// A manager waits for disks and locks, and an app has other tasks.
@Suite("The thread of an update manager", .timeLimit(.minutes(60))) struct BlockingTests {
    /// A clock that holds each thread which asks it.
    private final class HoldingClock: UpdateClock, @unchecked Sendable {
        private let condition = NSCondition()
        private var heldCount = 0
        private var isOpen = false
        private var wereHeld = false

        var now: Duration {
            condition.withLock {
                heldCount += 1
                condition.broadcast()
                while !isOpen { condition.wait() }
                return .zero
            }
        }

        @concurrent func sleep(until deadline: Duration) async throws {}

        /// Lets all go as soon as so many are held at once, or far later than that takes.
        func hold(_ count: Int) {
            Parallel.detach { [self] in
                condition.withLock {
                    let end = Date(timeIntervalSinceNow: 1800)
                    while heldCount < count, condition.wait(until: end) {}
                    wereHeld = heldCount >= count
                    isOpen = true
                    condition.broadcast()
                }
            }
        }

        /// Whether so many were held at once.
        var wereAllHeld: Bool { condition.withLock { wereHeld } }
    }

    @Test func `is its own, however long it waits, and however many managers there are`()
        async throws
    {
        let fixture = try UpdatingFixture()
        let clock = HoldingClock()
        let managers = try (0...2 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
            UpdateManager(try fixture.store.reopened(), source: fixture.source, clock: clock)
        }
        clock.hold(managers.count)
        await withTaskGroup { group in
            for manager in managers { group.addTask { await manager.setForeground(true) } }
        }
        expect(clock.wereAllHeld)
    }
}
