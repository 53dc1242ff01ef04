public import CASStore

/// What a boot decided.
public struct BootReport: Sendable, Hashable {
    /// What to start.
    public var version: String
    /// What the confirmation must present.
    public var token: String
    /// The version that had not been confirmed and was rolled back.
    public var rolledBackFrom: String?
}

extension VersionStore {
    /// Where things stand.
    ///
    /// Needs neither index nor write.
    /// - Throws: `.badLifecycle` if the file is damaged.
    public func lifecycle() throws(StoreError) -> Lifecycle {
        try Lifecycle.read(directories.root.raw, fileSystem)
    }

    /// Makes a version current, in one step: its tree is complete and there before anyone is sent to
    /// it.
    /// - Returns: the version that was current before.
    /// - Throws: `.noVersion`, `.incompleteVersion`, `.bannedVersion`.
    @discardableResult
    public func activate(_ name: String) throws(StoreError) -> String? {
        try materialize(name)
        let previous = try changeLifecycle { (lifecycle) throws(StoreError) -> String? in
            try self.refuseUnfit(name, lifecycle)
            let previous = lifecycle.current
            lifecycle.activate(name)
            return previous
        }
        note(.activated(version: name, previous: previous))
        return previous
    }

    /// Makes a version the one that the next ``boot()`` switches to; with the current version, nothing
    /// waits any more.
    /// - Throws: `.noVersion`, `.incompleteVersion`, `.bannedVersion`.
    public func activateAtNextBoot(_ name: String) throws(StoreError) {
        try materialize(name)
        let (before, after) = try changeLifecycle {
            (lifecycle) throws(StoreError) -> (String?, String?) in
            try self.refuseUnfit(name, lifecycle)
            let before = lifecycle.pending
            lifecycle.pending = name == lifecycle.current ? nil : name
            return (before, lifecycle.pending)
        }
        if let before, after == nil { note(.withdrawn(version: before)) }
        if let after, after != before { note(.awaited(version: after)) }
    }

    /// Refuses a version that is banned, or that somebody has retired or damaged since its tree was
    /// made.
    private func refuseUnfit(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) {
        let row = try row(of: name)
        guard row.isComplete else { throw try incomplete(name) }
        if let ban = lifecycle.ban(of: row.content) {
            throw StoreError(
                .bannedVersion,
                "version \(name) is banned (\(printable(ban.reason))); "
                    + "castree forgive \(name) lifts it")
        }
        if try !isMaterialized(name) { _ = try materializeIfAbsent(name, alone: true) }
    }

    /// The app starts.
    ///
    /// Counts the attempt durably before it is made, switches to a pending version, and rolls back
    /// from one that started before and was never confirmed.
    ///
    /// A version that is known good needs no confirmation again: the user may have closed the app
    /// early. A version with nothing to go back to is tried again.
    /// - Throws: `.noVersion` when there is nothing to start.
    public func boot() throws(StoreError) -> BootReport {
        let token = try randomToken()
        let (report, ban, switchedFrom) = try changeLifecycle {
            (lifecycle) throws(StoreError) -> (BootReport, Lifecycle.Ban?, String?) in
            var rolledBackFrom: String?
            var ban: Lifecycle.Ban?
            if let boot = lifecycle.boot, boot.version == lifecycle.current,
                !lifecycle.knownGood.contains(boot.version),
                try self.rollBack(&lifecycle, reason: "it was started and never confirmed") != nil
            {
                rolledBackFrom = boot.version
                ban = lifecycle.bad.first.flatMap { $0.version == boot.version ? $0 : nil }
            }
            let before = lifecycle.current
            if let pending = lifecycle.pending {
                if try self.isUsable(pending, lifecycle) {
                    lifecycle.activate(pending)
                } else {
                    lifecycle.pending = nil
                }
            }
            let version = try self.startable(&lifecycle, &rolledBackFrom)
            lifecycle.boot = .init(version: version, token: token, startedAt: secondsNow())
            return (
                BootReport(version: version, token: token, rolledBackFrom: rolledBackFrom), ban,
                before == version ? nil : before
            )
        }
        note(
            .booted(
                version: report.version, switchedFrom: switchedFrom, ban: ban,
                leftFrom: report.rolledBackFrom))
        return report
    }

    /// The current version, or what can be started instead.
    private func startable(
        _ lifecycle: inout Lifecycle, _ rolledBackFrom: inout String?
    ) throws(StoreError) -> String {
        if let current = lifecycle.current, try isUsable(current, lifecycle) { return current }
        if let target = try fallback(besides: lifecycle.current, lifecycle) {
            // Not its fault: it lost objects, or was retired by hand. It is not banned.
            rolledBackFrom = rolledBackFrom ?? lifecycle.current
            lifecycle.activate(target)
            return target
        }
        guard let current = lifecycle.current else {
            throw StoreError(
                .noVersion,
                "there is nothing to start: no version is current; castree activate makes one so")
        }
        // It says itself what is wrong with its manifest.
        if try row(of: current).isComplete { _ = try materializeIfAbsent(current, alone: true) }
        throw try incomplete(current)
    }

    /// Vouches for exactly the version that started.
    ///
    /// A second, equal confirmation changes nothing.
    /// - Returns: the version, known good from here on.
    /// - Throws: `.wrongToken` when another version or another start is the one that runs.
    @discardableResult
    public func confirm(_ name: String, token: String) throws(StoreError) -> String {
        let isNews = try changeLifecycle { (lifecycle) throws(StoreError) -> Bool in
            if lifecycle.confirmed == .init(version: name, token: token),
                lifecycle.current == name
            {
                return false
            }
            guard let boot = lifecycle.boot, boot.version == name, boot.token == token,
                lifecycle.current == name
            else {
                throw StoreError(
                    .wrongToken,
                    "version \(printable(name)) did not start with this token, or no longer runs; "
                        + "a confirmation must name the version and token that castree boot printed"
                )
            }
            lifecycle.confirm(name, token: token)
            return true
        }
        if isNews { note(.confirmed(version: name)) }
        return name
    }

    /// Goes back to the newest known good version, else to the embedded one, and bans the current.
    /// - Parameter reason: why; of more than 1,000 bytes the beginning is kept, and said so.
    /// - Throws: `.nothingToRollBackTo`.
    public func rollback(
        reason: String = "rolled back by request"
    ) throws(StoreError) -> (current: String, from: String) {
        let reason = bounded(reason)
        let left = try changeLifecycle { (lifecycle) throws(StoreError) -> Left in
            try self.leave(&lifecycle, reason: reason)
        }
        note(left, reason: reason)
        return (current: left.current, from: left.from)
    }

    /// Goes back as ``rollback(reason:)`` does, if a start has been neither confirmed nor left.
    ///
    /// For whoever gives a start a deadline: what another process settles in the meantime is left alone.
    /// - Parameters:
    ///   - version: what was started.
    ///   - token: what its ``boot()`` gave out.
    /// - Returns: what is current now and what it was; `nil` if nothing was left to judge.
    /// - Throws: `.nothingToRollBackTo`.
    public func rollback(
        unconfirmed version: String, token: String, reason: String
    ) throws(StoreError) -> (current: String, from: String)? {
        let left = try changeLifecycle(vouching: false) {
            (lifecycle) throws(StoreError) -> Left? in
            guard lifecycle.current == version, lifecycle.boot?.token == token else {
                return nil
            }
            return try self.leave(&lifecycle, reason: reason)
        }
        guard let left else { return nil }
        note(left, reason: Lifecycle.bounded(reason))
        return (current: left.current, from: left.from)
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

    /// A version that was left for another one.
    private struct Left {
        var current: String
        var from: String
        var ban: Lifecycle.Ban?
    }

    private func leave(
        _ lifecycle: inout Lifecycle, reason: String
    ) throws(StoreError) -> Left {
        guard let from = lifecycle.current,
            let target = try rollBack(&lifecycle, reason: reason)
        else {
            throw StoreError(
                .nothingToRollBackTo,
                "there is no version to go back to: none but the current is known good, and "
                    + "none is embedded; castree activate chooses one")
        }
        let ban = lifecycle.bad.first.flatMap { $0.version == from ? $0 : nil }
        return Left(current: target, from: from, ban: ban)
    }

    private func note(_ left: Left, reason: String) {
        note(.rolledBack(version: left.current, from: left.from, reason: reason, ban: left.ban))
    }

    /// Lifts the ban of a version.
    /// - Throws: `.noVersion` if no such version is banned.
    public func forgive(_ name: String) throws(StoreError) {
        let content = try store.versionRow(name)?.content
        try changeLifecycle { (lifecycle) throws(StoreError) in
            let before = lifecycle.bad.count
            lifecycle.bad.removeAll { $0.version == name || $0.content == content }
            guard lifecycle.bad.count < before else {
                throw StoreError(
                    .noVersion, "version \"\(printable(name))\" is not banned")
            }
        }
        note(.forgiven(version: name))
    }

    /// - Returns: the version gone back to; `nil` if there is none, and then nothing changes.
    private func rollBack(
        _ lifecycle: inout Lifecycle, reason: String
    ) throws(StoreError) -> String? {
        guard let from = lifecycle.current else { return nil }
        guard let target = try fallback(besides: from, lifecycle) else { return nil }
        // A current version whose row is gone cannot be banned by content; going back matters more.
        if let content = try store.versionRow(from)?.content {
            lifecycle.ban(from, content: content, reason: reason, at: secondsNow())
        }
        lifecycle.knownGood.removeAll { $0 == from }
        lifecycle.activate(target)
        lifecycle.boot = nil
        return target
    }

    /// - Throws: what the disk reported, if that alone is why there is nothing to go back to: for another
    ///   moment there may be, and what was never confirmed is not started again because of it.
    private func fallback(
        besides version: String?, _ lifecycle: Lifecycle
    ) throws(StoreError) -> String? {
        var failure: StoreError?
        let target = lifecycle.fallback(besides: version) { name in
            do throws(StoreError) {
                return try isUsable(name, lifecycle)
            } catch {
                // A candidate that cannot be examined is no candidate; the next one may be.
                if error.cause != nil, error.code != .outOfSpace { failure = failure ?? error }
                return false
            }
        }
        if target == nil, let failure { throw failure }
        return target
    }

    /// Whether a version is known good and no other known good one can be shown.
    func isLastKnownGood(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
        guard lifecycle.knownGood.contains(name) else { return false }
        for other in lifecycle.knownGood where other != name {
            if let row = try store.versionRow(other), row.isComplete,
                lifecycle.ban(of: row.content) == nil
            {
                return false
            }
        }
        return true
    }

    /// Whether a version can be shown: registered, complete, not banned, with its tree, or a manifest that
    /// one can be made from.
    private func isUsable(_ name: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool {
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
