/// Returns a moment as ISO 8601 spells it, in UTC: `2025-11-21T13:07:45Z`.
///
/// Years beyond four digits carry a sign, as ISO 8601 demands of them.
///
/// - Parameter seconds: seconds since 1970.
package func timestamp(_ seconds: Int64) -> String {
    let day = seconds.flooredQuotient(by: 86_400)
    let second = seconds - day * 86_400
    let (year, month, dayOfMonth) = civilDate(daysSince1970: day)
    let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits)
    return "\(yearDigits(year))-\(twoDigits(month))-\(twoDigits(dayOfMonth))"
        + "T\(clock.joined(separator: ":"))Z"
}

/// Returns the date of a day in the Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last; 400 of them have 146,097 days,
/// and five months from March or August on have 153 (Howard Hinnant, "chrono-Compatible Low-Level
/// Date Algorithms", civil_from_days).
private func civilDate(
    daysSince1970 days: Int64
) -> (year: Int64, month: Int64, day: Int64) {
    // 719,468 days lie between 0000-03-01 and 1970-01-01.
    let shifted = days + 719_468
    let era = shifted.flooredQuotient(by: 146_097)
    let dayOfEra = shifted - era * 146_097
    let yearOfEra =
        (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
}

private func twoDigits(_ number: Int64) -> String {
    number < 10 ? "0\(number)" : "\(number)"
}

private func yearDigits(_ year: Int64) -> String {
    let digits = "\(year.magnitude)"
    let padded = String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    if year < 0 { return "-" + padded }
    return year > 9999 ? "+" + padded : padded
}

extension Int64 {
    /// The quotient, rounded down where `/` rounds towards zero.
    fileprivate func flooredQuotient(by divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}
