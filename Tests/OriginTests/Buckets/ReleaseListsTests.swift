import HotPush
import StorageTestSupport

@testable import Origin

@Suite struct ReleaseListsTests {
    /// Files that a listing shows, and some that it does not.
    private let keys: [OriginKey]
    private let table: KeyTable
    private static let count = 3_000

    init() throws {
        var random = SeededRandom(seed: 3)
        keys = try (0..<Self.count + 50).map { _ in
            let bytes = (0..<4).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
            return OriginKey(.object, try require(ObjectID(bytes: bytes)), in: 2)
        }
        var table = KeyTable()
        for key in keys.prefix(Self.count) { try table.add(key, 1) }
        table.sort()
        self.table = table
    }

    private func files(_ numbers: some Sequence<Int>) -> ListedFiles {
        ListedFiles(numbers.map { keys[$0] }, in: table)
    }

    /// Lists as three channels publish them in turn: mostly the last one with some changes; now and then all is another,
    /// nearly nothing is left, or everything is there.
    private static func releases(_ random: inout SeededRandom) -> [Set<Int>] {
        var channels = [Set<Int>](repeating: [], count: 3)
        return (0..<400).map { number in
            let channel = number < 200 ? number % 3 : Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<40, using: &random) {
            case 0: channels[channel] = []
            case 1: channels[channel] = Set(0..<count + 50)
            case 2, 3:
                channels[channel] = Set(
                    (0..<500).map { _ in Int.random(in: 0..<count + 50, using: &random) })
            case 4: channels[channel] = Set(channels[channel].sorted().prefix(20))
            default:
                for _ in 0..<Int.random(in: 0..<12, using: &random) {
                    channels[channel].formSymmetricDifference([
                        Int.random(in: 0..<count + 50, using: &random)
                    ])
                }
            }
            return channels[channel]
        }
    }

    @Test func `each list is given back as it came, and any of them together have their files`() {
        for seed in TestShare(oneIn: 3).of([1, 2, 3]) {
            var random = SeededRandom(seed: UInt64(seed))
            let given = Self.releases(&random)
            var lists = ReleaseLists()
            for (number, release) in given.enumerated() {
                expect(lists.add(files(release)), equals: number)
            }
            let wrong = given.indices.filter { lists.positions($0) != files(given[$0]).positions }
            expect(wrong, equals: [], "seed \(seed)")
            for share in [1, 2, 30, 400] {
                let chosen = given.indices.filter { _ in
                    Int.random(in: 0..<share, using: &random) == 0
                }
                var set = KeySet(of: table)
                lists.insert(Set(chosen), into: &set)
                let wanted = chosen.reduce(into: Set<Int>()) { $0.formUnion(given[$1]) }
                let found = Set(keys.indices.filter { set.contains(keys[$0], in: table) })
                expect(found, equals: wanted, "seed \(seed), one in \(share)")
            }
        }
    }

    @Test func `a thousand releases that differ a little take little more than what differs`() {
        var lists = ReleaseLists()
        for number in 0..<1_000 { _ = lists.add(files(number..<number + 300)) }
        // One comes, one goes; and every so often one is held whole.
        expect(lists.heldCount < 15_000)
        // Two channels that have nothing in common.
        lists = ReleaseLists()
        for number in 0..<500 {
            for first in [number, 1_500 + number] { _ = lists.add(files(first..<first + 300)) }
        }
        expect(lists.heldCount < 15_000)
    }

    @Test func `releases that have nothing in common take their files, and those of a few more`() {
        var lists = ReleaseLists()
        for number in 0..<60 { _ = lists.add(files(number * 50..<(number + 1) * 50)) }
        expect(lists.heldCount <= Self.count + 4 * 50)
    }
}
