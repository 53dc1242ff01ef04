import StorageTestSupport

@testable import CASStore

/// A change of the index that a power cut, or a kill, has cut short: what SQLite wrote may be there in
/// part, in any order, and the stamp says that it began.
@Suite struct InterruptedIndexTests {
    private let temporary: TemporaryStore

    init() throws { temporary = try DerivedIndexTests.makeStore() }

    /// Leaves the stamp as it is while the next transaction runs.
    func announce(_ temporary: TemporaryStore) throws {
        let stamp = try require(IndexStamp(Damage.contents(temporary.stampPath)))
        expect(stamp.committed, equals: stamp.pending)
        let status = try require(
            try temporary.store.fileSystem.status(
                temporary.store.directories.root.raw, "index.sqlite"))
        let announced = IndexStamp(
            epoch: stamp.epoch, committed: stamp.committed, pending: stamp.committed + 1,
            byteCount: status.byteCount, changedAt: status.changedAt)
        try Damage.overwrite(
            temporary.stampPath,
            with: announced.encoded + [UInt8](repeating: 10, count: 256 - announced.encoded.count))
    }

    /// Leaves some pages as they were before a change, others as they are after it, and the change announced.
    func leaveMixture(
        _ temporary: TemporaryStore, _ old: [UInt8], _ random: inout SeededRandom
    ) throws {
        let pageSize = 4096
        var mixed = try Damage.contents(temporary.indexPath)
        for page in 0..<(min(old.count, mixed.count) / pageSize) where random.bytes(1)[0] < 128 {
            let range = page * pageSize..<(page + 1) * pageSize
            mixed.replaceSubrange(range, with: old[range])
        }
        try Damage.overwrite(temporary.indexPath, with: mixed)
        try announce(temporary)
    }

    /// Expects the same answers as before, from an index that is made again without being called damaged.
    func expectSame(
        _ temporary: TemporaryStore, _ comment: Comment, after cut: (TemporaryStore) throws -> Void
    ) throws {
        let before = try Answers(temporary.reopened())
        try cut(temporary)
        let notices = Notices()
        let after = try Answers(temporary.reopened(notice: notices.sink))
        expect(after, equals: before, comment)
        expect(notices.all.count, equals: 1, comment)
        try expect(Answers(temporary.reopened(notice: notices.sink)), equals: before, comment)
        expect(notices.all.count, equals: 1, "and once is enough; \(comment)")
    }

    @Test func `an index whose change was announced and not finished is made again`() throws {
        try expectSame(temporary, "before its first page") { try announce($0) }
    }

    @Test func `a mixture of the pages before and after a change is not believed`() throws {
        var random = SeededRandom()
        for round in 0..<8 {
            let old = try Damage.contents(temporary.indexPath)
            try temporary.add("more-\(round)", ["new": "content \(round)", "lib/a.js": "shared"])
            try temporary.versions.retire("more-\(round)")
            try expectSame(temporary, "round \(round), seed \(random.seed)") {
                try leaveMixture($0, old, &random)
            }
        }
    }

    /// A process that has the index open long before another is killed in the middle of a change of it.
    @Test(arguments: ["reads", "writes"])
    func `who has the index open does not believe in what a killed process left of it`(
        operation: String
    ) throws {
        var random = SeededRandom()
        for round in 0..<8 {
            let old = try Damage.contents(temporary.indexPath)
            try temporary.add("more-\(round)", ["new": "content \(round)", "lib/a.js": "shared"])
            try temporary.versions.retire("more-\(round)")
            let before = try Answers(temporary.versions)
            try leaveMixture(temporary, old, &random)
            let comment: Comment = "round \(round), seed \(random.seed)"
            if operation == "writes" {
                try temporary.add("again", ["new": "content \(round)", "lib/a.js": "shared"])
                try temporary.versions.retire("again")
            }
            try expect(Answers(temporary.versions), equals: before, comment)
            try expect(temporary.reopened().check(CheckOptions(isDeep: true)).findings, equals: [])
        }
    }

    @Test func `a journal that outlived its transaction is not rolled back`() throws {
        // The pages before the change, as SQLite keeps them until it is committed.
        let journal = try temporary.withIndex { connection in
            try connection.execute(
                "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1; BEGIN IMMEDIATE;"
                    + "UPDATE object SET refs = refs + 1; UPDATE version SET bytes = bytes + 1")
            let journal = try Damage.contents(temporary.indexPath + "-journal")
            try connection.execute("ROLLBACK")
            return journal
        }
        _ = try temporary.reopened().versions()
        try temporary.add("5", ["new": "new content"])
        for length in [journal.count, journal.count / 2] {
            try expectSame(temporary, "\(length) bytes of journal") {
                try Damage.overwriteOrCreate(
                    $0.indexPath + "-journal", with: Array(journal.prefix(length)))
            }
        }
    }

    @Test func `a transaction that fails leaves no doubt`() throws {
        let failure = code {
            try temporary.store.index { (index) throws(StoreError) in
                try index.write { (transaction) throws(StoreError) in
                    try transaction.connection.execute("UPDATE object SET refs = refs + 1")
                    throw StoreError(.mismatch, "a reason to give the transaction up")
                }
            }
        }
        expect(failure, equals: .mismatch)
        let notices = Notices()
        try expect(temporary.reopened(notice: notices.sink).check().findings, equals: [])
        expect(notices.all, equals: [])
    }

    @Test func `the change is announced before the first page and committed after the last sync`()
        throws
    {
        let disk = FaultyFileSystem()
        let store = try temporary.reopened(on: disk).store
        let before = try require(IndexStamp(Damage.contents(temporary.stampPath)))
        func stamp() throws -> [Int64] {
            let stamp = try require(IndexStamp(Damage.contents(temporary.stampPath)))
            return [stamp.committed - before.committed, stamp.pending - before.committed]
        }
        let seen = Held<[[Int64]]>([])
        disk.arm(.stop(after: .max))
        try store.index { (index) throws(StoreError) in
            try index.write { (transaction) throws(StoreError) in
                // The announcement itself is durable by now.
                let synced = disk.operations.contains {
                    $0.verb == .sync && $0.path.hasSuffix("/stamp")
                }
                expect(synced)
                seen.value.append((try? stamp()) ?? [])
            } syncing: { (transaction) throws(StoreError) in
                seen.value.append((try? stamp()) ?? [])
                try transaction.sync()
            }
        }
        expect(seen.value, equals: [[0, 1], [0, 1]])
        try expect(stamp(), equals: [1, 1])
    }

    @Test func `who opens beside a running writer waits for it and makes nothing again`() throws {
        let notices = Notices()
        let found = Held(0)
        let done = DispatchSemaphore(value: 0)
        try temporary.store.index { (index) throws(StoreError) in
            try index.write { (transaction) throws(StoreError) in
                let thread = Thread {
                    // What fails is seen by the count.
                    found.value =
                        (try? temporary.reopened(notice: notices.sink).versions().count) ?? -1
                    done.signal()
                }
                thread.start()
                try transaction.connection.execute("UPDATE object SET fingerprint = NULL")
            }
        }
        done.wait()
        expect(found.value, equals: 4)
        expect(notices.all, equals: [])
    }

    @Test(arguments: 1...4)
    func `another process may commit at each look at the file while the index is opened`(
        look: Int
    ) throws {
        let looks = Held(0)
        let disk = HookedFileSystem(afterLook: { name in
            guard name == StoreLayout.index else { return }
            looks.value += 1
            guard looks.value == look else { return }
            // The answer to this look is out of date at once.
            try temporary.store.index { (index) throws(StoreError) in
                try index.write { (transaction) throws(StoreError) in
                    try transaction.connection.execute("UPDATE object SET fingerprint = NULL")
                }
            }
        })
        let notices = Notices()
        try expect(temporary.reopened(on: disk, notice: notices.sink).versions().count, equals: 4)
        expect(notices.all, equals: [], "nothing is wrong with the index")
        expect(looks.value >= 2)
    }

    @Test func `two that find it torn make it again once, and neither calls it damage`() throws {
        let before = try Answers(temporary.reopened())
        try announce(temporary)
        let notices = Notices()
        let isFirst = Held(true)
        let seen = Held(before)
        let disk = HookedFileSystem(beforeLockingAlone: {
            guard isFirst.value else { return }
            isFirst.value = false
            // The other is quicker.
            seen.value = try Answers(temporary.reopened())
        })
        try expect(Answers(temporary.reopened(on: disk, notice: notices.sink)), equals: before)
        expect(seen.value, equals: before)
        expect(notices.all, equals: [])
        expect(!isFirst.value)
    }

    @Test func `who had to read the manifests sees what others do later`() throws {
        try announce(temporary)
        let isFull = Held(true)
        let disk = HookedFileSystem(beforeUpdating: { name in
            guard isFull.value, name == StoreLayout.stamp else { return }
            throw StoreError(.outOfSpace, "no space is left for \(name)")
        })
        let notices = Notices()
        let reader = try temporary.reopened(on: disk, notice: notices.sink)
        try expect(reader.versions().count, equals: 4)
        expect(notices.all.count, equals: 1)
        let writer = try temporary.reopened()
        let source = temporary.directory.appending("later")
        try writeTree(source, ["late": "content"])
        isFull.value = false
        _ = try writer.add(directory: source, version: "5")
        try expect(reader.versions().count, equals: 5)
        try writer.retire("5")
        try expect(reader.versions().count, equals: 4)
        expect(notices.all.count, equals: 1)
    }

    @Test func `who reads where nothing can be written is not disturbed by a change that runs`()
        throws
    {
        let disk = HookedFileSystem(beforeUpdating: { name in
            throw StoreError(.readOnly, "\(name) is on a read-only file system")
        })
        let notices = Notices()
        let reader = try temporary.reopened(on: disk, notice: notices.sink)
        try expect(reader.versions().count, equals: 4)
        let found = Held(0)
        try temporary.store.index { (index) throws(StoreError) in
            try index.write { (transaction) throws(StoreError) in
                try transaction.connection.execute("UPDATE object SET fingerprint = NULL")
                found.value = try reader.versions().count
            }
        }
        expect(found.value, equals: 4)
        expect(notices.all, equals: [])
    }

    /// A value that one thread at a time looks at.
    final class Held<Value>: @unchecked Sendable {
        var value: Value
        init(_ value: Value) { self.value = value }
    }
}

/// Somebody acts at some of the verbs.
private struct HookedFileSystem: FileSystemWrapper {
    let base: any FileSystem = POSIXFileSystem()
    var afterLook: @Sendable (String) throws -> Void = { _ in }
    var beforeLockingAlone: @Sendable () throws -> Void = {}
    var beforeUpdating: @Sendable (String) throws -> Void = { _ in }

    func status(
        _ directory: Int32, _ path: UnsafePointer<CChar>
    ) throws(StoreError) -> FileStatus? {
        let status = try base.status(directory, path)
        try act { try afterLook(String(cString: path)) }
        return status
    }

    func lock(_ file: Int32, exclusive: Bool) throws(StoreError) -> Bool {
        if exclusive { try act(beforeLockingAlone) }
        return try base.lock(file, exclusive: exclusive)
    }

    func open(
        _ directory: Int32, _ path: UnsafePointer<CChar>, _ access: Access, mode: UInt32
    ) throws(StoreError) -> Descriptor {
        if access == .updating { try act { try beforeUpdating(String(cString: path)) } }
        return try base.open(directory, path, access, mode: mode)
    }

    private func act(_ operation: () throws -> Void) throws(StoreError) {
        do { try operation() } catch {
            throw error as? StoreError ?? StoreError(.io, "\(error)")
        }
    }
}
