internal import Platform

extension Invocation {
    /// The value of an option that is a moment, in seconds since 1970: a time ago (`90m`, `12h`, `7d`),
    /// or a date in UTC, or one with a time and its zone (`2026-11-22`, `2026-11-22T03:00:00Z`,
    /// `2026-11-22T04:00:00+01:00`); nil if it was not given.
    /// - Throws: `usage` for anything else.
    package func moment(_ name: String, now: Int64) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        if let moment = Self.moment(text, now: now) { return moment }
        throw .usage(
            "--\(name) takes a time ago, as in 12h or 3w (units \(Self.unitsOfSeconds)), or a date, as in "
                + "2026-11-22 or 2026-11-22T03:00:00Z; not '\(text)'")
    }

    static func moment(_ text: String, now: Int64) -> Int64? {
        // A clock that begins in 1970 is younger than a month: nothing is older than its beginning.
        if let seconds = seconds(text) { return max(0, now - seconds) }
        let parts = text.split(separator: "T", omittingEmptySubsequences: false)
        guard parts.count <= 2, let day = day(parts[0]) else { return nil }
        guard parts.count == 2 else { return day * 86_400 }
        return time(parts[1]).map { day * 86_400 + $0 }
    }

    /// Digits only: no sign, no space.
    private static func number(_ text: Substring, digits: Int? = nil) -> Int64? {
        guard text.utf8.allSatisfy({ (48...57).contains($0) }),
            digits == nil || text.utf8.count == digits
        else { return nil }
        return Int64(text)
    }

    private static func day(_ text: Substring) -> Int64? {
        let fields = text.split(separator: "-", omittingEmptySubsequences: false)
        guard fields.count == 3, let year = number(fields[0], digits: 4), year >= 1970,
            let month = number(fields[1], digits: 2), (1...12).contains(month),
            let day = number(fields[2], digits: 2)
        else { return nil }
        let days = Int64(HTTPDate.days(year: Int(year), month: Int(month), day: Int(day)))
        // A date that does not exist, such as 2026-02-30, is another one when it is read back.
        let date = CivilDate(daysSince1970: days)
        return date.year == year && date.month == month && date.day == day ? days : nil
    }

    private static func time(_ text: Substring) -> Int64? {
        guard let zone = text.firstIndex(where: { "Z+-".contains($0) }),
            let offset = offset(text[zone...])
        else { return nil }
        let fields = text[..<zone].split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count == 3, let hour = number(fields[0], digits: 2),
            let minute = number(fields[1], digits: 2), let second = number(fields[2], digits: 2),
            hour < 24, minute < 60, second < 60
        else { return nil }
        return hour * 3600 + minute * 60 + second - offset
    }

    /// By how many seconds a zone is ahead of UTC: `Z`, `+01:00`.
    private static func offset(_ zone: Substring) -> Int64? {
        if zone == "Z" { return 0 }
        let fields = zone.dropFirst().split(separator: ":", omittingEmptySubsequences: false)
        guard zone.first != "Z", fields.count == 2, let hour = number(fields[0], digits: 2),
            let minute = number(fields[1], digits: 2), hour < 24, minute < 60
        else { return nil }
        return (hour * 60 + minute) * (zone.first == "-" ? -60 : 60)
    }
}
