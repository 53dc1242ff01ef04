// Waiting for locks: with an end, and not in silence.
//
// flock(2) waits for ever or not at all. So whoever must wait asks again and again, in pauses that grow with
// the time that has been waited; a lock that is free costs one call, as it would by waiting.

extension FileSystem {
    /// Opens a file in `leases/` that is there to be locked; made if it is absent.
    ///
    /// Nobody but the store's owner may open one: a lock that anybody may take lets anybody stop every
    /// command (flock(2) asks for no right to write). One that an older castree has made for all to read is
    /// closed to them.
    package func openLock(
        _ leases: Int32, _ name: String
    ) throws(StoreError) -> Descriptor {
        let file: Descriptor
        do throws(StoreError) {
            file = try open(leases, name, .updating, mode: 0o600)
        } catch {
            // Why it could not be opened is the error to report; this only says more of it.
            guard let status = try? status(leases, name), status.kind != .regular else {
                throw error
            }
            throw StoreError(error.code, Self.refusal(ofLock: name), cause: error.cause)
        }
        if try status(file.raw).mode != 0o600 {
            // Only its owner can, whose next command does.
            try? setMode(file.raw, 0o600)
        }
        return file
    }

    /// What to do about something that stands where a lock's file belongs.
    package static func refusal(ofLock name: String) -> String {
        "\(StoreLayout.leasePath(printable(name))) in the store is not a file that can be locked; "
            + "remove it, nothing is kept there, and repeat the command"
    }

    /// Takes a lock (flock(2)); waits for whoever has it, as long as `options` say.
    ///
    /// - Throws: `.locked` when the time is over; `.interrupted` if the caller has asked to stop meanwhile.
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

    /// Whether somebody has a directory locked, who works on it or takes it away; also if it is gone.
    package func isLocked(
        _ parent: Int32, _ name: UnsafePointer<CChar>
    ) throws(StoreError) -> Bool {
        guard let opened = try openIfPresent(parent, name, .directory) else { return true }
        return try !lock(opened.raw, exclusive: true)
    }
}

/// One wait for a lock, from its beginning: how long the next pause is, when to speak, when it is over.
package struct LockWait {
    /// After this time it is said for whom.
    private static let silence: Duration = .seconds(2)
    /// The longest pause between two looks, in milliseconds.
    private static let longestPause: Int64 = 50

    private let options: StoreOptions
    private let began = SuspendingClock.now
    private let patience = LockPatience.current
    private var hasTold = false
    /// Who was asked to stop before it waited is cleaning up, and must get through.
    private let isCleaningUp: Bool

    package init(_ options: StoreOptions) {
        self.options = options
        isCleaningUp = options.isInterrupted()
    }

    private var waited: Duration { SuspendingClock.now - began }

    package var isOver: Bool { waited >= options.waitLimit || patience?.isOver ?? false }
    package var isToBeTold: Bool { !hasTold && waited >= Self.silence }
    package var isInterrupted: Bool { !isCleaningUp && options.isInterrupted() }

    /// Rests for an eighth of the time that has been waited, at least a millisecond.
    package func rest() {
        let waited = waited.components
        let milliseconds =
            waited.seconds > 0
            ? Self.longestPause : waited.attoseconds / 1_000_000_000_000_000 / 8
        pause(milliseconds: Int32(min(max(1, milliseconds), Self.longestPause)))
    }

    package mutating func tell(_ holder: LockHolder) {
        hasTold = true
        options.notice("waiting for \(holder.description)")
    }

    package func error(_ holder: LockHolder) -> StoreError {
        let advice =
            holder.isStopped
            ? "it is stopped: kill -CONT \(holder.process ?? 0) lets it go on"
            : "repeat the command when it has finished"
        let isCut = waited < options.waitLimit
        let time =
            isCut
            ? "has a lock of it, and the time to wait for locks is over"
            : "has had a lock of it for longer than \(spelled(options.waitLimit))"
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
