import Expectations

@testable import Platform

@Suite("A date of HTTP")
struct HTTPDateTests {
    /// 2026-01-01 00:00:00 UTC.
    let now = HTTPDate(seconds: 1_767_225_600)

    @Test(
        arguments: [
            (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
            (Int64.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ] as [(Int64, String)])
    func `is written as an IMF-fixdate`(_ seconds: Int64, _ text: String) {
        expect(HTTPDate(seconds: seconds).text, equals: text)
    }

    @Test(
        "is read in all three formats (RFC 9110, section 5.6.7)",
        arguments: [
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
            ("Sun Nov  6 08:49:37 1994", 784_111_777),
            ("Wed Nov 16 08:49:37 1994", 784_975_777),
            ("Tue, 29 Feb 2000 00:00:00 GMT", 951_782_400),
            ("Wednesday, 01-Jan-70 00:00:00 GMT", 3_155_760_000),
            // 49 years ahead is the future, 51 the past.
            ("Friday, 01-Jan-75 00:00:00 GMT", 3_313_526_400),
            ("Saturday, 01-Jan-77 00:00:00 GMT", 220_924_800),
            ("Sat, 31 Dec 2016 23:59:60 GMT", 1_483_228_799),
        ] as [(String, Int64)])
    func reading(_ text: String, _ seconds: Int64) {
        expect(HTTPDate(text, now: now), equals: HTTPDate(seconds: seconds))
    }

    @Test(arguments: [
        "", "0", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
        "Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
        "Sun, 06 Nov 1994 08:49:61 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Xun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
        "Sun Nov 6 08:49:37 1994", "Sun Nov 06  08:49:37 1994", "Sun, 06 Nov -994 08:49:37 GMT",
        "Sun, 29 Feb 1900 00:00:00 GMT",
    ])
    func `is none when anything is wrong`(_ text: String) {
        expect(HTTPDate(text, now: now) == nil)
    }

    @Test func `comes back from its own spelling`() {
        for seconds in stride(from: Int64(0), to: 8_000_000_000, by: 12_345_678) {
            let date = HTTPDate(seconds: seconds)
            expect(HTTPDate(date.text, now: now), equals: date)
        }
    }
}
