package import CASStore
import Synchronization

/// Shares one ``StartJudge`` over a store among all threads of a process.
///
/// A server and an `UpdateManager` each own one. Decisions are durable before a call returns; any call may wait for
/// other processes.
package final class StartWatch: Sendable {
    private let ledger: StoreLedger
    private let state: Mutex<StartJudge>

    /// - Parameter canShow: see ``StartRequest/canShow``.
    package init(
        _ versions: VersionStore, _ rules: StartJudge.Rules,
        showing canShow: @escaping StartRequest.Showing = { _ in true }
    ) {
        let ledger = StoreLedger(versions, canShow)
        self.ledger = ledger
        state = Mutex(StartJudge(rules, ledger))
    }

    /// Returns `nil` at once while another thread uses the judge, which can take long.
    package func askIfFree<R: Sendable>(_ question: (StartJudge) -> R) -> R? {
        state.withLockIfAvailable { question($0) }
    }

    package func ask<R: Sendable>(_ question: (StartJudge) -> R) -> R {
        state.withLock { question($0) }
    }

    /// Lets the judge act under its lock, so two pages that begin at once are one start.
    package func judge<R: Sendable>(
        _ body: (inout StartJudge, any StartLedger) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        try state.withLock { (judge) throws(StoreError) -> R in try body(&judge, ledger) }
    }

    /// Confirms a version whose page has started well; other threads can still ask the judge meanwhile.
    /// - Returns: whether that version is known good now.
    package func confirm(_ version: String) throws(StoreError) -> Bool {
        let (isGood, token) = try StartJudge.confirm(for: version, ledger)
        if let token { state.withLock { $0.stopWatching(token: token, ledger) } }
        return isGood
    }

    package func letGo() { state.withLock { $0.letGo(ledger) } }

    /// Notes that the pending version cannot be shown as things stand.
    package func holdBack(_ lifecycle: Lifecycle) { state.withLock { $0.holdBack(lifecycle) } }

    /// Sets whether the pending version waits for the first page of the next process instead of any page.
    package func deferPending(_ defers: Bool) {
        state.withLock { $0.defersPending = defers }
    }

    package func setForeground(_ isForeground: Bool, now: Duration) {
        state.withLock { $0.setForeground(isForeground, now: now) }
    }
}

private final class StoreLedger: StartLedger {
    private let versions: VersionStore
    private let canShow: StartRequest.Showing
    private let lock = Mutex<HeldFile?>(nil)

    init(_ versions: VersionStore, _ canShow: @escaping StartRequest.Showing) {
        self.versions = versions
        self.canShow = canShow
    }

    func lifecycle() throws(StoreError) -> Lifecycle { try versions.lifecycle() }

    func takeLock() throws(StoreError) -> Bool {
        try lock.withLock { (lock) throws(StoreError) -> Bool in
            if lock == nil { lock = try versions.takeStartLock() }
            return lock != nil
        }
    }

    func releaseLock() { lock.withLock { $0 = nil } }

    func begin(_ request: StartRequest) throws(StoreError) -> Begun {
        let own = try versions.startRequest(request.failedAttempts, showing: canShow)
        var request = request
        (request.token, request.time, request.system) = (own.token, own.time, own.system)
        request.canShow = own.canShow
        return try versions.begin(request)
    }

    func leave(_ departure: Departure, failedAttempts: Int) throws(StoreError) -> LeftVersion? {
        try versions.leave(departure, failedAttempts: failedAttempts, showing: canShow)
    }

    func confirm(_ version: String, token: String) throws(StoreError) {
        try versions.confirm(version, token: token)
    }
}

extension VersionStore {
    /// Takes the right to watch a start, which one process has at a time; `nil` while another process has it.
    ///
    /// This is a kernel lock (flock(2)) on `leases/.start`, so it ends however the process ends. No other process
    /// judges a start while the lock is held. A process stopped by SIGSTOP keeps it; ``startWatcher()`` then names
    /// that process in the refusal.
    /// - Throws: `.readOnly`, `.permission`, `.outOfSpace` if nothing can be started either.
    func takeStartLock() throws(StoreError) -> HeldFile? {
        let file = try store.openLock(StoreLayout.startLock)
        return try fileSystem.lock(file.raw, exclusive: true) ? HeldFile(file) : nil
    }

    /// The process that watches a start, as far as the kernel tells; found without a lock.
    package func startWatcher() throws(StoreError) -> LockHolder? {
        let file = try fileSystem.status(directories.leases.raw, StoreLayout.startLock)
        guard let file else { return nil }
        let holder = LockHolder.find(of: file)
        return holder.process == nil ? nil : holder
    }
}

extension LockHolder {
    /// A sentence that says which process keeps others from starting versions, and what to do.
    package var watching: String {
        let advice = process.map { "; kill -CONT \($0) lets it continue, kill -KILL ends it" }
        return
            "\(description) watches the start of a version, so no other process starts or judges any"
            + (isStopped ? advice ?? "" : "")
    }
}
