import Expectations

@testable import Console

@Suite struct SizesTests {
    @Test(arguments: [
        (0, "0 B"), (1, "1 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
        (1_048_524, "1023.9 KiB"), (1_048_525, "1.0 MiB"), (12_897_485, "12.3 MiB"),
        (1 << 30, "1.0 GiB"), (5 << 40, "5.0 TiB"), (7 << 50, "7.0 PiB"), (Int.max, "8.0 EiB"),
        (-1536, "-1.5 KiB"), (Int.min, "-8.0 EiB"),
    ])
    func `binary units have one decimal`(count: Int, text: String) {
        expect(SizeStyle.binary.text(count), equals: text)
    }

    @Test func `the largest count of all still has a text`() {
        expect(SizeStyle.binary.text(UInt64.max), equals: "16.0 EiB")
        expect(SizeStyle.exact.text(UInt64.max), equals: "18446744073709551615 B")
    }

    @Test(arguments: [(0, "0 B"), (12_897_485, "12897485 B"), (-5, "-5 B")])
    func `exact sizes are plain digits`(count: Int, text: String) {
        expect(SizeStyle.exact.text(count), equals: text)
    }
}
