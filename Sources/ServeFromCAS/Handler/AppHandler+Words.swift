import CASStore
import Synchronization
import VersionTree

// What follows from what a page says of itself. It may prove less than its requests do, never more: a service worker
// that keeps pages shows an old one where the server has answered the navigation with another version.
extension AppHandler {
    /// Whether a page whose navigation was answered with a version may be of it.
    func isOf(_ version: String, _ word: PageWord?) -> Bool {
        guard let word, let name = try? VersionName(version) else { return true }
        return word.allows(name)
    }

    /// The answer to a confirmation by a page that is not of the version which its requests tell.
    ///
    /// Nothing is known good because of it; may wait for other processes.
    func unproven(
        _ answered: String, _ word: PageWord?, _ session: BridgeSessionID, _ method: Method
    ) -> Response {
        takeBackUnshown(answered, word)
        if case .version(let own)? = word,
            startup == nil || shelf.lifecycle.knownGood.contains(own.description)
        {
            return Self.empty(204)
        }
        return PlainAnswer.response(
            409,
            "This page is not of version \(answered), which the server has sent: a service worker keeps it.",
            method: method)
    }

    /// Takes back a start whose navigation was answered, where the page that came of it says that it is of another
    /// version; may wait for other processes.
    func takeBackUnshown(_ session: BridgeSessionID) {
        let (answered, word) = pins.withLock {
            ($0.answered(session: session.description), $0.words[session.description])
        }
        guard let answered, !isOf(answered.description, word) else { return }
        takeBackUnshown(answered.description, word)
    }

    private func takeBackUnshown(_ answered: String, _ word: PageWord?) {
        guard let startup, startup.ask({ $0.isWatching(answered) }),
            // Another tab shows it.
            !bridge.sessions.contains(where: { page(of: $0) == answered })
        else { return }
        let shown = if case .version(let own)? = word { "version \(own)" } else { "an older page" }
        let reason = "a service worker showed \(shown) in its place"
        do throws(StoreError) {
            let left = try startup.judge { (judge, ledger) throws(StoreError) in
                try judge.takeBackUnshown(answered, reason, ledger)
            }
            if let left { tellRollback(left.from, left.reason) }
            follow()
        } catch {
            startTrouble.tell("unable to take back a start that nobody saw: \(error.message)")
        }
    }
}
