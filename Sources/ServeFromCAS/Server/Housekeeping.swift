import CASStore
import Synchronization
import VersionTree

/// A server's background work: follows the lifecycle, and ends what is over.
enum Housekeeping {
    /// How soon listening pages learn of switches and a download's progress; navigations check for themselves.
    private static let pause = Duration.milliseconds(500)

    /// How often to look for files gone from the store: a version that could not be pinned may be collected while it
    /// is shown.
    private static let closingPause = Duration.seconds(60)

    static func run(_ handler: AppHandler, _ loops: [EventLoop]) async {
        var closesAt = SystemClock.now + closingPause
        while !Task.isCancelled {
            let now = SystemClock.now
            look(handler, now: now) { judgement in
                // The confirmation of a start may be waiting to be read: after three rounds its connection is accepted,
                // its request is read, and the work for it is in the queue.
                goRound((loops + loops + loops)[...]) {
                    // If the queue is full, nothing is judged now: this is called again soon.
                    _ = handler.storeWork.add(judgement)
                }
            }
            if now >= closesAt {
                closesAt = now + closingPause
                handler.objects.close()
            }
            do {
                try await Task.sleep(for: pause)
            } catch {
                return
            }
        }
    }

    /// Does `work` after loops have run in turn, unless one has ended.
    private static func goRound(
        _ loops: ArraySlice<EventLoop>, then work: @escaping @Sendable () -> Void
    ) {
        guard let next = loops.first else { return work() }
        _ = next.submit { _ in goRound(loops.dropFirst(), then: work) }
    }

    /// - Parameter judging: gets the work that rolls back a version whose time is over.
    static func look(
        _ handler: AppHandler, now: Duration,
        judging: (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        LockDeadline.within(handler.waitLimit, unless: handler.isGivenUp) {
            lookAtStarts(handler, now: now, judging: judging)
            if let deadline = handler.bridge.nextDeadline, deadline <= now {
                handler.bridge.advance(to: now)
            }
            lookAtDownloads(handler, now)
            handler.options.updates?.noteForeground(handler.isInForeground(now: now))
            handler.cache.pinAgain(now: now)
            letGo(handler, now)
        }
    }

    /// Follows the lifecycle, and rolls back a version whose time is over.
    static func lookAtStarts(
        _ handler: AppHandler, now: Duration,
        judging: (@escaping @Sendable () -> Void) -> Void = { $0() }
    ) {
        handler.follow()
        let isOver = isOver(handler, now)
        // The time until the next look counts by what is visible now.
        handler.starts.noteVisibility(now: now) { handler.isUnseen(now: now) }
        if isOver { judging { judge(handler) } }
    }

    private static func isOver(_ handler: AppHandler, _ now: Duration) -> Bool {
        guard let startup = handler.startup else { return false }
        let lifecycle = handler.cache.lifecycle
        do throws(StoreError) {
            return try startup.judge { (judge, ledger) throws(StoreError) in
                try judge.follow(lifecycle, ledger, now: now)
                return judge.tick(now: now)
            }
        } catch {
            handler.returnFailure.tell(
                "unable to watch the start of another server: \(error.message)")
            return false
        }
    }

    private static func judge(_ handler: AppHandler) {
        guard let startup = handler.startup, handler.takeBackWaiting(startup) else { return }
        do throws(StoreError) {
            let left = try LockDeadline.within(handler.waitLimit, unless: handler.isGivenUp) {
                () throws(StoreError) in
                try startup.judge { (judge, ledger) throws(StoreError) in try judge.judge(ledger) }
            }
            guard let left else { return }
            // Before anyone else notices the change without knowing the reason.
            handler.tellRollback(left.from, left.reason)
            handler.follow()
            handler.returnFailure.end()
        } catch {
            handler.returnFailure.tell(
                "unable to go back from a version that was not confirmed: \(error.message)")
        }
    }

    private static func lookAtDownloads(_ handler: AppHandler, _ now: Duration) {
        guard !handler.bridge.sessions.isEmpty else { return handler.downloads.rest() }
        let bridge = handler.bridge
        handler.downloads.look(now: now) { bridge.announce($0) }
    }

    private static func letGo(_ handler: AppHandler, _ now: Duration) {
        // In one step: otherwise a page that begins in between would lose its version.
        let dropped = handler.pins.withLock { pins in
            pins.expire(now: now)
            return handler.cache.take(besides: pins.pinned(now: now))
        }
        if !dropped.isEmpty {
            let needed = handler.cache.objects
            handler.objects.close { needed.contains($0) }
        }
        // Their pins are released here, outside the locks.
        withExtendedLifetime(dropped) {}
    }
}
