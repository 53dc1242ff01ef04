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
