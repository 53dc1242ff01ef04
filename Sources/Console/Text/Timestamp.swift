import Platform

/// Returns a moment as ISO 8601 spells it, in UTC: `2025-11-21T13:07:45Z`.
///
/// Years beyond four digits carry a sign, as ISO 8601 demands of them.
///
/// - Parameter seconds: seconds since 1970.
package func timestamp(_ seconds: Int64) -> String { localPart(of: seconds) + "Z" }

/// Returns a moment as ISO 8601 spells it, in local time: `2025-11-21T14:07:45+01:00`; in UTC where that is the local time.
///
/// - Parameters:
///   - seconds: seconds since 1970.
///   - offset: by how many seconds the local time is ahead of UTC then; the system's if it is `nil`.
package func localTimestamp(_ seconds: Int64, offset: Int64? = nil) -> String {
    // ISO 8601 knows no seconds in it; local mean times of before 1900 had some.
    let minutes = (offset ?? SystemClock.utcOffset(at: seconds)) / 60
    guard minutes != 0 else { return timestamp(seconds) }
    let clock = [minutes.magnitude / 60, minutes.magnitude % 60].map(twoDigits)
    return localPart(of: seconds + minutes * 60) + (minutes < 0 ? "-" : "+")
        + clock.joined(separator: ":")
}

/// A date and a time without a zone.
private func localPart(of seconds: Int64) -> String {
    let day = seconds.flooredQuotient(by: 86_400)
    let second = seconds - day * 86_400
    let date = CivilDate(daysSince1970: day)
    let clock = [second / 3600, second / 60 % 60, second % 60].map(twoDigits)
    return "\(yearDigits(date.year))-\(twoDigits(date.month))-\(twoDigits(date.day))"
        + "T\(clock.joined(separator: ":"))"
}

/// Returns a number from 0 to 99 with a leading zero where it has one digit.
package func twoDigits(_ number: some BinaryInteger) -> String {
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
