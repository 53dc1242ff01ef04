import StorageTestSupport

@testable import Platform

@Suite("The quota of processors") struct ProcessorQuotaTests {
    private static let systemd = "1:name=systemd:/x\n0::/system.slice/castree.service\n"

    @Test(
        "is that of the process's own group",
        arguments: [
            ("50000 100000\n", 1), ("100000 100000\n", 1), ("150000 100000\n", 2),
            ("max 100000\n", nil),
            ("", nil), ("0 100000\n", nil), ("100000 0\n", nil), ("1 -1", nil),
        ] as [(String, Int?)])
    func quota(_ text: String, _ count: Int?) {
        let found = Parallel.processorQuota(Self.systemd) { path in
            path == "/sys/fs/cgroup/system.slice/castree.service/cpu.max" ? text : ""
        }
        expect(found, equals: count)
    }

    @Test func `is unknown without a group of the second version`() {
        for groups in ["", "2:cpu:/x\n", "0::\n"] {
            expect(Parallel.processorQuota(groups) { _ in "50000 100000" } == nil, "\(groups)")
        }
        expect(Parallel.processorQuota("0::/\n") { _ in "50000 100000" }, equals: 1)
    }
}
