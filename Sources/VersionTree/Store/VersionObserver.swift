package import CASStore

/// Something that a verb of ``VersionStore`` has done.
package enum VersionEvent: Sendable, Hashable {
    /// A directory was imported.
    case added(version: String, files: Int, bytes: Int64, newObjects: Int, newBytes: Int64)
    /// A version became current by request.
    case activated(version: String, previous: String?)
    /// A version waits for the next boot.
    case awaited(version: String)
    /// A version no longer waits for the next boot.
    case withdrawn(version: String)
    /// The app starts; with what it switched from, and what was left before, if anything.
    case booted(version: String, switchedFrom: String?, left: LeftVersion?)
    /// A version was vouched for.
    case confirmed(version: String)
    /// The current version was left for one that is known good.
    case rolledBack(version: String, from: String, reason: String, ban: Lifecycle.Ban?)
    /// A ban was lifted.
    case forgiven(version: String)
    /// A version was forgotten.
    case retired(version: String, references: Int)
    /// Another version is the one shipped with the app now.
    case embedded(version: String, previous: String?, becameCurrent: Bool)
    /// What nothing references was deleted.
    case collected(objects: Int, bytes: Int64)
    /// A check found something wrong.
    case checked(findings: [Finding], repairing: Bool)
    /// Whoever wanted to show an object found it damaged or gone.
    case damaged(code: String, message: String)
    /// A browser shows a page of another version than the server's, or one that tells none: a service worker keeps it.
    case stalePage(version: String, shown: String?)
}

/// Learns what the verbs of a ``VersionStore`` have done, after they have done it.
///
/// The thread that called the verb calls it, outside every lock. It cannot object: what it learns has
/// happened and is durable.
package protocol VersionObserver: Sendable {
    func note(_ event: VersionEvent)
}

extension VersionStore {
    /// The same store, with an observer of what its verbs do.
    package func observed(by observer: any VersionObserver) -> VersionStore {
        VersionStore(store, observer: observer, limits: limits)
    }

    func note(_ event: VersionEvent) { observer?.note(event) }

    /// Tells the store's observer that an object could not be shown.
    package func noteDamage(_ failure: StoreError) {
        note(.damaged(code: failure.code.description, message: failure.message))
    }

    /// Tells the store's observer that a service worker keeps a page in place of a version's.
    ///
    /// - Parameter shown: the version of the page; `nil` if it does not tell.
    package func noteStalePage(insteadOf version: String, shown: String?) {
        note(.stalePage(version: version, shown: shown))
    }

    /// Tells the store's observer that a page of a version has confirmed it again, after a worker kept another.
    package func noteShown(_ version: String) { note(.confirmed(version: version)) }
}
