internal import CASStore

/// The field that says when a server wants to be asked again (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// How long to wait: seconds, or the time until a date; nil if it is neither.
    ///
    /// - Parameter now: seconds since 1970. A date that has passed asks for no wait.
    static func delay(_ value: String, now: Int64) -> Duration? {
        let bytes = Array(value.utf8)
        if !bytes.isEmpty, bytes.allSatisfy({ $0 >= 48 && $0 <= 57 }) {
            // Larger numbers than fit are a wait without end; whoever reads it bounds it.
            return .seconds(min(Int64(value) ?? .max, 1 << 32))
        }
        guard let date = HTTPDate(value, now: HTTPDate(seconds: now)) else { return nil }
        return .seconds(max(date.seconds - now, 0))
    }
}
