internal import Platform

/// A time in ISO 8601, in UTC: `2025-11-21T13:07:45Z`.
/// - Parameter seconds: since 1970.
package func timestamp(_ seconds: Int64) -> String { CalendarTime.text(seconds) + "Z" }

/// A time in ISO 8601, in local time: `2025-11-21T14:07:45+01:00`; in UTC where that is the local time.
/// - Parameters:
///   - seconds: since 1970.
///   - offset: by how many seconds the local time is ahead of UTC then; `nil` for the system's.
package func localTimestamp(_ seconds: Int64, offset: Int64? = nil) -> String {
    // ISO 8601 has no seconds in an offset; local mean times before 1900 had some.
    let minutes = (offset ?? SystemClock.utcOffset(at: seconds)) / 60
    guard minutes != 0 else { return timestamp(seconds) }
    let clock = [minutes.magnitude / 60, minutes.magnitude % 60].map(twoDigits)
    return CalendarTime.text(seconds + minutes * 60) + (minutes < 0 ? "-" : "+")
        + clock.joined(separator: ":")
}
