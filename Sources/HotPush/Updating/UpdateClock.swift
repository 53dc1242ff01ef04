/// The time by which starts are judged.
package protocol UpdateClock: Sendable {
    /// The time since some fixed moment; it never goes back.
    var now: Duration { get }
    /// Waits until ``now`` is at least `deadline`; throws if the task is cancelled.
    @concurrent func sleep(until deadline: Duration) async throws
}

/// The system's clock; it stops while the device sleeps.
package struct SystemUpdateClock: UpdateClock {
    private let origin = SuspendingClock.now

    package var now: Duration { origin.duration(to: SuspendingClock.now) }

    @concurrent package func sleep(until deadline: Duration) async throws {
        try await Task.sleep(until: origin.advanced(by: deadline), clock: SuspendingClock())
    }
}
