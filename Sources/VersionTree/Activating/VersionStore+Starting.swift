public import CASStore

/// The decision of a boot.
public struct BootReport: Sendable, Hashable {
    /// The version to start.
    public var version: String
    /// The token that the confirmation must present.
    public var token: String
    /// The version that was rolled back because it was never confirmed.
    public var rolledBackFrom: String?
    /// Whether ``rolledBackFrom`` is banned now.
    public var isBanned = false
    /// Whether ``rolledBackFrom`` waits for another start; `false` if another version was already pending.
    public var isWaiting = false
    /// Why ``rolledBackFrom`` was rolled back.
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

// Starts in a store: pure transitions, applied under the lifecycle lock.
extension VersionStore {
    /// Decides which version the app starts.
    ///
    /// Counts the attempt durably before making it, switches to a pending version, and rolls back from one that
    /// started but was never confirmed. After its first failure that version is pending and the boot after this one
    /// tries it again; after the second it is banned. A start that another living process watches is left to that
    /// process: the report then has the token of that start.
    ///
    /// A known good version needs no second confirmation, since the user may have closed the app early. A version
    /// with nothing to roll back to is tried again.
    /// - Parameter failedAttempts: how many starts of one content may fail.
    /// - Throws: `.noVersion` if there is nothing to start.
    public func boot(failedAttempts: Int = Lifecycle.usualFailedAttempts) throws(StoreError)
        -> BootReport
    {
        let lock = try takeStartLock()
        var request = try startRequest(max(failedAttempts, 1))
        request.isLockTaken = lock == nil
        let begun = try begin(request)
        withExtendedLifetime(lock) {}
        if begun.switchedFrom == nil { try mendShownTree(of: begun.version) }
        if begun.kind == .joined, let watcher = try startWatcher(), watcher.isStopped {
            store.options.notice(watcher.watching)
        }
        return BootReport(begun)
    }

    /// The version that the link `current` shows, for a start that an unreadable lifecycle cannot count.
    ///
    /// Its token confirms nothing.
    /// - Returns: `nil` if the link shows no version, or one that is not whole.
    package func uncountedBoot() throws(StoreError) -> BootReport? {
        guard let name = try lifecycleOfLink().current,
            try store.versionRow(name)?.isComplete == true, try isMaterialized(name)
        else { return nil }
        return BootReport(Begun(kind: .joined, version: name, token: try randomToken()))
    }

    func startRequest(
        _ failedAttempts: Int, showing canShow: @escaping StartRequest.Showing = { _ in true }
    ) throws(StoreError) -> StartRequest {
        StartRequest(
            token: try randomToken(), time: secondsNow(), system: try fileSystem.systemBoot(),
            failedAttempts: failedAttempts,
            // Do not roll back to wrong bytes while there is something else.
            canShow: { (name) throws(StoreError) in
                guard try canShow(name) else { return false }
                return try self.canShowRightBytes(of: name)
            })
    }

    /// Builds and mends the tree of the pending version.
    /// - Returns: the version and whether it can be shown; if not, it stays pending until mended and the current
    ///   version starts. `nil` if no pending version could start.
    private func prepareWaiting(
        for request: StartRequest
    ) throws(StoreError) -> (version: String, isFit: Bool)? {
        let lifecycle = try lifecycle()
        guard request.takesPending, let pending = lifecycle.pending,
            let current = lifecycle.current, let row = try store.versionRow(pending),
            row.isComplete,
            lifecycle.ban(of: row.content) == nil
        else { return nil }
        do throws(StoreError) {
            try materialize(pending)
            try mendTree(of: pending)
            return (pending, true)
        } catch {
            if [.interrupted, .locked].contains(error.code) { throw error }
            // Only adding the version again repairs this, so do not wait for it.
            if error.code == .badManifest { return nil }
            store.options.notice(
                "version \(pending) waits on, since it cannot be shown as its manifest says, and version \(current) stays: "
                    + error.message)
            return (pending, false)
        }
    }

    package func begin(_ request: StartRequest) throws(StoreError) -> Begun {
        var request = request
        let waiting = try prepareWaiting(for: request)
        if let waiting, !waiting.isFit { request.unfit = waiting.version }
        let begun = try changeLifecycle { (lifecycle) throws(StoreError) -> Begun in
            let begun = try lifecycle.begin(request, self)
            if try !isUsable(begun.version, lifecycle) {
                // Building the tree reports what is wrong with the manifest. A banned whole version is shown.
                guard try row(of: begun.version).isComplete else {
                    throw try incomplete(begun.version)
                }
                _ = try materializeIfAbsent(begun.version, alone: true)
            }
            return begun
        }
        guard begun.kind == .started else { return begun }
        if request.system == nil, try lifecycle().unconfirmed != nil {
            store.options.notice(
                "this system does not tell whether it was restarted (/proc/sys and /run are hidden, or no tmpfs): if "
                    + "version \(begun.version) ends before its confirmation, that counts only the third time in a row"
            )
        }
        if let left = begun.left {
            note(left, for: begun.version)
        } else if let before = begun.switchedFrom {
            note(.switched(version: begun.version, from: before))
        }
        note(.booted(version: begun.version))
        // The app gets the shown directory, whatever is wrong with it.
        if begun.switchedFrom != nil, begun.version != waiting?.version {
            try mendShownTree(of: begun.version)
        }
        return begun
    }

    /// Rolls back to the newest known good version, else to the previously current one, else to the embedded one, and
    /// bans the current version.
    /// - Parameter reason: truncated to 1,000 bytes, with a notice.
    /// - Throws: `.nothingToRollBackTo`.
    public func rollback(
        reason: String = "rolled back by request"
    ) throws(StoreError) -> (current: String, from: String) {
        let reason = bounded(reason)
        let request = try startRequest(0)
        let left = try changeLifecycle { (lifecycle) throws(StoreError) -> LeftVersion in
            try lifecycle.leaveOrRefuse(reason, request, self)
        }
        try noteAndMend(left)
        return (current: left.current, from: left.from)
    }

    /// Rolls back from a start that was not confirmed; a decision made meanwhile by another process stands.
    /// - Parameters:
    ///   - failedAttempts: how many starts of one content may fail.
    ///   - canShow: whether a version has a page to start with.
    /// - Returns: what was rolled back; `nil` if nothing was.
    /// - Throws: `.nothingToRollBackTo` for a version that was not confirmed in time.
    @discardableResult
    package func leave(
        _ departure: Departure, failedAttempts: Int = Lifecycle.usualFailedAttempts,
        showing canShow: @escaping StartRequest.Showing = { _ in true }
    ) throws(StoreError) -> LeftVersion? {
        let request = try startRequest(max(failedAttempts, 1), showing: canShow)
        let left = try changeLifecycle(checking: false) {
            (lifecycle) throws(StoreError) -> LeftVersion? in
            try lifecycle.leave(departure, request, self)
        }
        if let left { try noteAndMend(left) }
        return left
    }

    // Rolling back matters more than the end of the reason.
    private func bounded(_ reason: String) -> String {
        let bounded = Lifecycle.bounded(reason)
        if bounded.utf8.count < reason.utf8.count {
            store.options.notice(
                "the reason has \(reason.utf8.count) bytes; the first "
                    + "\(Lifecycle.reasonByteCountMax) are kept")
        }
        return bounded
    }

    private func note(_ left: LeftVersion, for version: String) {
        if let ban = left.ban {
            note(
                .banned(
                    version: ban.version, content: ban.content, reason: ban.reason,
                    count: ban.count))
        }
        note(.rolledBack(version: version, from: left.from, reason: left.reason))
    }

    private func noteAndMend(_ left: LeftVersion) throws(StoreError) {
        note(left, for: left.current)
        try mendShownTree(of: left.current)
    }
}

extension VersionStore: StartableVersions {
    package func content(of version: String) throws(StoreError) -> ObjectID? {
        try store.versionRow(version)?.content
    }

    /// Whether a version can be shown: registered, complete, not banned, and with a tree or a manifest.
    package func isUsable(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        do throws(StoreError) {
            guard let row = try store.versionRow(name) else {
                // A version whose manifest could not be read when the index was made is not gone.
                if try hasManifest(name) { _ = try manifest(of: name) }
                return false
            }
            guard row.isComplete, lifecycle.ban(of: row.content) == nil else { return false }
            _ = try materializeIfAbsent(name, alone: true)
        } catch {
            guard error.code == .badManifest else { throw error }
            return false
        }
        return true
    }
}
