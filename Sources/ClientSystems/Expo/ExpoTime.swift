import Platform

/// Times in Expo's documents: `2026-11-22T22:02:19.000Z` (ISO 8601).
enum ExpoTime {
    /// The text of milliseconds since 1970.
    static func text(_ milliseconds: Int64) -> String {
        let day = Int64(86_400_000)
        let rest = (milliseconds % day + day) % day
        let date = CivilDate(daysSince1970: (milliseconds - rest) / day)
        let time = [rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60].map { padded($0, 2) }
        return "\(padded(date.year, 4))-\(padded(date.month, 2))-\(padded(date.day, 2))T"
            + time.joined(separator: ":") + ".\(padded(rest % 1000, 3))Z"
    }

    private static func padded(_ number: Int64, _ count: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(count - digits.utf8.count, 0)) + digits
    }
}
