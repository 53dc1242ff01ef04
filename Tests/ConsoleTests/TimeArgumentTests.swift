import Expectations

@testable import Console

/// Moments on the command line: so long ago, or a date in UTC (ISO 8601).
@Suite struct TimeArgumentTests {
    @Test(arguments: [
        ("0s", 1_000_000_000), ("90s", 999_999_910), ("2m", 999_999_880), ("1h", 999_996_400),
        ("1d", 999_913_600), ("1000000001s", 0), ("1w", 999_395_200), ("1970-01-01", 0),
        ("1970-01-02", 86_400),
        ("2001-09-09T01:46:40Z", 1_000_000_000), ("2000-02-29", 951_782_400),
        ("2026-11-22T03:00:00Z", 1_795_316_400), ("2026-11-22T04:00:00+01:00", 1_795_316_400),
        ("2026-11-21T23:30:00-03:30", 1_795_316_400), ("2026-11-22T03:00:00-00:00", 1_795_316_400),
    ])
    func `a moment is read`(text: String, seconds: Int64) {
        expect(Invocation.time(text, now: 1_000_000_000), equals: seconds)
    }

    @Test(arguments: [
        (0, "2026-11-22T03:00:00Z"), (3600, "2026-11-22T04:00:00+01:00"),
        (-12_600, "2026-11-21T23:30:00-03:30"), (20_700, "2026-11-22T08:45:00+05:45"),
        (59, "2026-11-22T03:00:00Z"),
    ])
    func `a moment is told in local time, and read again`(offset: Int64, text: String) {
        let time: Int64 = 1_795_316_400
        expect(localTimestamp(time, offset: offset), equals: text)
        expect(Invocation.time(text, now: 0), equals: time)
    }

    @Test(arguments: [
        "", "s", "d", "-1d", "+1d", " 1d", "1.5d", "1y", "1D", "99999999999999999999s",
        "2026", "2026-1-1", "2026-02-30", "2026-13-01", "2026-00-10", "2100-02-29",
        "2026-01-01T", "2026-01-01T10:00Z", "2026-01-01T24:00:00Z", "2026-01-01T10:00:00",
        "2026-01-01T10:00:00+1:00", "2026-01-01T10:00:00+0100", "2026-01-01T10:00:00+24:00",
        "2026-01-01T10:00:00+01:60", "2026-01-01T10:00:00+01:00Z", "2026-01-01T10:00:00Z+01:00",
        "2026-01-01 10:00:00Z", "1969-12-31", "२०२६-01-01",
    ])
    func `what is no moment is refused`(text: String) {
        expect(Invocation.time(text, now: 1_000_000_000) == nil)
    }
}
