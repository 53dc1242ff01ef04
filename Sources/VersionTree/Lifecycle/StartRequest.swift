package import CASStore

/// What the judge of a start needs to know of a store's versions.
package protocol StartableVersions {
    /// The address of a version's content; `nil` if it is not registered.
    func content(of version: String) throws(StoreError) -> ObjectID?
    /// Whether a version can be shown: registered, complete, not banned.
    func isUsable(_ version: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool
}

/// A start that is about to be made.
package struct StartRequest: Sendable {
    /// What becomes of an unconfirmed start that no living process watches.
    package enum Heir: Sendable, Hashable {
        /// It has failed: the app starts again.
        case judges
        /// The caller goes on with it, because it serves a page of it now; but a watched start with this
        /// token has failed, because its process died before this one began.
        case adopts(besides: String?)
    }

    /// Whether a version has a page to start with, as far as the caller can tell.
    package typealias Showing = @Sendable (_ version: String) throws(StoreError) -> Bool

    /// What the confirmation must present.
    package var token = ""
    /// Seconds since 1970.
    package var time: Int64 = 0
    /// Names the time since the system started.
    package var system: String?
    /// How many starts of one content may fail.
    package var strikes: Int
    /// Whether this process has the lock of starts, and watches what it starts.
    package var isWatching = false
    /// Whether another process has the lock, and is therefore alive.
    package var isLockTaken = false
    /// Whether a version that waits after a strike may be started.
    package var mayRetry = true
    /// Whether a pending version may be started; without a current one it is in any case.
    package var takesPending = true
    /// A version that waits and cannot be shown as its manifest says: it waits on, unless nothing else can be started.
    package var unfit: String?
    /// Whether it counts if nobody confirms it.
    package var isCounted = true
    /// Who an unconfirmed start belongs to.
    package var heir = Heir.judges
    /// Runs while the lifecycle is locked, so it must neither change nor pin anything.
    ///
    /// Only a server knows the page that an app starts with; for all others every version has one.
    package var canShow: Showing = { _ in true }
}

/// How a start ends that nobody has confirmed.
package enum Departure: Sendable, Hashable {
    /// Not in time: the version waits for another start, or is banned if its strikes are used up.
    case unconfirmed(String, token: String, reason: String)
    /// Nobody could be shown the version; the token is that of a start which somebody watches and nobody saw.
    case unshown(String, token: String?, reason: String)
    /// Its watcher stops in an orderly way: the third in a row counts as a failure.
    case stopped(String, token: String)
    /// Nobody has heard of it, since its answer could not be given: that says nothing of the version, however often it
    /// happens.
    case unheard(String, token: String)
}

/// A version that was left for another one.
package struct LeftVersion: Sendable, Hashable {
    /// What is current now.
    package var current: String
    /// What was current.
    package var from: String
    /// Why it was left.
    package var reason: String
    /// The ban, unless the version was only left.
    package var ban: Lifecycle.Ban?
    /// Whether it waits for another start.
    package var waits = false
}

/// What became of a request to start.
package struct Begun: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A start of its own.
        case started
        /// Another process watches a start of the version.
        case joined
        /// An earlier start goes on under this process's watch.
        case adopted
    }

    package var kind: Kind
    package var version: String
    package var token: String
    /// The version that was left before.
    package var left: LeftVersion?
    /// What was current before, if the start has changed it.
    package var switchedFrom: String?
}
