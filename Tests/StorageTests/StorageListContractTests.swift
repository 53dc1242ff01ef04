import BucketTestSupport

/// What every bucket promises: listing, deleting, many at once.
@Suite struct StorageListContractTests {
    static let subjects = ContractSubject.all

    private func filled(_ subject: ContractSubject, _ keys: [String]) throws -> any ObjectStorage {
        let bucket = try subject.bucket()
        for key in keys { try bucket.write(key, key) }
        return bucket
    }

    @Test(arguments: subjects)
    func `keys come in the order of their bytes`(_ subject: ContractSubject) throws {
        let keys = [
            "B", "a.b", "a/b", "a/b.c/d", "a/b0", "a0", "aa", "b", "z", "\u{e9}", "\u{ffff0}",
        ]
        try expect(filled(subject, keys.shuffled()).keys(), equals: keys)
    }

    @Test(arguments: subjects)
    func `a prefix may end anywhere`(_ subject: ContractSubject) throws {
        let bucket = try filled(
            subject, ["log/1", "log/12", "log/2", "objects/a", "objects/ab", "o"])
        try expect(bucket.keys("log/"), equals: ["log/1", "log/12", "log/2"])
        try expect(bucket.keys("log/1"), equals: ["log/1", "log/12"])
        try expect(bucket.keys("o"), equals: ["o", "objects/a", "objects/ab"])
        try expect(bucket.keys("x"), equals: [])
    }

    @Test(arguments: subjects, [1, 3, 10, 1_000])
    func `pages lead through all keys, each once`(_ subject: ContractSubject, _ count: Int) throws {
        let keys = (0..<10).map { "e/1/objects/0\($0)" }
        let bucket = try filled(subject, keys)
        try expect(bucket.keys("e/", by: count), equals: keys)
        let first = try bucket.list(ListRequest(prefix: "e/", countMax: count))
        expect(first.files.count, equals: min(count, 10))
        expect((first.next == nil), equals: (count >= 10))
    }

    @Test(arguments: subjects)
    func `a listing begins after a key, whether it is there or not`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try filled(subject, ["a", "c", "e", "g"])
        try expect(bucket.keys(after: "c"), equals: ["e", "g"])
        try expect(bucket.keys(after: "d"), equals: ["e", "g"])
        try expect(bucket.keys(after: "b", by: 1), equals: ["c", "e", "g"])
        try expect(bucket.keys(after: "g"), equals: [])
    }

    @Test(arguments: subjects)
    func `all awkward keys stand in one listing, page by page`(_ subject: ContractSubject) throws {
        let keys = StorageContractTests.awkward.sorted {
            $0.utf8.lexicographicallyPrecedes($1.utf8)
        }
        let bucket = try filled(subject, keys)
        try expect(bucket.keys(), equals: keys)
        try expect(bucket.keys(by: 1), equals: keys)
        for (index, key) in keys.enumerated() {
            try expect(bucket.keys(after: key), equals: Array(keys[(index + 1)...]))
            try expect(bucket.keys(key).contains(key))
        }
        try expect(bucket.delete(keys).deletedCount, equals: keys.count)
        try expect(bucket.keys(), equals: [])
    }

    @Test(arguments: subjects)
    func `what was just written is listed, what was just deleted is not`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let page = try bucket.list(ListRequest(prefix: ""))
        expect(page.files.isEmpty && page.next == nil)
        for round in 0..<20 {
            try bucket.write("o/\(round)", "")
            try expect(bucket.keys("o/"), equals: ["o/\(round)"])
            _ = try bucket.delete(["o/\(round)"])
            try expect(bucket.keys("o/"), equals: [])
        }
    }

    @Test(arguments: subjects)
    func `what stands beside the prefix is not shown`(_ subject: ContractSubject) throws {
        let (one, two) = try subject.neighbours()
        try one.write("a", "one")
        try two.write("a", "two")
        try two.write("b", "two")
        try expect(one.keys(), equals: ["a"])
        try expect(two.keys(), equals: ["a", "b"])
        _ = try two.delete(["a", "b"])
        try expect(one.text("a"), equals: "one")
    }

    @Test(arguments: subjects)
    func `a listing stops when it is told to`(_ subject: ContractSubject) throws {
        let bucket = try filled(subject, ["a", "b", "c"])
        let before = bucket.figures.requestCount
        try bucket.listAll("", countMax: 1) { (_) throws(StoreError) in false }
        expect(bucket.figures.requestCount - before, equals: 1)
    }

    // MARK: deleting

    @Test(arguments: subjects)
    func `what was deleted is gone, and only that`(_ subject: ContractSubject) throws {
        let bucket = try filled(subject, ["a", "a.b/c", "ab", "b"])
        try expect(bucket.delete(["a"]).deletedCount, equals: 1)
        try expect(bucket.keys(), equals: ["a.b/c", "ab", "b"])
    }

    @Test(arguments: subjects)
    func `a thousand go in one request, and what is missing counts as deleted`(
        _ subject: ContractSubject
    ) throws {
        let keys = (0..<1_000).map { "o/\($0)" }
        let bucket = try filled(subject, Array(keys.prefix(30)))
        for keys in [keys, ["o/1"]] {
            let before = bucket.figures.requestCount
            let outcome = try bucket.delete(keys)
            expect(outcome.deletedCount, equals: keys.count)
            expect(outcome.refused.isEmpty && outcome.unknownCount == 0)
            expect(bucket.figures.requestCount - before, equals: 1)
            try expect(bucket.keys(), equals: [])
        }
    }

    // MARK: many at once

    @Test(arguments: subjects)
    func `many writes at once are all there`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.inParallel(200) { index throws(StoreError) in
            let body = try StorageBody(Array("\(index)".utf8))
            guard try bucket.put("o/\(index)", body, .object).isStored else {
                throw StoreError(.outcomeUnknown, "\(index)")
            }
        }
        expect(Set(try bucket.keys()), equals: Set((0..<200).map { "o/\($0)" }))
        try expect(bucket.text("o/123"), equals: "123")
    }

    @Test(arguments: subjects)
    func `the first error ends the work of all threads`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let done = Mutex(0)
        expectRefusal(.outOfSpace) {
            try bucket.inParallel(10_000) { index throws(StoreError) in
                if index == 3 { throw StoreError(.outOfSpace, "enough") }
                done.withLock { $0 += 1 }
                _ = try bucket.head("missing")
            }
        }
        expect(done.withLock { $0 } < 5_000)
    }
}
