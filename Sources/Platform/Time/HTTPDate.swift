/// A moment in whole seconds, as HTTP writes it (RFC 9110, section 5.6.7).
package struct HTTPDate: Sendable, Hashable, Comparable {
    /// Seconds since 1970-01-01 00:00:00 UTC.
    package let seconds: Int64
    /// The number of bytes of an IMF-fixdate.
    package static let byteCount = 29

    package init(seconds: Int64) { self.seconds = seconds }

    package static func < (left: HTTPDate, right: HTTPDate) -> Bool {
        left.seconds < right.seconds
    }

    /// Writes the IMF-fixdate, `Sun, 06 Nov 1994 08:49:37 GMT`, to the end of `target`.
    ///
    /// Years outside 0 to 9999 are written as the nearest year that has four digits.
    package func append(to target: inout [UInt8]) {
        let first: Int64 = -62_167_219_200
        let last: Int64 = 253_402_300_799
        let seconds = min(max(seconds, first), last)
        let days = Int((seconds - Self.modulo(seconds, 86_400)) / 86_400)
        let time = Int(Self.modulo(seconds, 86_400))
        let date = CivilDate(daysSince1970: Int64(days))
        let (year, month, day) = (Int(date.year), Int(date.month), Int(date.day))
        let weekday = Int(Self.modulo(Int64(days) + 4, 7))
        Self.append(Self.weekdays[weekday].prefix(3), to: &target)
        target += [44, 32]
        Self.append(day, digits: 2, to: &target)
        target.append(32)
        Self.append(Self.months[month - 1][...], to: &target)
        target.append(32)
        Self.append(year, digits: 4, to: &target)
        target.append(32)
        Self.append(time / 3600, digits: 2, to: &target)
        target.append(58)
        Self.append(time / 60 % 60, digits: 2, to: &target)
        target.append(58)
        Self.append(time % 60, digits: 2, to: &target)
        target += [32, 71, 77, 84]
    }

    /// The IMF-fixdate.
    package var text: String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        append(to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    static let weekdays = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    private static func append(_ text: Substring, to target: inout [UInt8]) {
        target.append(contentsOf: text.utf8)
    }

    private static func append(_ number: Int, digits: Int, to target: inout [UInt8]) {
        var divisor = 1
        for _ in 1..<digits { divisor *= 10 }
        while divisor > 0 {
            target.append(48 + UInt8(number / divisor % 10))
            divisor /= 10
        }
    }

    /// The remainder that is never negative.
    static func modulo(_ number: Int64, _ divisor: Int64) -> Int64 {
        let rest = number % divisor
        return rest < 0 ? rest + divisor : rest
    }

    /// The number of days of a month, by its number from 1.
    package static func length(ofMonth month: Int, _ year: Int) -> Int {
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
        return [31, leap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    }

    /// Days since 1970-01-01 of a day in the Gregorian calendar; the year begins in March here, so
    /// that the leap day is its last.
    package static func days(year: Int, month: Int, day: Int) -> Int {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
