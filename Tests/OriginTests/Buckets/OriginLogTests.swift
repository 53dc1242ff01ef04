import BucketTestSupport

@testable import HotPush
@testable import Origin

/// Reading the log of an origin in a bucket: what its entries keep alive, and what that takes (docs/buckets.md).
@Suite struct OriginLogTests {
    /// A log that is written entry by entry, and what each entry offers.
    private struct WrittenLog {
        let store = ModelStore()
        private(set) var entries: [LogEntry] = []
        private var sequence: Int64 = 1

        var number: Int64 { Int64(entries.count) }

        /// Appends an entry in which channels offer versions by their numbers.
        mutating func append(
            _ offered: [ChannelName: [Int]], dropping dropped: ChannelName? = nil,
            isPrune: Bool = false
        ) throws {
            let next = number + 1
            var entry = LogEntry(
                kind: isPrune ? .prune : .publish, createdAt: 0, author: "\(next)",
                keptFrom: 1, prunedAt: isPrune ? next : entries.last?.prunedAt ?? 0)
            entry.channels = entries.last?.channels ?? [:]
            if let dropped { entry.channels[dropped] = nil }
            for (channel, versions) in offered {
                sequence += Int64(versions.count) + 1
                let releases = try versions.enumerated().map {
                    try Self.release($1, sequence - Int64($0))
                }
                var pointer = ChannelPointer(
                    channel: channel, sequence: sequence, createdAt: 0, releases: releases)
                pointer.log = next
                entry.pointers[channel] = pointer
                entry.channels[channel] = next
            }
            entries.append(entry)
            store.set(OriginLayout.logEntry(next), entry.serialized())
        }

        private static func release(_ number: Int, _ sequence: Int64) throws -> ChannelRelease {
            let address = try ObjectID(of: Array("\(number)".utf8))
            let version = PublishedVersion(
                name: try VersionName("v\(number)"), manifest: address, manifestByteCount: 1,
                content: address)
            return ChannelRelease(.version(version), sequence: sequence, createdAt: 0)
        }

        /// What is on offer after each entry, by the words of docs/buckets.md.
        func offered(after number: Int64) -> Set<LiveRelease> {
            let channels = entries[Int(number) - 1].channels
            return Set(
                channels.flatMap { channel, place in
                    entries[Int(place) - 1].pointers[channel]?.liveReleases ?? []
                })
        }
    }

    @Test(arguments: 1...4)
    func `what the entries from each one on offer is live, whichever is asked for first`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed)
        var log = WrittenLog()
        let names = try ["stable", "beta", "ci"].map { try ChannelName($0) }
        for number in 1...40 {
            let channel = names[Int.random(in: 0..<names.count, using: &random)]
            let isDropping = number % 13 == 0
            let versions = (0..<Int.random(in: 0...3, using: &random)).map { _ in
                Int.random(in: 0..<12, using: &random)
            }
            // A prune may trim pointers or none.
            let isPrune = Int.random(in: 0..<4, using: &random) == 0
            try log.append(
                isDropping || (isPrune && versions.isEmpty)
                    ? [:] : [channel: Array(Set(versions)).sorted()],
                dropping: isDropping ? channel : nil, isPrune: isPrune)
        }
        // Small: nearly everything is forgotten, and read again.
        let reader = OriginLog(ModelStorage(log.store), heldByteCountMax: 2_000)
        let state = try require(try reader.state(from: 0))
        expect(state.number, equals: 40)
        for first in [Int64](1...40).shuffled(using: &random) {
            let live = (first...40).reduce(into: Set<LiveRelease>()) {
                $0.formUnion(log.offered(after: $1))
            }
            let found = try reader.liveReleases(keptFrom: first, upTo: state)
            expect(found.count, equals: live.count, "from \(first)")
            expect(Set(found), equals: live, "from \(first)")
            let prunes = (first + 1..<41).reversed().filter {
                log.entries[Int($0) - 1].prunedAt == $0
            }
            let pruned = try reader.prunes(after: first, upTo: state)
            expect(pruned.map(\.number), equals: prunes)
            expect(
                pruned.map(\.hasTrimmed),
                equals: prunes.map { !log.entries[Int($0) - 1].pointers.isEmpty })
        }
    }

    @Test
    func `ends before what is no entry, however near that is, unless it takes the next number`()
        throws
    {
        var log = WrittenLog()
        for last in 1...9 as ClosedRange<Int64> {
            try log.append([.stable: [Int(last)]])
            for junk in 1...40 as ClosedRange<Int64> {
                let store = ModelStore(copying: log.store)
                store.set(OriginLayout.logEntry(junk), [])
                for hint in [0, 1, last - 1, last, last + 1, junk - 1, junk, junk + 1, 40] {
                    let end = try OriginLog(ModelStorage(store)).end(from: hint)
                    expect(end, equals: junk == last + 1 ? junk : last, "\(last), \(junk), \(hint)")
                }
            }
        }
    }

    @Test func `of 4,000 entries a few are held, and each release once`() throws {
        var log = WrittenLog()
        let names = try (0..<20).map { try ChannelName("c\($0)") }
        for number in 0..<4_000 {
            // The same hundred releases again and again.
            try log.append([names[number % 20]: [number % 100, (number + 7) % 100]])
        }
        let reader = OriginLog(ModelStorage(log.store), heldByteCountMax: 64 << 10)
        let state = try require(try reader.state(from: 0))
        try expect(reader.liveReleases(keptFrom: 1, upTo: state).count, equals: 100)
        expect(reader.heldByteCount <= 64 << 10)
        expect(reader.heldReleaseCount <= 100)
        // What has come since costs what has come since.
        let before = log.store.requestCount
        try log.append([names[0]: [1_000]])
        let next = try require(try reader.state(from: state.number))
        try expect(reader.liveReleases(keptFrom: 1, upTo: next).count, equals: 101)
        expect(log.store.requestCount - before < 10)
    }

    @Test func `an entry that is altered on its way is read once more, whatever tags mean`() throws
    {
        var log = WrittenLog()
        for number in 1...5 { try log.append([.stable: [number]]) }
        let sound = try require(try OriginLog(ModelStorage(log.store)).state(from: 0))
        let count = log.store.requestCount
        for number in 1...count {
            let bucket = ModelStorage(
                log.store, schedule: { $0.number == number ? .turned : .answered })
            let state = try require(try OriginLog(bucket).state(from: 0))
            expect(state.entry == sound.entry && state.pointers == sound.pointers)
            expect(bucket.figures.requestCount <= count + 1)
        }
        // Tags that look like MD5 and are none cost a single request.
        let asked = Mutex(0)
        var lying = LyingStorage(ModelStorage(log.store))
        lying.tag = EntityTag(String(repeating: "ab", count: 16))
        let files = log.store.files
        lying.content = { key in
            asked.withLock { $0 += 1 }
            return files[key]?.bytes
        }
        let state = try require(try OriginLog(lying).state(from: 0))
        expect(state.entry, equals: sound.entry)
        expect(asked.withLock { $0 }, equals: count + 1)
        // What comes with other bytes each time is not believed.
        lying.content = { key in
            asked.withLock { $0 += 1 }
            guard let bytes = files[key]?.bytes else { return nil }
            return bytes + [UInt8](repeating: 10, count: asked.withLock { $0 })
        }
        expectRefusal(.damagedOrigin) { try OriginLog(lying).state(from: 0) }
    }

    @Test func `pointers that are too much together are refused, not held`() throws {
        var log = WrittenLog()
        let names = try (0..<8).map { try ChannelName("c\($0)") }
        for name in names { try log.append([name: Array(0..<20)]) }
        let byteCount = try require(log.entries.first?.pointers[names[0]]).serialized().count
        let enough = OriginLog(ModelStorage(log.store), pointerByteCountMax: byteCount * 8 + 4_096)
        let state = try require(try enough.state(from: 0))
        expect(state.pointers.count, equals: 8)
        let small = OriginLog(ModelStorage(log.store), pointerByteCountMax: byteCount * 2)
        expectRefusal(.tooLarge) { try small.state(from: 0) }
        // Nobody writes what nobody reads; who takes something back is not held up.
        let pointer = try require(state.pointers[names[0]])
        var (larger, smaller) = (pointer, pointer)
        larger.releases += pointer.releases + pointer.releases
        smaller.releases.removeLast()
        let another = ChannelPointer(
            channel: try ChannelName("new"), sequence: 1, createdAt: 0,
            releases: larger.releases)
        for (changed, isRefused) in [(larger, true), (smaller, false), (another, true)] {
            let thrown = code { try LogCommit.checkSpace(for: changed, upon: state, enough) }
            expect(thrown, equals: (isRefused ? .tooLarge : nil))
            let over = code { try LogCommit.checkSpace(for: changed, upon: state, small) }
            expect(over, equals: (isRefused ? .tooLarge : nil))
        }
    }

    @Test func `no entry is written or read whose pointers devices refuse`() throws {
        var log = WrittenLog()
        try log.append([.stable: [1]])
        let entry = try require(log.entries.first)
        func nested(_ depth: Int) -> JSONValue {
            (1..<depth).reduce(.array([])) { value, _ in .array([value]) }
        }
        let text = String(repeating: "x", count: ChannelPointer.byteCountMax)
        // The pointer itself is one level.
        for (value, isRead) in [(nested(15), true), (nested(16), false), (.string(text), false)] {
            var pointer = try require(entry.pointers[.stable])
            pointer.foreign = [.init(key: "x", value: value)]
            let copy = code { _ = try ChannelPointer(parsing: pointer.serialized(), of: .stable) }
            expect(copy == nil, equals: isRead)
            var changed = entry
            changed.pointers[.stable] = pointer
            let bucket = ModelStorage(log.store)
            expect(code { try LogCommit.check(changed, 1, of: bucket) } == nil, equals: isRead)
            let read = code { _ = try LogEntry(parsing: changed.serialized(), number: 1) }
            expect(read == nil, equals: isRead)
        }
    }

    @Test func `more releases than anybody has are refused, not held`() throws {
        var live = LiveReleases(
            Origin.OriginState(
                number: 1,
                entry: LogEntry(kind: .create, createdAt: 0, author: "1", keptFrom: 1),
                pointers: [:]))
        var entry = LogEntry(kind: .publish, createdAt: 0, author: "2", keptFrom: 1)
        entry.channels[.stable] = 1
        var number = 0
        while live.isWithinLimits, number < 1 << 20 {
            entry.pointers[.stable] = ChannelPointer(
                channel: .stable, sequence: 1, createdAt: 0,
                releases: try (0..<1_000).map { _ in
                    number += 1
                    let address = try ObjectID(of: Array("\(number)".utf8))
                    return ChannelRelease(
                        .version(
                            PublishedVersion(
                                name: try VersionName("v"), manifest: address,
                                manifestByteCount: 1, content: address)),
                        sequence: 1, createdAt: 0)
                })
            live.add(entry)
        }
        expect(live.endedCount <= LiveReleases.countMax + 1_000)
    }
}
