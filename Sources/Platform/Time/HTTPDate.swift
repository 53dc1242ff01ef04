/// A time in whole seconds, as HTTP writes it (RFC 9110, section 5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    package let seconds: Int64
    package static let byteCount = 29

    package init(seconds: Int64) { self.seconds = seconds }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.seconds < right.seconds
    }

    package func append(to target: inout [UInt8]) { target += text.utf8 }

    /// The IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`; years outside 0 to 9999 are clamped.
    package var text: String {
        let moment = CivilDate.moment(min(max(seconds, -62_167_219_200), 253_402_300_799))
        let date = moment.date
        let weekday = Self.weekdays[Int(Self.modulo(moment.days + 4, 7))].prefix(3)
        return "\(weekday), \(twoDigits(date.day)) \(Self.months[Int(date.month) - 1]) "
            + "\(date.yearDigits) \(moment.clock) GMT"
    }

    static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func modulo(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return rest < 0 ? rest + divisor : rest
    }

    /// - Parameter month: from 1.
    package static func length(ofMonth month: Int, _ year: Int) -> Int {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    /// Days since 1970-01-01 of a Gregorian day; the year begins in March here, so that the leap day is its last.
    package static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
