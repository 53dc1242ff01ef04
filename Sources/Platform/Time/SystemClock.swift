import CSystem

/// Milliseconds and seconds, as a loop needs them.
package enum SystemClock {
    /// Milliseconds since some moment; never goes back.
    package static var milliseconds: Int64 { castree_monotonic_ns() / 1_000_000 }
    /// The time since the same moment.
    package static var now: Duration { .nanoseconds(nanoseconds) }
    package static var nanoseconds: Int64 { castree_monotonic_ns() }
    /// Seconds since 1970, exact to a few milliseconds.
    package static var seconds: Int64 { castree_realtime_seconds() }
    /// By how many seconds the local time, which TZ names, is ahead of UTC at a moment.
    ///
    /// - Parameter seconds: the moment, in seconds since 1970.
    package static func utcOffset(at seconds: Int64) -> Int64 { castree_utc_offset(seconds) }
}
