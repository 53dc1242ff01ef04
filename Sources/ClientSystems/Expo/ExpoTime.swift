import Platform

/// Times in Expo's documents: `2026-11-22T22:02:19.000Z` (ISO 8601).
enum ExpoTime {
    static func text(_ milliseconds: Int64) -> String {
        let rest = (milliseconds % 1000 + 1000) % 1000
        let seconds = CalendarTime.text((milliseconds - rest) / 1000)
        return "\(seconds).\(String(1000 + rest).dropFirst())Z"
    }
}
