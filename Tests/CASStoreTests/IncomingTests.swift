import StorageTestSupport

/// Content that arrives piece by piece: continued, refused, committed, shared with other writers.
@Suite struct IncomingTests {
    static let small = SampleBytes.ramp(5_000)
    static let large = SampleBytes.ramp(600_000)

    // MARK: Whole and right

    @Test(arguments: [0, 1, 5_000, 262_143, 262_144, 262_145, 600_000], [true, false])
    func `is readable once it is committed, not before`(count: Int, isSizeKnown: Bool) throws {
        let temporary = try TemporaryStore(isDurable: true)
        let content = SampleBytes.ramp(count)
        try wait(for: [content, bytes("another")], in: temporary)
        let incoming = try IncomingContents(temporary.store)
        let arrived = try bring(content, incoming, isSizeKnown: isSizeKnown)
        try expect(arrived.object.address, equals: address(of: content))
        expect(arrived.object.byteCount, equals: Int64(count))
        expect(incoming.uncommittedCount, equals: 1)
        expect(incoming.uncommittedByteCount, equals: Int64(count))
        try expect(temporary.store.contains(arrived.object.address), equals: false)
        try expect(temporary.versions.check().findings, equals: [])
        try expect(incoming.commit(), equals: [])
        expect(incoming.uncommittedCount, equals: 0)
        expect(incoming.uncommittedByteCount, equals: 0)
        try expect(temporary.store.read(arrived.object.address, limit: 1 << 20), equals: content)
        _ = try bring(bytes("another"), incoming)
        try expect(incoming.commit(), equals: ["waiting"])
        try expect(incoming.commit(), equals: [])
        try expect(temporary.versions.check(CheckOptions(isDeep: true)).findings, equals: [])
        expect(temporary.staged, equals: [])
    }

    // No inodes, no descriptors, a disk that has become read-only: from one moment on, no file can be made.
    @Test(.timeLimit(.minutes(60)), arguments: [ENOSPC, EMFILE, EROFS, EACCES, EDQUOT, EIO])
    func `ends with an error where no more files can be made`(number: Int32) throws {
        let temporary = try TemporaryStore()
        try wait(for: [Self.large], in: temporary)
        let disk = FaultyFileSystem {
            $0.access == .updating && $0.name.utf8.count == 64 ? $0.error(number) : nil
        }
        let incoming = try IncomingContents(temporary.reopened(on: disk).store)
        #expect(throws: StoreError.self) { _ = try bring(Self.large, incoming) }
        // Once there is space, it arrives.
        _ = try bring(Self.large, try IncomingContents(temporary.store))
    }

    @Test func `many become durable in as many syncs as one`() throws {
        var counts: [Int] = []
        for count in [1, 300] {
            let temporary = try TemporaryStore(isDurable: true)
            let disk = FaultyFileSystem()
            let incoming = try IncomingContents(temporary.reopened(on: disk).store)
            let before = disk.operations.count
            for number in 0..<count { _ = try bring(bytes("content \(number)"), incoming) }
            expect(disk.operations[before...].allSatisfy { $0.verb != .sync })
            try incoming.commit()
            let syncs = disk.operations.filter { $0.verb == .sync || $0.verb == .syncAll }
            counts.append(syncs.count)
            try expect(temporary.store.usage().objects, equals: count)
        }
        expect(counts[0], equals: counts[1])
    }

    @Test func `the same content under two names is one object`() throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        for content in [Self.small, Self.large] {
            let names = [try address(of: "a placeholder"), try address(of: "another")]
            let first = try bring(content, incoming, named: names[0])
            let second = try bring(content, incoming, named: names[1])
            expect(first, equals: second)
            expect(incoming.uncommittedCount, equals: 1)
            try incoming.commit()
            try expect(temporary.store.read(first.object.address, limit: 1 << 20), equals: content)
        }
        expect(temporary.staged, equals: [])
        try expect(temporary.versions.check().findings, equals: [])
    }

    // FIPS 180-4 and RFC 1321 give the digests of "abc".
    @Test func `tells every digest that was asked for`() throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        let sha1 = try require(Label(.sha1, hex: "a9993e364706816aba3e25717850c26c9cd0d89d"))
        let md5 = try require(Label(.md5, hex: "900150983cd24fb0d6963f7d28e17f72"))
        let arrived = try bring(
            bytes("abc"), incoming, named: address(of: "a placeholder"), piece: 1, labels: [sha1],
            digests: [.md5, .sha256])
        expect(arrived.digest(.sha1), equals: sha1)
        expect(arrived.digest(.md5), equals: md5)
        try expect(arrived.digest(.sha256)?.bytes, equals: address(of: "abc").bytes)
        expect(arrived.digest(.sha512) == nil)
    }

    @Test(arguments: [5_000, 600_000], DigestAlgorithm.allCases)
    func `computes the digests of resumed content over all of its bytes`(
        count: Int, algorithm: DigestAlgorithm
    ) throws {
        let temporary = try TemporaryStore()
        let content = SampleBytes.ramp(count)
        var digester = try Digester(algorithm)
        content.withUnsafeBytes { digester.update($0) }
        let expected = digester.finish { Array($0) }
        let label = try require(Label(algorithm, bytes: expected))
        do {
            let incoming = try IncomingContents(temporary.store)
            var item = try incoming.begin(address(of: content), byteCount: nil)
            try item.append(Array(content.prefix(count / 3)).span.bytes)
            try item.suspend()
        }
        let incoming = try IncomingContents(temporary.reopened().store)
        try expect(bring(content, incoming, labels: [label]).digest(algorithm), equals: label)
    }

    // MARK: Wrong

    /// What comes instead of 5,000 or 600,000 right bytes, or what is promised of them.
    enum Wrong: CaseIterable { case bytes, less, more, none, label, secondLabel }

    @Test(arguments: Wrong.allCases, [5_000, 600_000])
    func `refuses wrong content, deletes it, and takes the right one afterwards`(
        wrong: Wrong, count: Int
    ) throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        let right = SampleBytes.ramp(count)
        var sent = right
        var labels: [Label] = []
        switch wrong {
        case .bytes: sent[count / 2] ^= 1
        case .less: sent.removeLast()
        case .more: sent.append(0)
        case .none: sent = []
        case .label:
            labels = [try require(Label(.sha1, bytes: Array(repeating: 1, count: 20)))]
        case .secondLabel:
            var digester = try Digester(.md5)
            right.withUnsafeBytes { digester.update($0) }
            let md5 = digester.finish { Array($0) }
            labels = [
                try require(Label(.md5, bytes: md5)),
                try require(Label(.sha512, bytes: Array(repeating: 1, count: 64))),
            ]
        }
        let failure = code {
            var item = try incoming.begin(
                address(of: right), byteCount: Int64(count), labels: labels)
            do {
                try item.append(sent.span.bytes)
            } catch {
                // More than was promised is refused at once, and what came before stays.
                expect(wrong, equals: .more)
                expect(item.offset, equals: 0)
                throw error
            }
            _ = try item.finish()
        }
        expect(failure, equals: .mismatch)
        try expect(incoming.commit(), equals: [])
        try expect(temporary.store.contains(address(of: right)), equals: false)
        if wrong != .more { expect(temporary.staged, equals: []) }
        try expect(bring(right, incoming).object.byteCount, equals: Int64(count))
        try incoming.commit()
        try expect(temporary.store.read(address(of: right), limit: 1 << 20), equals: right)
        expect(temporary.staged, equals: [])
    }

    @Test func `content of unknown size is refused by its address`() throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        for content in [Self.small, Self.large] {
            let failure = code {
                var item = try incoming.begin(address(of: content), byteCount: nil)
                try item.append(Array(content.dropLast()).span.bytes)
                _ = try item.finish()
            }
            expect(failure, equals: .mismatch)
        }
        expect(temporary.staged, equals: [])
    }

    @Test func `starts over when the sender does`() throws {
        let temporary = try TemporaryStore()
        for content in [Self.small, Self.large] {
            let incoming = try IncomingContents(temporary.store)
            do {
                var item = try incoming.begin(
                    address(of: content), byteCount: Int64(content.count))
                try item.append(Array(content.prefix(content.count / 2)).span.bytes)
                try item.restart()
                expect(item.offset, equals: 0)
                try item.append(Array(content.prefix(content.count - 1)).span.bytes)
                try item.suspend()
            }
            var item = try incoming.begin(address(of: content), byteCount: Int64(content.count))
            expect(item.offset, equals: Int64(content.count) - 1)
            try item.restart()
            try item.append(content.span.bytes)
            _ = try item.finish()
            try incoming.commit()
            try expect(temporary.store.contains(address(of: content)))
        }
    }

    @Test func `what is discarded is gone`() throws {
        let temporary = try TemporaryStore()
        let incoming = try IncomingContents(temporary.store)
        for content in [Self.small, Self.large] {
            var item = try incoming.begin(address(of: content), byteCount: nil)
            try item.append(content.span.bytes)
            try item.discard()
        }
        expect(temporary.staged, equals: [])
        expect(incoming.uncommittedCount, equals: 0)
    }
}
