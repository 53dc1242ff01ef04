import Expectations

@testable import Console

/// Sizes and times on the command line, as people write them.
@Suite struct MeasureTests {
    static let sizes: [(String, Int64)] = [
        ("1", 1), ("500", 500), ("500B", 500), ("12 bytes", 12), ("64K", 65_536), ("64k", 65_536),
        ("2M", 2_097_152), ("20G", 21_474_836_480), ("1T", 1_099_511_627_776),
        ("20 GiB", 21_474_836_480),
        ("20gib", 21_474_836_480), ("20GB", 20_000_000_000), ("20 gb", 20_000_000_000),
        ("1KB", 1000),
        ("3MB", 3_000_000), ("2TB", 2_000_000_000_000), ("1.5 GiB", 1_610_612_736), ("0.5K", 512),
        ("12.3 MiB", 12_897_484), ("2.25MB", 2_250_000), ("8388607T", 9_223_370_937_343_148_032),
    ]

    @Test(arguments: sizes)
    func `a size is read`(text: String, count: Int64) {
        expect(Invocation.byteCount(text), equals: count)
    }

    @Test(arguments: [
        "", "0", "0.0K", "K", "GB", "-1", "+1", " 1", "1KBB", "1X", "1iB", "1.5", "1.K",
        ".5K",
        "1.2345K", "1.2.3K", "1,000", "8388608T", "99999999999999999999", "१", "0x10", "1e3",
    ])
    func `what is no size is refused`(text: String) {
        expect(Invocation.byteCount(text) == nil)
    }

    static let times: [(String, Int64)] = [
        ("0s", 0), ("90s", 90), ("90 sec", 90), ("2m", 120), ("90 min", 5400), ("24h", 86_400),
        ("1 hour", 3600), ("7d", 604_800), ("3w", 1_814_400), ("2 weeks", 1_209_600),
        ("1h30m", 5400), ("1d 12h", 129_600), ("1 day 2 hours", 93_600), ("2000ms", 2),
    ]

    @Test(arguments: times)
    func `a time is read`(text: String, seconds: Int64) {
        expect(Invocation.seconds(text), equals: seconds)
    }

    @Test(arguments: [
        "", "s", "1", "-1d", "+1d", " 1d", "1d ", "1.5d", "1y", "1M", "1D", "1d12", "500ms", "d1",
        "1d  12h", "9223372036854775807w", "99999999999999999999s", "१s",
    ])
    func `what is no time is refused`(text: String) {
        expect(Invocation.seconds(text) == nil)
    }

    @Test func `a short time keeps its milliseconds`() {
        expect(Invocation.milliseconds("1s 500ms"), equals: 1500)
    }
}
