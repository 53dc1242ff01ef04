// Waits for locks, with a limit and with a notice.
//
// flock(2) blocks indefinitely or not at all. So a waiter retries in pauses that grow with the time it has waited; a
// free lock costs one call, like a blocking wait.

extension FileSystem {
    /// Opens a lock file in `leases/`, creating it if it is absent.
    ///
    /// Only the store's owner may open one: anyone who could take the lock could stop every command (flock(2)
    /// requires no write permission). A lock that an older castree made readable for all is closed to others. Where a
    /// group may write in the store, only its owner's commands work there.
    package func openLock(
        _ leases: Int32, _ name: String
    ) throws(StoreError) -> Descriptor {
        let file: Descriptor
        do throws(StoreError) {
            let there = try ifPresent { () throws(StoreError) in
                try open(leases, name, .appending, mode: 0)
            }
            file = if let there { there } else { try makeLock(leases, name) }
        } catch {
            // Report why it could not be opened; this only adds detail.
            guard let status = try? status(leases, name), status.kind != .regular else {
                throw error
            }
            throw Self.refusal(ofLock: name, status.kind, cause: error.cause)
        }
        let status = try status(file.raw)
        guard status.kind == .regular else { throw Self.refusal(ofLock: name, status.kind) }
        if status.mode != 0o600 {
            do throws(StoreError) { try setMode(file.raw, 0o600) } catch {
                // A disk may have one mode for all files. Otherwise only the owner may, so this is another user.
                guard error.code == .permission, status.owner != effectiveUser() else {
                    return file
                }
                _ = try makeLock(leases, StoreLayout.ownerProbe)
                try removeIfPresent(leases, StoreLayout.ownerProbe)
            }
        }
        return file
    }

    private func makeLock(_ leases: Int32, _ name: String) throws(StoreError) -> Descriptor {
        let file = try open(leases, name, .updating, mode: 0o600)
        // Compared with what the disk makes of an owner: a server may give all files to one user. A restore may have
        // made `leases/` itself root's.
        let owner = try status(file.raw).owner
        let here = try status(leases).owner
        if effectiveUser() == 0 || here == owner { return file }
        if try status(leases, "..")?.owner == owner { return file }
        try removeIfPresent(leases, name)
        throw StoreError(.permission, "the store's \(StoreLayout.leases)/ belongs to another user")
    }

    /// Restricts a lock in a group-writable directory to users who may write there, as its holder stops all others.
    package func closeLock(_ lock: Int32) throws(StoreError) {
        let mode = try status(lock).mode
        let closed = mode & (mode & 0o020 != 0 ? 0o660 : 0o600)
        // Only its owner can; the owner's next command does.
        if mode != closed { try? setMode(lock, closed) }
    }

    private static func refusal(
        ofLock name: String, _ kind: FileStatus.Kind, cause: StoreError.Cause? = nil
    ) -> StoreError {
        StoreError(
            .io,
            "\(StoreLayout.leasePath(printable(name))) in the store is \(kind.noun) and cannot be locked; "
                + "run castree fsck --repair, which moves it to quarantine, and repeat the command",
            cause: cause)
    }

    /// Takes a lock (flock(2)), waiting for its holder as long as `options` allow.
    /// - Throws: `.locked` when the time is over; `.interrupted` if the caller asked to stop meanwhile.
    package func waitForLock(
        _ file: Int32, exclusive: Bool, _ options: StoreOptions
    ) throws(StoreError) {
        if try lock(file, exclusive: exclusive) { return }
        var wait = LockWait(options)
        while !wait.isOver {
            wait.rest()
            if try lock(file, exclusive: exclusive) { return }
            if wait.isToBeTold { wait.tell(LockHolder.find(of: try status(file))) }
            if wait.isInterrupted { throw StoreError.interruption }
        }
        throw wait.error(LockHolder.find(of: try status(file)))
    }

    /// Whether a process that uses or removes a directory has it locked; also `true` if it is gone.
    package func isLocked(
        _ parent: Int32, _ name: UnsafePointer<CChar>
    ) throws(StoreError) -> Bool {
        let directory: Descriptor?
        do throws(StoreError) {
            directory = try openIfPresent(parent, name, .directory)
        } catch {
            // Another user's.
            guard error.isOfOneName, let status = try status(parent, name) else { throw error }
            return LockHolder.find(of: status).process != nil
        }
        guard let opened = directory else { return true }
        return try !lock(opened.raw, exclusive: true)
    }
}

/// One wait for a lock: the length of the next pause, when to give notice, when to give up.
package struct LockWait {
    private static let longestPause: Int64 = 50

    private let options: StoreOptions
    private let silence: Duration
    private let began = SuspendingClock.now
    private let deadline = LockDeadline.current
    private var hasTold = false
    /// A caller that was asked to stop before it waited is cleaning up, and must get through.
    private let isCleaningUp: Bool

    /// - Parameters:
    ///   - silence: the time after which a notice names the lock's holder.
    ///   - mayCleanUp: whether a caller that was asked to stop before may wait all the same.
    package init(
        _ options: StoreOptions, silence: Duration = .seconds(2), mayCleanUp: Bool = true
    ) {
        self.options = options
        self.silence = silence
        isCleaningUp = mayCleanUp && options.isInterrupted()
    }

    private var waited: Duration { SuspendingClock.now - began }

    package var isOver: Bool { waited >= options.waitLimit || deadline?.isOver ?? false }
    package var isToBeTold: Bool { !hasTold && waited >= silence }
    package var isInterrupted: Bool { !isCleaningUp && options.isInterrupted() }

    /// Rests for an eighth of the time waited so far, at least a millisecond.
    package func rest() {
        pause(milliseconds: Int32(min(max(1, waited.milliseconds / 8), Self.longestPause)))
    }

    package mutating func tell(_ holder: LockHolder) { tell("waiting for \(holder.description)") }

    package mutating func tell(_ sentence: String) {
        hasTold = true
        options.notice(sentence)
    }

    package func error(_ holder: LockHolder) -> StoreError {
        let advice =
            holder.isStopped
            ? "it is stopped; resume it with kill -CONT \(holder.process ?? 0)"
            : "repeat the command when it has finished"
        let isCut = waited < options.waitLimit
        let time =
            isCut
            ? "holds a lock on it, and the time to wait for locks has passed"
            : "has held a lock on it for longer than \(spelled(options.waitLimit))"
        return StoreError(
            .locked,
            "the store is in use: \(holder.description) \(time); \(advice), or wait longer (--wait)"
        )
    }

    private func spelled(_ time: Duration) -> String {
        let (seconds, attoseconds) = time.components
        if seconds == 0 { return "\(attoseconds / 1_000_000_000_000_000) ms" }
        return seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }
}

/// Limits all lock waits of one operation together, where a store's options limit each.
///
/// An operation with someone waiting (a page, a signal) cannot afford several in a row.
package struct LockDeadline: Sendable {
    @TaskLocal static var current: LockDeadline?

    private let end: SuspendingClock.Instant
    private let isGivenUp: @Sendable () -> Bool

    /// Runs `body`, on this thread, as one operation.
    /// - Parameters:
    ///   - limit: how long it may run before it stops waiting for locks.
    ///   - isGivenUp: called during a wait; `true` ends the wait at once.
    package static func within<R, E: Error>(
        _ limit: Duration, unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        try until(SuspendingClock.now + limit, unless: isGivenUp, body)
    }

    /// Runs `body`, on this thread, as a part of an operation with a deadline.
    package static func until<R, E: Error>(
        _ end: SuspendingClock.Instant,
        unless isGivenUp: @escaping @Sendable () -> Bool = { false },
        _ body: () throws(E) -> R
    ) throws(E) -> R {
        let outer = current
        let deadline = LockDeadline(
            end: min(end, outer?.end ?? end),
            isGivenUp: { isGivenUp() || outer?.isGivenUp() ?? false })
        let result = $current.withValue(deadline) { () -> Result<R, E> in
            do throws(E) { return .success(try body()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    var isOver: Bool { isGivenUp() || SuspendingClock.now >= end }
}
