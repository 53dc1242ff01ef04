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
    /// The app starts: what it switched from, and what was left before, if anything was.
    case booted(version: String, switchedFrom: String?, left: LeftVersion?)
    /// A version was vouched for.
    case confirmed(version: String)
    /// The current version was left for one that is known good.
    case rolledBack(version: String, from: String, reason: String, ban: Lifecycle.Ban?)
    /// A ban was lifted.
    case forgiven(version: String)
    /// A version was forgotten.
    case retired(version: String, references: Int)
    /// The version that was shipped with the app is another one now.
    case embedded(version: String, previous: String?, becameCurrent: Bool)
    /// What nothing references was deleted.
    case collected(objects: Int, bytes: Int64)
    /// A check found something wrong.
    case checked(findings: [Finding], repairing: Bool)
}

/// Is told what the verbs of a ``VersionStore`` have done, after they have done it.
///
/// Called by the thread that called the verb, outside of every lock. It cannot object: what it is told
/// has happened and is durable.
package protocol VersionObserver: Sendable {
    /// Notes an event.
    func note(_ event: VersionEvent)
}

extension VersionStore {
    /// The same store, with somebody who is told what its verbs do.
    package func observed(by observer: any VersionObserver) -> VersionStore {
        VersionStore(store, observer: observer, limits: limits)
    }

    func note(_ event: VersionEvent) { observer?.note(event) }
}
