public import CASStore
import Synchronization
public import VersionTree

/// Keeps an app up to date: asks, downloads, switches at the right moment, judges starts, rolls back.
///
/// ```swift
/// let updates = UpdateManager(versions, source: source, options: options)
/// if let boot = try await updates.start() { show(boot.version) }
/// // When the page says that it works:
/// try await updates.confirm(boot.version, token: boot.token)
/// // When the app has time:
/// try await updates.update()
/// ```
///
/// Pure functions decide (`UpdateDecision`, `SwitchPolicy`, ``VersionTree/RetentionPlan``), and the store remembers: a
/// crash may follow any call, and the next process continues from there. Any number of tasks may call it. Several
/// processes may use one store, but only one should judge starts.
public actor UpdateManager {
    struct Start {
        var report: BootReport
        /// Whether it is confirmed, or needs no confirmation.
        var isTrusted: Bool
    }

    /// Work in progress that every caller of the same method waits for.
    struct Flight<Success: Sendable> {
        var number: Int
        var task: Task<Result<Success, StoreError>, Never>
        var waiterCount = 0
        /// Whether it was stopped; a new caller waits for its end and begins anew.
        var isCancelled = false

        mutating func cancel() {
            isCancelled = true
            task.cancel()
        }

        /// Removes a waiting caller; the last one stops the work.
        mutating func leave(_ number: Int) {
            guard self.number == number else { return }
            waiterCount -= 1
            if waiterCount == 0 { cancel() }
        }
    }

    struct Flights {
        var checking: Flight<UpdateCheck>?
        var updating: Flight<UpdateOutcome>?
        var count = 0
    }

    nonisolated let versions: VersionStore
    nonisolated let source: any UpdateSource
    nonisolated let options: UpdateOptions
    nonisolated let clock: any UpdateClock
    nonisolated let starts: StartWatch
    nonisolated let eventLog: EventLog
    nonisolated let hub = EventHub()
    private nonisolated let executor = BlockingExecutor()

    var running: Start?
    var watch: Task<Void, Never>?
    var flights = Flights()
    var backgroundSince: Duration?
    /// The version that must be shown at once.
    var forcedVersion: String?

    /// What the manager is doing.
    public internal(set) var state = UpdateState.idle

    /// The thread of its own, on which it waits for disks and locks.
    public nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    /// Creates a manager, which does nothing until a method is called.
    public init(
        _ versions: VersionStore, source: any UpdateSource,
        options: UpdateOptions = UpdateOptions()
    ) {
        self.init(versions, source: source, options: options, clock: SystemUpdateClock())
    }

    /// For tests.
    package init(
        _ versions: VersionStore, source: any UpdateSource,
        options: UpdateOptions = UpdateOptions(), clock: any UpdateClock
    ) {
        self.versions = versions.recordingEvents()
        self.source = source
        self.options = options
        self.clock = clock
        var rules = StartJudge.Rules(allowed: options.confirmWithin)
        rules.failedAttempts = options.failedAttempts
        rules.isTicking = false
        starts = StartWatch(self.versions, rules)
        eventLog = EventLog(versions)
    }

    deinit {
        watch?.cancel()
        flights.checking?.task.cancel()
        flights.updating?.task.cancel()
    }

    /// Returns the events from now on, for one reader; the stream ends with the manager.
    ///
    /// A reader that is at most a thousand events behind loses only progress; see ``UpdateEvent/missed(count:)``.
    public nonisolated func events() -> AsyncStream<UpdateEvent> { hub.subscribe() }

    nonisolated func tell(_ event: UpdateEvent) { hub.post(event) }

    nonisolated func tell(_ error: StoreError, during operation: UpdateFailure.Operation) {
        if error.code == .interrupted {
            tell(.cancelled)
        } else {
            tell(.failed(UpdateFailure(error, during: operation)))
        }
    }
}

/// How an app is kept up to date.
public struct UpdateOptions: Sendable {
    /// The version that was shipped with the app.
    public var embedded: EmbeddedVersion?
    /// What the app says of itself.
    public var app = AppTraits()
    /// The device's name in gradual rollouts; without it the app takes part in no partial one.
    public var device: String?
    /// When a version that is ready is shown.
    public var policy = SwitchPolicy.nextStart
    /// The time in the foreground in which a version must be confirmed; with `nil`, only the next start judges it.
    public var confirmWithin: Duration? = .seconds(30)
    /// How many starts of one content may fail before it is banned; until then it waits for another start.
    public var failedAttempts = Lifecycle.usualFailedAttempts
    /// How many known-good versions are kept, including the current one.
    public var keptGoodCount = 2

    /// Trusted keys; `nil` for the store's own.
    package var trusted: GivenTrust?

    /// Accepts only releases signed by these keys, whoever can write to the origin; a ``PullSource`` enforces it.
    ///
    /// The keys are part of the app. The store remembers them, follows the origin's rotations to later ones, and
    /// returns to the app's keys only when the app names others than before. Anything else throws `untrusted` and
    /// changes nothing.
    ///
    /// - Parameters:
    ///   - keys: public Ed25519 keys as PEM, as `castree key show` and `openssl pkey -pubout` print them.
    ///   - threshold: how many different keys must sign.
    ///   - origin: the id of the origin, 32 hexadecimal digits from its `origin.json`.
    ///   - version: the version of the origin's trust whose keys these all are, as `castree trust rotate` prints it; 1
    ///     before any rotation. Signatures for an older version then do not count. `nil` if unknown.
    /// - Throws: `badKey` with the reason.
    public mutating func trust(
        _ keys: [String], threshold: Int = 1, origin: String, version: Int64? = nil
    ) throws(StoreError) {
        trusted = try GivenTrust(keys, threshold: threshold, origin: origin, version: version)
    }

    /// Waits for the next start, judges within 30 s, keeps two good versions.
    public init() {}
}

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

/// Runs the jobs of an actor, one after the other, on a thread that lives as long as there are any.
///
/// They may wait for disks and locks, which tasks on Swift's own threads must not: there is one for each processor, and
/// the tasks of the whole app would wait with them.
final class BlockingExecutor: SerialExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        var isRunning = false
    }

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isRunning = state.withLock { state in
            defer { state.isRunning = true }
            state.jobs.append(job)
            return state.isRunning
        }
        if !isRunning { Parallel.detach { self.run() } }
    }

    private func run() {
        while let job = next() { job.runSynchronously(on: asUnownedSerialExecutor()) }
    }

    private func next() -> UnownedJob? {
        state.withLock { state in
            state.isRunning = !state.jobs.isEmpty
            return state.isRunning ? state.jobs.removeFirst() : nil
        }
    }
}
