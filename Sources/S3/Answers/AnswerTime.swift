import Platform

enum AnswerTime {
    /// Seconds since 1970 of a header field (RFC 9110, section 5.6.7); `nil` if invalid.
    static func field(_ value: String?) -> Int64? {
        // Years of two digits are in the past: no server writes them any more.
        value.flatMap { HTTPDate($0, now: HTTPDate(seconds: 1_764_000_000))?.seconds }
    }

    /// Seconds since 1970 of `2026-11-24T15:51:21.123Z`; `nil` if invalid.
    static func element(_ text: String) -> Int64? {
        text.hasSuffix("Z") ? CalendarTime.seconds(text) : nil
    }
}
