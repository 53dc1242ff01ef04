import Platform

/// The times in answers.
enum AnswerTime {
    /// Seconds since 1970 of a header field (RFC 9110, section 5.6.7); nil if it is none.
    static func field(_ value: String?) -> Int64? {
        // Years of two digits are of the past: no server writes them any more.
        value.flatMap { HTTPDate($0, now: HTTPDate(seconds: 1_764_000_000))?.seconds }
    }

    /// Seconds since 1970 of `2026-11-24T15:51:21.123Z`; nil if it is none.
    static func element(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[10] == UInt8(ascii: "T"),
            bytes.last == UInt8(ascii: "Z"), bytes[4] == UInt8(ascii: "-"),
            bytes[13] == UInt8(ascii: ":"), bytes[16] == UInt8(ascii: ":"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second < 61
        else { return nil }
        return days(Int64(year), Int64(month), Int64(day)) * 86_400
            + Int64(hour * 3_600 + minute * 60 + second)
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (48...57).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 48)
        }
        return value
    }

    /// The days since 1970; the years are counted from March, as in ``CivilDate``.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let year = month <= 2 ? year - 1 : year
        let era = year / 400
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
            - 719_468
    }
}
