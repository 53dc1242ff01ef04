/// Which versions may go, as an operator or an app says it: a value.
///
/// Whatever it says, current, pending, embedded and pinned versions stay, and so do those that have
/// proved good, unless `goodCount` says otherwise.
public struct RetentionPolicy: Sendable, Hashable {
    /// How many versions that have proved good stay, including the current one; at least 1.
    ///
    /// What stays for another reason does not count. `nil`: all that are remembered.
    public var goodCount: Int?
    /// How many of the newest versions stay in addition to those that something needs.
    ///
    /// Counts whole versions that are not banned. While no version is current, at least one stays.
    public var newestCount = 0
    /// How long every version stays after it was registered, in seconds.
    public var minimumAge: Int64?
    /// How many bytes the objects of the store may hold.
    ///
    /// With a limit only what must go goes, the oldest first; without one, everything that may.
    public var byteCountMax: Int64?
    /// Whether the newest version that is newer than the current one stays, and all of them while none is current and
    /// none waits: an app that updates itself is about to show it.
    package var keepsNewer = false
    /// The version, registered or not, that takes the place of all that are newer than the current one and not known
    /// good; `nil` for the newest of these.
    package var successor: String?

    /// If these are given, no other version may go, and of these all that nothing needs.
    package var candidates: Set<String>?

    /// Keeps what is needed, and nothing else.
    public init() {}

    /// The policy of an app that updates itself: keeps the last good generations, what waits, and
    /// the newest that has come; not what was replaced before anybody saw it.
    public static func generations(_ goodCount: Int) -> RetentionPolicy {
        var policy = RetentionPolicy()
        policy.goodCount = goodCount
        policy.keepsNewer = true
        return policy
    }
}
