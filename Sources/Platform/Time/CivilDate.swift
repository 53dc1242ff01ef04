/// A day of the Gregorian calendar, extended to before its introduction.
package struct CivilDate: Sendable, Hashable {
    package let year: Int64
    /// From 1.
    package let month: Int64
    /// From 1.
    package let day: Int64

    /// The day a number of days after 1970-01-01.
    ///
    /// Years are counted from March, so that the leap day is the last; 400 of them have 146,097 days, and five months
    /// from March or August on have 153 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
    /// civil_from_days).
    package init(daysSince1970 days: Int64) {
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// The day of a second since 1970, as a number and as a date, and the time of that day, `13:07:45`.
    static func moment(_ seconds: Int64) -> (days: Int64, date: CivilDate, clock: String) {
        let second = HTTPDate.modulo(seconds, 86_400)
        let days = (seconds - second) / 86_400
        let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits)
        return (days, CivilDate(daysSince1970: days), clock.joined(separator: ":"))
    }

    /// The year in at least four digits; with a sign if it has more.
    var yearDigits: String {
        let digits = "\(year.magnitude)"
        let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
        return (year < 0 ? "-" : year > 9999 ? "+" : "") + padded
    }
}

/// Times as ISO 8601 spells them for machines (RFC 3339, section 5.6).
package enum CalendarTime {
    /// Seconds since 1970 of `2015-05-25T10:00:00Z` or `…+02:00`; fractions are dropped.
    /// - Returns: nil for anything else. A leap second counts as the second before it.
    package static func seconds(_ text: String) -> Int64? {
        var reader = DateReader(bytes: Array(text.utf8.prefix(64)))
        return reader.calendarTime()
    }

    /// A date and a time without a zone, `2025-11-21T13:07:45`; longer years have a sign, as ISO 8601 requires.
    /// - Parameter seconds: since 1970 where the clock shows it.
    package static func text(_ seconds: Int64) -> String {
        let (_, date, clock) = CivilDate.moment(seconds)
        return "\(date.yearDigits)-\(twoDigits(date.month))-\(twoDigits(date.day))T\(clock)"
    }
}

package func twoDigits(_ number: some BinaryInteger) -> String {
    number < 10 ? "0\(number)" : "\(number)"
}
