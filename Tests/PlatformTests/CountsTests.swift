import Expectations
import Platform

@Suite struct CountsTests {
    @Test(arguments: [
        (0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567"), (-1000, "-1,000"),
    ])
    func `counts have separators`(count: Int, text: String) {
        expect(groupedCount(count), equals: text)
    }

    @Test func `a count goes with its noun`() {
        expect(counted(1, "file"), equals: "1 file")
        expect(counted(0, "file"), equals: "0 files")
        expect(counted(12_345, "file"), equals: "12,345 files")
    }
}
