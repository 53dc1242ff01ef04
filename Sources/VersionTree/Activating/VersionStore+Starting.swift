public import CASStore

/// What a boot decided.
public struct BootReport: Sendable, Hashable {
    /// What to start.
    public var version: String
    /// What the confirmation must present.
    public var token: String
    /// The version that had not been confirmed and was left.
    public var rolledBackFrom: String?
    /// Whether that version is banned now.
    public var isBanned = false
    /// Whether that version waits for another start; not where another one waited already.
    public var isWaiting = false
    /// Why that version was left.
    public var reason: String?

    package init(_ begun: Begun) {
        version = begun.version
        token = begun.token
        rolledBackFrom = begun.left?.from
        isBanned = begun.left?.ban != nil
        isWaiting = begun.left?.waits ?? false
        reason = begun.left?.reason
    }
}

// Starting, as a store does it: the pure transitions, under the lock of the lifecycle.
extension VersionStore {
    /// The app starts.
    ///
    /// Counts the attempt durably before it is made, switches to a pending version, and leaves one that
    /// started before and was never confirmed: the first time it waits and is started once more by the boot
    /// after this one, the second time it is banned. What another process that lives watches is left to it:
    /// the report then has the token of that start.
    ///
    /// A version that is known good needs no confirmation again: the user may have closed the app
    /// early. A version with nothing to go back to is tried again.
    /// - Parameter strikes: how many starts of one content may fail.
    /// - Throws: `.noVersion` when there is nothing to start.
    public func boot(strikes: Int = Lifecycle.usualStrikes) throws(StoreError) -> BootReport {
        let lock = try StartLock.take(self)
        var request = try startRequest(max(strikes, 1))
        request.isLockTaken = lock == nil
        let begun = try begin(request)
        withExtendedLifetime(lock) {}
        return BootReport(begun)
    }

    /// A request of a process that ends, or that judges.
    func startRequest(_ strikes: Int) throws(StoreError) -> StartRequest {
        StartRequest(
            token: try randomToken(), time: secondsNow(), system: try fileSystem.systemBoot(),
            strikes: strikes)
    }

    /// Makes a start, and tells what became of it.
    package func begin(_ request: StartRequest) throws(StoreError) -> Begun {
        let begun = try changeLifecycle { (lifecycle) throws(StoreError) -> Begun in
            let begun = try lifecycle.begin(request, self)
            if try !isUsable(begun.version, lifecycle) {
                // It says itself what is wrong with its manifest. What is whole and banned is shown all
                // the same: there is nothing else.
                guard try row(of: begun.version).isComplete else {
                    throw try incomplete(begun.version)
                }
                _ = try materializeIfAbsent(begun.version, alone: true)
            }
            return begun
        }
        guard begun.kind == .started else { return begun }
        note(
            .booted(
                version: begun.version, switchedFrom: begun.switchedFrom, left: begun.left))
        return begun
    }

    /// Goes back to the newest known good version, else to what was current before, else to the embedded
    /// one, and bans the current.
    /// - Parameter reason: why; of more than 1,000 bytes the beginning is kept, and said so.
    /// - Throws: `.nothingToRollBackTo`.
    public func rollback(
        reason: String = "rolled back by request"
    ) throws(StoreError) -> (current: String, from: String) {
        let reason = bounded(reason)
        let request = try startRequest(0)
        let left = try changeLifecycle { (lifecycle) throws(StoreError) -> LeftVersion in
            try lifecycle.leaveOrRefuse(reason, request, self)
        }
        note(left)
        return (current: left.current, from: left.from)
    }

    /// Leaves a version whose start has been neither confirmed nor left: it waits for another start, or is
    /// banned when its strikes are used up.
    ///
    /// For whoever gives a start a deadline: what another process decides in the meantime is left alone.
    /// - Parameters:
    ///   - version: what was started.
    ///   - token: what its ``boot(strikes:)`` gave out.
    ///   - strikes: how many starts of one content may fail.
    /// - Returns: what was left; `nil` if nothing was left to judge.
    /// - Throws: `.nothingToRollBackTo`.
    package func rollback(
        unconfirmed version: String, token: String, reason: String,
        strikes: Int = Lifecycle.usualStrikes
    ) throws(StoreError) -> LeftVersion? {
        let request = try startRequest(max(strikes, 1))
        let left = try changeLifecycle(vouching: false) {
            (lifecycle) throws(StoreError) -> LeftVersion? in
            try lifecycle.leave(unconfirmed: version, token: token, reason, request, self)
        }
        if let left { note(left) }
        return left
    }

    /// Takes a start back that ends without having failed: whoever watches it stops in order.
    ///
    /// The third in a row counts as a failure.
    /// - Returns: what was left because of that.
    @discardableResult
    package func takeBack(
        start version: String, token: String, strikes: Int = Lifecycle.usualStrikes
    ) throws(StoreError) -> LeftVersion? {
        let request = try startRequest(max(strikes, 1))
        let left = try changeLifecycle(vouching: false) {
            (lifecycle) throws(StoreError) -> LeftVersion? in
            try lifecycle.takeBack(start: version, token: token, request, self)
        }
        if let left { note(left) }
        return left
    }

    /// Leaves a version that nobody could be shown.
    package func leave(
        unshown version: String, reason: String, strikes: Int
    ) throws(StoreError) -> LeftVersion? {
        let request = try startRequest(max(strikes, 1))
        let left = try changeLifecycle(vouching: false) {
            (lifecycle) throws(StoreError) -> LeftVersion? in
            try lifecycle.leave(unshown: version, reason, request, self)
        }
        if let left { note(left) }
        return left
    }

    // Going back matters more than the last word on why.
    private func bounded(_ reason: String) -> String {
        let bounded = Lifecycle.bounded(reason)
        if bounded.utf8.count < reason.utf8.count {
            store.options.notice(
                "the reason has \(reason.utf8.count) bytes; the first "
                    + "\(Lifecycle.reasonByteCountMax) are kept")
        }
        return bounded
    }

    private func note(_ left: LeftVersion) {
        note(
            .rolledBack(
                version: left.current, from: left.from, reason: left.reason, ban: left.ban))
    }
}

extension VersionStore: StartableVersions {
    package func content(of version: String) throws(StoreError) -> ObjectID? {
        try store.versionRow(version)?.content
    }

    /// Whether a version can be shown: registered, complete, not banned, with its tree, or a manifest that
    /// one can be made from.
    package func isUsable(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard let row = try store.versionRow(name), row.isComplete,
            lifecycle.ban(of: row.content) == nil
        else { return false }
        do throws(StoreError) {
            _ = try materializeIfAbsent(name, alone: true)
        } catch {
            guard error.code == .badManifest else { throw error }
            return false
        }
        return true
    }
}
