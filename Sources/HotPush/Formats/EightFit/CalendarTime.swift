import CASStore

/// A time as ISO 8601 spells it for machines (RFC 3339, section 5.6).
enum CalendarTime {
    /// Seconds since 1970 of `2015-05-25T10:00:00Z` or `…+02:00`; fractions are dropped.
    ///
    /// - Returns: nil for another spelling, or a day or time that does not exist. A leap second counts
    ///   as the second before it.
    static func seconds(_ text: String) -> Int64? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 20, bytes[4] == 45, bytes[7] == 45,
            bytes[10] == 84 || bytes[10] == 116,
            bytes[13] == 58, bytes[16] == 58,
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]),
            let day = number(bytes[8..<10]), let hour = number(bytes[11..<13]),
            let minute = number(bytes[14..<16]), let second = number(bytes[17..<19]),
            (1...12).contains(month), (1...HTTPDate.length(ofMonth: month, year)).contains(day),
            hour < 24,
            minute < 60, second <= 60
        else { return nil }
        var rest = bytes[19...]
        if rest.first == 46 {
            let fraction = rest.dropFirst().prefix { (48...57).contains($0) }
            if fraction.isEmpty { return nil }
            rest = rest[fraction.endIndex...]
        }
        guard let shift = offset(rest) else { return nil }
        let clock = hour * 3600 + minute * 60 + min(second, 59)
        return Int64(HTTPDate.days(year: year, month: month, day: day) * 86_400 + clock - shift)
    }

    /// `Z`, `+02:00`: seconds ahead of UTC.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int? {
        if text.elementsEqual([90]) || text.elementsEqual([122]) { return 0 }
        let bytes = Array(text)
        guard bytes.count == 6, bytes[0] == 43 || bytes[0] == 45, bytes[3] == 58,
            let hours = number(bytes[1..<3]), let minutes = number(bytes[4..<6]), hours < 24,
            minutes < 60
        else { return nil }
        let seconds = hours * 3600 + minutes * 60
        return bytes[0] == 43 ? seconds : -seconds
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int? {
        var value = 0
        for digit in digits {
            guard (48...57).contains(digit) else { return nil }
            value = value * 10 + Int(digit - 48)
        }
        return value
    }
}
