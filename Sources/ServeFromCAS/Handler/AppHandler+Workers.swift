import CASStore
import Synchronization
import VersionTree

// Service workers that keep pages, as far as their pages report, and servers that refuse workers.
extension AppHandler {
    /// Handles the report of a page that reloading left outdated: its worker keeps it.
    func noteStalePage(_ head: RequestHead, _ exchange: Exchange) throws(Refusal) -> Answer {
        let session = try ownSession(head, "What a page says of itself")
        let browser = browser(of: head, exchange)
        // Loaded again, the page is what the next page gets.
        if pins.withLock({ $0.noteKeeping(session: session.description, browser: browser) }) {
            return Self.empty(205)
        }
        let word = BridgeQuery(head).word
        _ = storeWork.add {
            guard let next = self.nextVersion, word?.version?.description != next else { return }
            self.recordStalePage(insteadOf: next, word)
        }
        return Self.empty(204)
    }

    /// Records in the event log that a worker keeps a page; each once, for a while.
    func recordStalePage(insteadOf version: String, _ word: PageWord?) {
        let shown = word?.version?.description
        let isNew = announcements.withLock {
            $0.staysKept(shown, insteadOf: version, now: SystemClock.now)
        }
        guard isNew else { return }
        notice(
            "a service worker shows \(shown.map { "version \($0)" } ?? "an older page") in place of version "
                + version)
        store.versions.note(.stalePage(version: version, shown: shown))
    }

    /// A page of a version has confirmed it, so no worker keeps another in its place any more.
    ///
    /// If the version is already known good, the confirmation alone is not recorded, but `castree status` waits for
    /// it.
    func endStalePages(insteadOf version: String) {
        let wasKept = announcements.withLock { $0.isConfirmed(version) }
        if wasKept { store.versions.note(.confirmed(version: version)) }
    }

    /// The answer to a browser that has a worker and asks for its script where the version has none: a worker that
    /// removes itself.
    ///
    /// Such a version may be from before the first worker. After a 404 the browser would keep the old worker, and the
    /// worker its page.
    static func removingWorker(_ method: Method) -> Response {
        let script = """
            // The version that is shown has no worker here: this one takes the place of the old one, and goes.
            addEventListener('install', () => skipWaiting());
            addEventListener('activate', event => event.waitUntil((async () => {
              await registration.unregister();
              for (const page of await clients.matchAll({ type: 'window' })) page.navigate(page.url);
            })()));

            """
        return ResponseHead(200).carrying(
            Array(script.utf8), "text/javascript; charset=utf-8", caching: "no-store",
            method: method)
    }

    /// The answer to a request for a worker's script where workers are refused.
    ///
    /// A browser does not register the worker, but keeps an existing one, which the bridge removes.
    /// `Clear-Site-Data: "storage"` would also remove `localStorage` and databases, which are the app's.
    static func refusedWorker(_ method: Method) -> Response {
        PlainAnswer.response(
            404, "This server refuses service workers.", method: method,
            fields: [("Clear-Site-Data", "\"cache\"")])
    }
}
