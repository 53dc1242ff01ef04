import CSystem

/// The clocks of the system.
package enum SystemClock {
    /// Milliseconds since an arbitrary time; monotonic.
    package static var milliseconds: Int64 { castree_monotonic_ns() / 1_000_000 }
    package static var now: Duration { .nanoseconds(nanoseconds) }
    package static var nanoseconds: Int64 { castree_monotonic_ns() }
    /// Seconds since 1970, exact to a few milliseconds.
    package static var seconds: Int64 { castree_realtime_seconds() }
    /// How many seconds the local time, set by TZ, is ahead of UTC at a time.
    /// - Parameter seconds: since 1970.
    package static func utcOffset(at seconds: Int64) -> Int64 { castree_utc_offset(seconds) }
}
