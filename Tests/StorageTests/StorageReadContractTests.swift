import BucketTestSupport

/// What every bucket promises: reading.
@Suite struct StorageReadContractTests {
    static let subjects = ContractSubject.all
    private static let limit: Int64 = 1 << 20

    private func read(
        _ bucket: any ObjectStorage, _ key: String, _ range: Range<Int64>? = nil, max: Int64 = limit
    ) throws -> (outcome: ReadOutcome, text: String) {
        let read = try bucket.bytes(key, ReadRequest(range: range, byteCountMax: max))
        return (read.outcome, String(decoding: read.bytes, as: UTF8.self))
    }

    @Test(arguments: subjects)
    func `what is not there is missing, in a range and by a tag, too, also beside a longer key`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let tag = try bucket.write("log/12", "a")
        for key in ["log/1", "log/", "log", "other"] {
            try expect(bucket.head(key) == nil)
            try expect(read(bucket, key).outcome, equals: .missing)
            try expect(read(bucket, key, 0..<1).outcome, equals: .missing)
            let request = ReadRequest(unlessTag: tag, byteCountMax: Self.limit)
            try expect(bucket.bytes(key, request).outcome, equals: .missing)
        }
    }

    @Test(arguments: subjects)
    func `sizes come in the order of their keys, and none of what is not there`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        for (key, text) in [("a/1", "1"), ("a/2", "22"), ("a/b/3", "333"), ("top", "4444")] {
            try bucket.write(key, text)
        }
        let keys = ["a/2", "top", "a/1", "a/9", "a/b/3", "a/b", "c/1", "a", "a/1"]
        try expect(
            bucket.byteCounts(of: keys) { false },
            equals: [2, 4, 1, nil, 3, nil, nil, nil, 1])
        try expect(bucket.byteCounts(of: []) { false }, equals: [])
        expectRefusal(.interrupted) { try bucket.byteCounts(of: keys) { true } }
    }

    @Test(arguments: subjects)
    func `nothing is read of what has the named tag`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let tag = try bucket.write("c", "content")
        let same = try bucket.bytes("c", ReadRequest(unlessTag: tag, byteCountMax: Self.limit))
        expect(same.outcome == .notModified && same.bytes.isEmpty)
        try bucket.write("c", "other")
        let other = try bucket.bytes("c", ReadRequest(unlessTag: tag, byteCountMax: Self.limit))
        expect(other.bytes, equals: Array("other".utf8))
    }

    @Test(
        arguments: subjects,
        [
            (0..<10, "0123456789"), (3..<7, "3456"), (0..<1, "0"), (9..<10, "9"),
            (5..<999, "56789"), (0..<999, "0123456789"),
        ] as [(Range<Int64>, String)])
    func `a range gives its bytes, up to the end`(
        _ subject: ContractSubject, _ wanted: (range: Range<Int64>, text: String)
    ) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "0123456789")
        let read = try read(bucket, "o", wanted.range)
        expect(read.text, equals: wanted.text)
        guard case .found(let file) = read.outcome else { throw Unexpected(read.outcome) }
        expect(file.byteCount, equals: 10)
    }

    @Test(arguments: subjects)
    func `a range that begins at the end has nothing, nor any of an empty file`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "0123456789")
        try bucket.write("empty", "")
        for (key, start) in [("o", 10), ("o", 99), ("empty", 0)] as [(String, Int64)] {
            try expect(read(bucket, key, start..<start + 10).outcome, equals: .beyondEnd)
        }
    }

    @Test(arguments: subjects)
    func `as many bytes as allowed are read of the range, one more is an error`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "0123456789")
        try expect(read(bucket, "o", max: 10).text, equals: "0123456789")
        var count = 0
        expectRefusal(.tooLarge) {
            _ = try bucket.get("o", ReadRequest(byteCountMax: 9)) { (part) throws(StoreError) in
                count += part.count
            }
        }
        expect(count <= 9)
        try expect(read(bucket, "o", 4..<6, max: 2).text, equals: "45")
        expectRefusal(.tooLarge) { try read(bucket, "o", 4..<7, max: 2) }
    }

    @Test(arguments: subjects)
    func `what the reader throws ends the read, and the bucket continues`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let content = SeededRandom.content(900_000)
        try expect(bucket.put("o", StorageBody(content), .object).isStored)
        expectRefusal(.outOfSpace) {
            _ = try bucket.get("o", ReadRequest(byteCountMax: Self.limit)) {
                (_) throws(StoreError) in
                throw StoreError(.outOfSpace, "the reader's disk is full")
            }
        }
        try expect(bucket.bytes("o", ReadRequest(byteCountMax: Self.limit)).bytes, equals: content)
    }

    @Test(arguments: subjects)
    func `a file of many pieces comes in order`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let content = SeededRandom.content(1_000_000)
        try expect(bucket.put("o", StorageBody(content), .object).isStored)
        try expect(bucket.bytes("o", ReadRequest(byteCountMax: Self.limit)).bytes, equals: content)
        let part = try bucket.bytes(
            "o", ReadRequest(range: 300_000..<800_001, byteCountMax: Self.limit))
        expect(part.bytes, equals: Array(content[300_000..<800_001]))
    }

    @Test(arguments: subjects)
    func `what was just written is read, what was just deleted is missing`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        for round in 0..<30 {
            for key in ["o/\(round)", "same", "gone"] {
                try bucket.write(key, "\(round)")
                try expect(bucket.text(key), equals: "\(round)")
            }
            _ = try bucket.delete(["gone"])
            try expect(bucket.head("gone") == nil)
            try expect(read(bucket, "gone").outcome, equals: .missing)
        }
    }

    @Test(arguments: subjects)
    func `requests and bytes are counted`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "content")
        _ = try bucket.text("o")
        _ = try bucket.head("o")
        expect(bucket.figures.requestCount, equals: 3)
        expect(bucket.figures.retryCount, equals: 0)
        expect(bucket.figures.sentByteCount, equals: 7)
        expect(bucket.figures.receivedByteCount, equals: 7)
    }
}
