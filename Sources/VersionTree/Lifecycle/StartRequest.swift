package import CASStore

/// A store's versions as the judge of a start sees them.
package protocol StartableVersions {
    /// The address of a version's content; `nil` if it is not registered.
    func content(of version: String) throws(StoreError) -> ObjectID?
    /// Whether a version can be shown: registered, complete, not banned.
    func isUsable(_ version: String, _ lifecycle: Lifecycle) throws(StoreError) -> Bool
}

package struct StartRequest: Sendable {
    /// How to treat an unconfirmed start that no living process watches.
    package enum Successor: Sendable, Hashable {
        /// It has failed: the app starts again.
        case judges
        /// The caller continues it and serves its page; a watched start with this token failed with its process.
        case adopts(besides: String?)
    }

    /// Whether a version has a page to start with, as far as the caller knows.
    package typealias Showing = @Sendable (_ version: String) throws(StoreError) -> Bool

    package var token = ""
    /// Seconds since 1970.
    package var time: Int64 = 0
    /// Identifies the system boot.
    package var system: String?
    package var failedAttempts: Int
    /// Whether this process has the lock of starts, and watches what it starts.
    package var isWatching = false
    /// Whether another process has the lock, and is therefore alive.
    package var isLockTaken = false
    /// Whether a version that waits after a failed start may be started.
    package var mayRetry = true
    /// Whether a pending version may be started; without a current one it always may.
    package var takesPending = true
    /// A pending version that cannot be shown as its manifest says, and starts only if nothing else can.
    package var unfit: String?
    /// Whether the start counts against the content if it is not confirmed.
    package var isCounted = true
    package var successor = Successor.judges
    /// Runs while the lifecycle is locked, so it must neither change nor pin anything; only a server has start pages.
    package var canShow: Showing = { _ in true }
}

package enum Departure: Sendable, Hashable {
    /// Its time is over: the version is pending, or banned if its starts are used up.
    case unconfirmed(String, token: String, reason: String)
    /// The version could not be shown; the token is that of a watched start that was never seen.
    case unshown(String, token: String?, reason: String)
    /// Its watcher stops in an orderly way; the third such start in a row counts as a failure.
    case stopped(String, token: String)
    /// Its answer could not be delivered, which says nothing about the version, however often it happens.
    case unheard(String, token: String)
}

/// A version that was rolled back.
package struct LeftVersion: Sendable, Hashable {
    /// The version that is current now.
    package var current: String
    /// The version that was current.
    package var from: String
    package var reason: String
    /// The ban, unless the version was only rolled back.
    package var ban: Lifecycle.Ban?
    /// Whether it waits for another start.
    package var waits = false
}

package struct Begun: Sendable, Hashable {
    package enum Kind: Sendable, Hashable {
        /// A new start.
        case started
        /// Another process watches a start of the version.
        case joined
        /// An earlier start continues under this process's watch.
        case adopted
    }

    package var kind: Kind
    package var version: String
    package var token: String
    /// The version that was rolled back first.
    package var left: LeftVersion?
    /// The previously current version, if the start has changed it.
    package var switchedFrom: String?
}
