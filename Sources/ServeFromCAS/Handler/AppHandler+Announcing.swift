import CASStore
import Synchronization
import VersionTree

// What pages are told of versions. `version-ready` is a promise: the next navigation has that version.
// A page that keeps it, and loads itself again, must find it; else it would load itself for ever.
extension AppHandler {
    /// Looks what has changed, and tells the pages of it; may wait for other processes.
    func follow() {
        guard lookForStore() else { return }
        if let change = shelf.refresh() { noteRollback(change.before, change.now) }
        // Held while it is told, so that two threads do not tell one thing in turn.
        announced.withLock { announced in
            guard let ready = nextVersion, ready != announced else { return }
            announced = ready
            let newcomers = newcomers.withLock { $0 }
            for session in bridge.sessions where !newcomers.contains(session) {
                guard page(of: session) != ready else { continue }
                bridge.publish(.versionReady(version: ready), to: session)
            }
        }
    }

    func noteSession(_ change: BridgeSessionChange) {
        switch change {
        case .opened(let session):
            // Which page it is of is not known yet.
            newcomers.withLock { _ = $0.insert(session) }
        case .closed(let session, _):
            newcomers.withLock { _ = $0.remove(session) }
            pins.withLock { $0.leave(session: session.description, now: SystemClock.now) }
        }
    }

    /// A session uses a connection; the first time its page is told what waits for it.
    ///
    /// That may have come between the page's navigation and its greeting. Never waits.
    func hold(_ session: BridgeSessionID, _ connection: ConnectionID) {
        pins.withLock {
            $0.hold(
                session: session.description, connection: connection.raw, now: SystemClock.now)
        }
        guard newcomers.withLock({ $0.contains(session) }) else { return }
        // A start that is being made may wait for the store. Where too much waits already, the session is
        // told with the next of its requests, or when something changes.
        guard startup != nil else { return welcome(session) }
        _ = storeWork.add { self.welcome(session) }
    }

    private func welcome(_ session: BridgeSessionID) {
        announced.withLock { _ in
            guard newcomers.withLock({ $0.remove(session) }) != nil else { return }
            let own = page(of: session)
            if let own { tellEarlierRollback(of: own, to: session) }
            guard let ready = nextVersion else { return }
            // A page that could not be told from others is none of a version that has not begun.
            let page = own ?? shelf.current?.site.version.description
            guard page != ready else { return }
            bridge.publish(.versionReady(version: ready), to: session)
        }
    }

    /// The version of a session's page; `nil` if it cannot be told.
    func page(of session: BridgeSessionID) -> String? {
        pins.withLock { $0.version(session: session.description)?.description }
    }

    /// What the next navigation gets; may wait for a start that is being made.
    private var nextVersion: String? {
        let lifecycle = shelf.lifecycle
        if let pending = lifecycle.pending, shelf.isFollowing,
            startup?.ask({ $0.startsPending(lifecycle) }) == true
        {
            return pending
        }
        return shelf.current?.site.version.description
    }
}
