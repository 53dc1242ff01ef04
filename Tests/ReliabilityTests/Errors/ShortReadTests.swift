import StorageTestSupport

/// A disk that gives at most half of what is asked for, as read(2) may.
private final class HalvingDisk: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    private let halved = Atomic<Int>(0)

    var halvedCount: Int { halved.load(ordering: .relaxed) }

    func read(
        _ file: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64
    ) throws(StoreError) -> Int {
        guard buffer.count > 1 else { return try base.read(file, into: buffer, at: offset) }
        let half = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(buffer.count / 2)])
        let count = try base.read(file, into: half, at: offset)
        if count == half.count { halved.add(1, ordering: .relaxed) }
        return count
    }
}

/// Whoever reads continues until there is nothing more.
@Suite("A store whose disk reads less than it is asked for") struct ShortReadTests {
    @Test(arguments: Scenario.all)
    func `does the same`(_ scenario: Scenario) throws {
        let directory = TemporaryDirectory(inMemory: true)
        let expected = try PowerCuts.prepared(scenario, in: directory)
        let before = scenario.hasStore ? try Facts(expected, expected.open()) : Facts()
        try scenario.run(expected, POSIXFileSystem(), true)
        let after = try Facts(expected, expected.open())

        let other = TemporaryDirectory(inMemory: true)
        let place = try PowerCuts.prepared(scenario, in: other)
        let disk = HalvingDisk()
        try scenario.run(place, disk, true)
        let problems = PromiseCheck(
            scenario: scenario, before: before, after: after, isAcknowledged: true
        ).problems(at: place, on: disk, tryingWithoutIndex: true)
        expect(problems.isEmpty, "\(problems.prefix(5).joined(separator: "\n"))")
        expect(disk.halvedCount > 0)
    }
}
