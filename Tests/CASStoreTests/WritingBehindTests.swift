import StorageTestSupport

/// Small contents that a second thread stages while the next ones come: DESIGN.md, "Content that arrives".
@Suite struct WritingBehindTests {
    /// 9 MiB: more than is held back at once.
    private static let contents = (0..<60).map { number in
        [UInt8](repeating: UInt8(number), count: 150_000 + number)
    }

    /// As `writingBehind`, for bodies that throw anything.
    private func behind(_ incoming: IncomingContents, _ body: () throws -> Void) throws {
        var failure: (any Error)?
        try incoming.writingBehind { () throws(StoreError) in
            do { try body() } catch { failure = error }
        }
        if let failure { throw failure }
    }

    @Test func `all of it is there when it is committed, and nothing is left in staging`() throws {
        let temporary = try TemporaryStore(isDurable: true)
        try wait(for: Self.contents, in: temporary)
        do {
            let incoming = try IncomingContents(temporary.store)
            try behind(incoming) {
                for content in Self.contents { _ = try bring(content, incoming) }
                // The same once more, and one that is larger than what is kept in memory.
                _ = try bring(Self.contents[0], incoming)
                _ = try bring([UInt8](repeating: 1, count: 600_000), incoming)
            }
            expect(incoming.uncommittedCount, equals: Self.contents.count + 1)
            try expect(incoming.commit(), equals: ["waiting"])
            try expect(incoming.commit(), equals: [])
        }
        expect(temporary.staged, equals: [])
        try expect(temporary.versions.check(CheckOptions(isDeep: true)).findings, equals: [])
    }

    @Test func `a write that fails is told, and tried again with the next`() throws {
        var failureCount = 0
        for number in 1... {
            let temporary = try TemporaryStore()
            try wait(for: Self.contents, in: temporary)
            let disk = FaultyFileSystem()
            let incoming = try IncomingContents(
                temporary.reopened(on: disk, isDurable: false).store)
            disk.arm(.fail(ENOSPC, at: number, of: [.write]))
            var told = 0
            do {
                try behind(incoming) {
                    for content in Self.contents {
                        do {
                            _ = try bring(content, incoming)
                        } catch {
                            expect((error as? StoreError)?.code, equals: .outOfSpace)
                            told += 1
                        }
                    }
                }
            } catch {
                expect((error as? StoreError)?.code, equals: .outOfSpace)
                told += 1
            }
            do {
                try incoming.commit()
            } catch {
                expect(error.code, equals: .outOfSpace)
                told += 1
                try incoming.commit()
            }
            expect(told <= 1)
            failureCount += told
            try expect(temporary.versions.check(CheckOptions(isDeep: true)).findings, equals: [])
            if told == 0 { break }
        }
        // Each content's own write at least.
        expect(failureCount >= Self.contents.count)
    }

    @Test func `what is not committed goes with its lease`() throws {
        let temporary = try TemporaryStore()
        do {
            let incoming = try IncomingContents(temporary.store)
            try behind(incoming) {
                for content in Self.contents { _ = try bring(content, incoming) }
            }
        }
        expect(temporary.staged, equals: [])
        try expect(temporary.store.usage().objects, equals: 0)
    }
}
