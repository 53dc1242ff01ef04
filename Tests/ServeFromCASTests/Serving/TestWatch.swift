import StorageTestSupport

/// The judge of a server's starts, as its requests and its housekeeping ask it.
final class TestWatch: Sendable {
    private let watch: StartWatch

    /// - Parameter pace: after how long a look is late; far more than a test lets pass at once.
    init(
        _ versions: VersionStore, allowed: Duration, failedAttempts: Int = 2,
        pace: Duration = .seconds(1_000_000)
    ) {
        var rules = StartJudge.Rules(allowed: allowed)
        rules.failedAttempts = failedAttempts
        rules.pace = pace
        watch = StartWatch(versions, rules)
    }

    @discardableResult
    func pageBegins(_ lifecycle: Lifecycle, now: Duration) throws -> Begun? {
        try watch.judge { (judge, ledger) throws(StoreError) in
            try judge.pageBegins(lifecycle, ledger, now: now)
        }
    }

    func follow(_ lifecycle: Lifecycle, now: Duration) throws {
        try watch.judge { (judge, ledger) throws(StoreError) in
            try judge.follow(lifecycle, ledger, now: now)
        }
    }

    /// Looks at the time.
    @discardableResult
    func look(now: Duration) throws -> LeftVersion? {
        try watch.judge { (judge, ledger) throws(StoreError) in
            judge.tick(now: now) ? try judge.judge(ledger) : nil
        }
    }

    func confirm(_ version: String) throws -> Bool { try watch.confirm(version) }

    func end() throws {
        try watch.judge { (judge, ledger) throws(StoreError) in try judge.end(ledger) }
    }

    func setForeground(_ isForeground: Bool, now: Duration) {
        watch.setForeground(isForeground, now: now)
    }
}
