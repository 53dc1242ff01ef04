import HotPush
import StorageTestSupport

@testable import Origin

@Suite struct KeyTableTests {
    /// Files of all kinds in some epochs, addresses that differ late and early, some shown twice.
    private static func files() throws -> [(OriginKey, Int64)] {
        let kinds: [OriginKey.Kind] = [.object, .manifest, .places, .pack, .delivery]
        var files: [(OriginKey, Int64)] = []
        for number in 0..<600 {
            let byte = UInt8(number % 256)
            // Half of them agree in all but the last bytes.
            let first = number % 2 == 0 ? byte : 7
            var bytes = [first] + [UInt8](repeating: 0, count: 29)
            bytes += [UInt8(number / 256), byte]
            let address = try require(ObjectID(bytes: bytes))
            for (place, kind) in kinds.enumerated() where number % (place + 1) == 0 {
                for epoch in [Int64(0), 3, 1 << 50] where number % 3 != place % 3 {
                    files.append((OriginKey(kind, address, in: epoch), Int64(number * 5 + place)))
                }
            }
        }
        return files
    }

    @Test func `what a listing has shown in any order is found once, and nothing else`() throws {
        let files = try Self.files().enumerated()
        let shown = files.filter { $0.offset % 2 == 0 }.map(\.element)
        var table = KeyTable()
        for (key, byteCount) in (shown + shown.prefix(300)).shuffled() {
            try table.add(key, byteCount)
        }
        table.sort()
        expect(table.count, equals: shown.count)
        for (index, (key, byteCount)) in files {
            let isRight =
                index % 2 == 0
                ? table.byteCount(of: key) == byteCount
                    && table.position(of: key).map { table[$0].key } == key
                : table.position(of: key) == nil
            guard isRight else { throw Unexpected(key.path) }
        }
        let all = Set(table.positions.map { table[$0] })
        expect(all, equals: Set(shown.map { SizedKey(key: $0.0, byteCount: $0.1) }))
    }

    @Test func `a set has what it was given, listed or not`() throws {
        let files = try Self.files().map(\.0)
        var table = KeyTable()
        for key in files.prefix(500) { try table.add(key, 1) }
        table.sort()
        var set = KeySet(of: table)
        let given = files.indices.filter { $0 % 3 == 0 }.map { files[$0] }
        set.insert(ListedFiles(given, in: table))
        let wrong = files.indices.filter { set.contains(files[$0], in: table) != ($0 % 3 == 0) }
        expect(wrong.isEmpty)
    }

    @Test(arguments: [1, 1_000, 70_000])
    func `a file takes 40 bytes and hardly more, before all are there and afterwards`(
        count: Int
    ) throws {
        var table = KeyTable()
        var numbers = SeededRandom(seed: 7)
        for _ in 0..<count {
            let bytes = (0..<4).flatMap { _ in
                withUnsafeBytes(of: numbers.next()) { Array($0) }
            }
            try table.add(OriginKey(.object, try require(ObjectID(bytes: bytes)), in: 3), 5_000)
        }
        // Space for 64 more is kept in each of 256 places.
        let most = 41 * (count + 256 * 64)
        expect(table.heldByteCount <= most)
        table.sort()
        expect(table.count == count && table.heldByteCount <= most)
    }

    @Test func `a listing of more epochs than an origin can have is refused`() throws {
        var table = KeyTable()
        let address = try require(ObjectID(bytes: [UInt8](repeating: 9, count: 32)))
        for epoch in 0..<KeyTable.epochCountMax {
            try table.add(OriginKey(.object, address, in: Int64(epoch)), 1)
        }
        expectRefusal(.damagedOrigin) {
            try table.add(OriginKey(.object, address, in: Int64(KeyTable.epochCountMax)), 1)
        }
    }
}
