internal import CASStore
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

    nonisolated func tell(_ error: StoreError, during operation: String) {
        if error.code == .interrupted {
            tell(.cancelled)
        } else {
            tell(.failed(UpdateFailure(error, during: operation)))
        }
    }
}
