import StorageTestSupport

@testable import CASStore

/// The cache of source files: how much of it stays.
@Suite struct StatCacheTrimmingTests {
    private func key(_ inode: UInt64, mount: Int64 = 1) -> StatKey {
        StatKey(
            device: 1, inode: inode, byteCount: 1, modifiedAt: 1, changedAt: 1,
            mount: SourceMount(name: mount))
    }

    /// Notes `count` source files as an import of this ordinal does, and trims as it does.
    private func note(
        _ store: Store, _ address: ObjectID, from inode: UInt64, _ count: Int, ordinal: Int64
    ) throws {
        try store.index { (index) throws(StoreError) in
            try index.write { (transaction) throws(StoreError) in
                try transaction.cache(
                    (0..<UInt64(count)).map { (key(inode + $0), address) }, ordinal: ordinal)
                try transaction.trimCache(ordinal: ordinal, files: Int64(count))
            }
        }
    }

    private func count(_ temporary: TemporaryStore) throws -> Int64 {
        try temporary.withIndex { connection in
            let row = try connection.statement("SELECT count(*) FROM stat_cache")
            defer { row.reset() }
            return try row.step() ? row.integer(0) : -1
        }
    }

    @Test func `does not grow by a tree for each import of ever new files`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("content")
        for ordinal in 1...200 {
            try note(
                temporary.store, address, from: UInt64(ordinal) * 1000, 100, ordinal: Int64(ordinal)
            )
        }
        // The last 16 imports and those since the last look.
        try expect(count(temporary) <= 26 * 100)
        try expect(count(temporary) >= 16 * 100)
    }

    @Test func `drops a large tree that is used no more in the course of small imports`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("content")
        try note(temporary.store, address, from: 1_000_000, 20_000, ordinal: 1)
        for ordinal in 2...120 {
            try note(temporary.store, address, from: 5_000_000, 10, ordinal: Int64(ordinal))
        }
        try expect(count(temporary), equals: 10)
    }

    @Test func `knows the last 64 mounts, and gives no number twice`() throws {
        let temporary = try TemporaryStore()
        let address = try temporary.put("content")
        for mount in 1...Int64(200) {
            try temporary.store.index { (index) throws(StoreError) in
                try index.write { (transaction) throws(StoreError) in
                    try transaction.cache([(key(1, mount: mount), address)], ordinal: 1)
                }
            }
        }
        try temporary.withIndex { connection in
            let row = try connection.statement("SELECT count(*), min(id), max(id) FROM mount")
            defer { row.reset() }
            try expect(row.step())
            expect(row.integer(0) == 64 && row.integer(1) == 137 && row.integer(2) == 200)
        }
    }
}
