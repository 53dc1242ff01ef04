import CASStore
import Synchronization

/// What a server does although nobody asks: follows the lifecycle, ends what is over.
enum Housekeeping {
    /// Twice a second: a version that another process makes current, and how far a download is, is told that
    /// soon to pages that listen; navigations look for themselves.
    private static let pause = Duration.milliseconds(500)

    /// How often files are looked for that are gone from the store: where no pin could be made, a
    /// version is collected although it is shown.
    private static let closingPause = Duration.seconds(60)

    static func run(_ handler: AppHandler) async {
        var closesAt = SystemClock.now + closingPause
        while !Task.isCancelled {
            let now = SystemClock.now
            look(handler, now: now)
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

    static func look(_ handler: AppHandler, now: Duration) {
        handler.follow()
        if let startup = handler.startup { look(startup, handler, now) }
        if let deadline = handler.bridge.nextDeadline, deadline <= now {
            handler.bridge.advance(to: now)
        }
        lookAtDownloads(handler, now)
        handler.shelf.pinAgain(now: now)
        letGo(handler, now)
    }

    private static func look(_ startup: StartupWatch, _ handler: AppHandler, _ now: Duration) {
        do throws(StoreError) {
            try startup.follow(handler.shelf.lifecycle, now: now)
            guard let left = try startup.look(now: now) else { return }
            handler.follow()
            handler.tellRollback(left.version, left.reason)
            handler.returnTrouble.end()
        } catch {
            handler.returnTrouble.tell(
                "unable to go back from a version that was not confirmed: \(error.message)")
        }
    }

    private static func lookAtDownloads(_ handler: AppHandler, _ now: Duration) {
        guard !handler.bridge.sessions.isEmpty else { return handler.downloads.rest() }
        let bridge = handler.bridge
        handler.downloads.look(now: now) { bridge.publish($0) }
    }

    /// Lets go of versions that no page has any more.
    private static func letGo(_ handler: AppHandler, _ now: Duration) {
        // In one step: a page that begins between question and deed would lose its version.
        let dropped = handler.pins.withLock { pins in
            pins.expire(now: now)
            return handler.shelf.take(besides: pins.pinned(now: now))
        }
        if !dropped.isEmpty {
            let needed = handler.shelf.objects
            handler.objects.close { needed.contains($0) }
        }
        // Their pins are released here, outside the locks.
        withExtendedLifetime(dropped) {}
    }
}
