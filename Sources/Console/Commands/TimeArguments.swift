internal import Platform

extension Invocation {
    /// The value of an option that is a point in time, in seconds since 1970; nil if it was not given.
    ///
    /// It may be a time ago (`90m`, `12h`, `7d`), or a date in UTC, or one with a time and its zone (`2026-11-22`,
    /// `2026-11-22T03:00:00Z`, `2026-11-22T04:00:00+01:00`).
    /// - Throws: `usage` for anything else.
    package func time(_ name: String, now: Int64) throws(CommandError) -> Int64? {
        guard let text = try value(name) else { return nil }
        if let time = Self.time(text, now: now) { return time }
        throw .usage(
            "--\(name) takes a time ago, as in 12h or 3w (units \(Self.unitsOfSeconds)), or a date, as in "
                + "2026-11-22 or 2026-11-22T03:00:00Z; not '\(text)'")
    }

    static func time(_ text: String, now: Int64) -> Int64? {
        // A clock that begins in 1970 is younger than a month: nothing is older than its beginning.
        if let seconds = seconds(text) { return max(0, now - seconds) }
        // As messages spell times: without fractions, in capitals, from 1970 on.
        let isPlain = text.utf8.allSatisfy { (48...58).contains($0) || "TZ+-".utf8.contains($0) }
        guard isPlain, !text.contains(":60"), text >= "1970" else { return nil }
        return CalendarTime.seconds(text.utf8.count == 10 ? text + "T00:00:00Z" : text)
    }
}
