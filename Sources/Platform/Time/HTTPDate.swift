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

    /// Reads a date in any of the three formats of RFC 9110, section 5.6.7; `nil` for anything else.
    ///
    /// IMF-fixdate `Sun, 06 Nov 1994 08:49:37 GMT`, RFC 850 `Sunday, 06-Nov-94 08:49:37 GMT`, asctime `Sun Nov  6
    /// 08:49:37 1994`. A two-digit year that would be more than 50 years after `now` means the past century. The
    /// weekday must be a weekday's name, but need not be the right one.
    package init?(_ bytes: some Collection<UInt8>, now: HTTPDate) {
        var reader = DateReader(bytes: Array(bytes.prefix(64)))
        guard let date = reader.read(now: now) else { return nil }
        self = date
    }

    package init?(_ text: String, now: HTTPDate) {
        self.init(text.utf8, now: now)
    }
}

struct DateReader {
    let bytes: [UInt8]
    var position = 0

    mutating func read(now: HTTPDate) -> HTTPDate? {
        guard let long = weekday() else { return nil }
        let date: HTTPDate?
        if long, literal(", ") {
            date = rfc850(now)
        } else if !long, literal(", ") {
            date = fixed()
        } else if !long, literal(" ") {
            date = asctime()
        } else {
            date = nil
        }
        return position == bytes.count ? date : nil
    }

    /// Reads `2015-05-25T10:00:00.5+02:00`, to its end.
    mutating func calendarTime() -> Int64? {
        guard let year = number(4), literal("-"), let month = number(2), (1...12).contains(month),
            literal("-"), let day = number(2), literal("T") || literal("t"), let time = time(),
            let date = moment(year, month, day, time)
        else { return nil }
        if literal(".") {
            guard number(1) != nil else { return nil }
            while number(1) != nil {}
        }
        guard let shift = shift(), position == bytes.count else { return nil }
        return date.seconds - shift
    }

    /// `Z`, `+02:00`: seconds ahead of UTC.
    private mutating func shift() -> Int64? {
        if literal("Z") || literal("z") { return 0 }
        let isBehind = literal("-")
        guard isBehind || literal("+"), let hours = number(2), literal(":"),
            let minutes = number(2), hours < 24, minutes < 60
        else { return nil }
        return Int64(hours * 3600 + minutes * 60) * (isBehind ? -1 : 1)
    }

    /// Reads `06 Nov 1994 08:49:37 GMT`.
    private mutating func fixed() -> HTTPDate? {
        guard let day = number(2), literal(" "), let month = month(), literal(" "),
            let year = number(4), literal(" "), let time = time(), literal(" GMT")
        else { return nil }
        return moment(year, month, day, time)
    }

    /// Reads `06-Nov-94 08:49:37 GMT`.
    private mutating func rfc850(_ now: HTTPDate) -> HTTPDate? {
        guard let day = number(2), literal("-"), let month = month(), literal("-"),
            let year = number(2), literal(" "), let time = time(), literal(" GMT")
        else { return nil }
        // Any century will do to find it: 400 years are always the same number of days.
        let fiftyYears: Int64 = 50 * 31_556_952
        for century in stride(from: 9900, through: 0, by: -100) {
            guard let date = moment(century + year, month, day, time) else { continue }
            if date.seconds <= now.seconds + fiftyYears { return date }
        }
        return nil
    }

    /// Reads `Nov  6 08:49:37 1994`.
    private mutating func asctime() -> HTTPDate? {
        guard let month = month(), literal(" ") else { return nil }
        guard let day = literal(" ") ? number(1) : number(2), literal(" "), let time = time(),
            literal(" "), let year = number(4)
        else { return nil }
        return moment(year, month, day, time)
    }

    private func moment(_ year: Int, _ month: Int, _ day: Int, _ time: Int) -> HTTPDate? {
        guard day >= 1, day <= HTTPDate.length(ofMonth: month, year) else { return nil }
        let days = HTTPDate.days(year: year, month: month, day: day)
        return HTTPDate(seconds: Int64(days) * 86_400 + Int64(time))
    }

    /// Seconds of the day; a leap second counts as the second before it.
    private mutating func time() -> Int? {
        guard let hour = number(2), literal(":"), let minute = number(2), literal(":"),
            let second = number(2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }

    private mutating func number(_ digits: Int) -> Int? {
        guard position + digits <= bytes.count else { return nil }
        var value = 0
        for offset in 0..<digits {
            let byte = bytes[position + offset]
            guard byte >= 48, byte <= 57 else { return nil }
            value = value * 10 + Int(byte - 48)
        }
        position += digits
        return value
    }

    private mutating func literal(_ text: String) -> Bool {
        guard bytes[position...].starts(with: text.utf8) else { return false }
        position += text.utf8.count
        return true
    }

    private mutating func month() -> Int? {
        for (index, name) in HTTPDate.months.enumerated() where literal(name) { return index + 1 }
        return nil
    }

    /// Whether the weekday is written out; `nil` if there is none.
    private mutating func weekday() -> Bool? {
        for name in HTTPDate.weekdays where literal(name) { return true }
        for name in HTTPDate.weekdays where literal(String(name.prefix(3))) { return false }
        return nil
    }
}
