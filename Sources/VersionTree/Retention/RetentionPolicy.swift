/// Which versions may go, as an operator or an app says it: a value.
///
/// Whatever it says, what is current, pending, embedded or pinned stays, and so does what has proved
/// good, as far as `goodCount` does not say otherwise.
public struct RetentionPolicy: Sendable, Hashable {
    /// How many versions that have proved good stay, the current one among them; at least 1.
    ///
    /// `nil`: all that are remembered.
    public var goodCount: Int?
    /// How many of the newest versions stay besides those that something needs.
    ///
    /// Counts what is whole and not banned. While no version is current at least one stays.
    public var newestCount = 0
    /// How long a version stays in any case after it was registered, in seconds.
    public var minimumAge: Int64?
    /// How many bytes the objects of the store may hold.
    ///
    /// With it no more goes than must, the oldest first; without it all goes that may.
    public var byteCountMax: Int64?
    /// Whether what is newer than the current version stays, and everything while none is current: an
    /// app that updates itself is about to show it.
    package var keepsNewer = false

    /// Keeps what is needed, and nothing else.
    public init() {}

    /// What an app that updates itself keeps: the last good generations, and what is newer.
    public static func generations(_ goodCount: Int) -> RetentionPolicy {
        var policy = RetentionPolicy()
        policy.goodCount = goodCount
        policy.keepsNewer = true
        return policy
    }
}
