/// The Retry-After field (RFC 9110, section 10.2.3).
package enum RetryAfter {
    /// How long to wait: seconds, or the time until a date; nil if it is neither.
    /// - Parameter now: seconds since 1970. A date in the past means no wait.
    package static func delay(_ value: String, now: Int64) -> Duration? {
        let bytes = Array(value.utf8)
        if !bytes.isEmpty, bytes.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
            // Numbers that do not fit are an endless wait; the caller limits it.
            return .seconds(min(Int64(value) ?? .max, 1 << 32))
        }
        guard let date = HTTPDate(value, now: HTTPDate(seconds: now)) else { return nil }
        return .seconds(max(date.seconds - now, 0))
    }
}
