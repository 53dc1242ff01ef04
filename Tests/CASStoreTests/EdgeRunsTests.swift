import StorageTestSupport

@testable import CASStore

@Suite struct EdgeRunsTests {
    @Test func `groups neighbours, in any order and with duplicates`() {
        expect(EdgeRuns([]).runs, equals: [])
        expect(EdgeRuns([7]).runs, equals: [7...7])
        expect(EdgeRuns([3, 1, 2, 2, 9, 8, 3]).runs, equals: [1...3, 8...9])
        expect(EdgeRuns([1, 3, 5]).runs, equals: [1...1, 3...3, 5...5])
        expect(EdgeRuns([3, 1, 2, 2, 9, 8, 3]).count, equals: 5)
    }

    @Test func `merges a run that continues the last one, and only that`() {
        var runs = EdgeRuns([1, 2])
        runs.append(3...5)
        expect(runs.runs, equals: [1...5])
        runs.append(7...7)
        expect(runs.runs, equals: [1...5, 7...7])
        var empty = EdgeRuns([])
        empty.append(4...6)
        expect(empty.runs, equals: [4...6])
    }

    @Test func `what is encoded is read back`() {
        var random = SeededRandom()
        for _ in 0..<300 {
            let count = Int.random(in: 0...60, using: &random)
            let top: Int64 = [10, 300, 70_000, 1 << 40].randomElement(using: &random) ?? 10
            let ids = (0..<count).map { _ in Int64.random(in: 1...top, using: &random) }
            let runs = EdgeRuns(ids)
            let back = runs.encoded.withUnsafeBytes { EdgeRuns($0) }
            expect(back, equals: runs, "seed \(random.seed)")
            expect(runs.count, equals: Int64(Set(ids).count), "seed \(random.seed)")
            let spelled = runs.runs.flatMap { Array($0) }
            expect(spelled, equals: Set(ids).sorted(), "seed \(random.seed)")
        }
    }

    @Test func `a version of neighbours costs a few bytes`() {
        expect(EdgeRuns(Array(1...100_000)).encoded.count <= 4)
    }

    @Test func `a cut inside a run is refused`() {
        let whole = EdgeRuns([1000, 1001, 5000, 900_000]).encoded
        for cut in 1..<whole.count {
            let part = Array(whole.prefix(cut))
            guard let found = part.withUnsafeBytes({ EdgeRuns($0) }) else { continue }
            // Where a cut falls between two runs the rest is well-formed; it must at least be less.
            expect(found.encoded, equals: part)
            expect(found.count < 4)
        }
    }

    @Test(
        arguments: [
            [0x80], [0x01], [0x01, 0x80], [0x01, 0x00],
            [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x01],
            [0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ] as [[UInt8]])
    func `damaged bytes are refused`(bytes: [UInt8]) {
        expect(bytes.withUnsafeBytes { EdgeRuns($0) } == nil)
    }

    @Test func `noise is refused or read, and never ends the process`() async {
        // Numbers whose sum leaves Int64: each is below the limit of one.
        await #expect(processExitsWith: .success) {
            let large: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f]
            let bytes = Array([[UInt8]](repeating: large, count: 12).joined())
            precondition(bytes.withUnsafeBytes { EdgeRuns($0) } == nil)
        }
    }

    @Test func `random bytes never end the process`() {
        var random = SeededRandom()
        for _ in 0..<2000 {
            var noise = random.bytes(Int.random(in: 0...24, using: &random))
            // Short numbers only: long ones are the test above.
            for position in noise.indices where position % 3 == 2 { noise[position] &= 0x7f }
            if let runs = noise.withUnsafeBytes({ EdgeRuns($0) }) {
                expect(runs.runs.allSatisfy { $0.lowerBound >= 0 }, "seed \(random.seed)")
            }
        }
    }
}
