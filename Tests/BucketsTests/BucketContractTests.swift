import BucketTestSupport
import Buckets
import Platform
import StorageTestSupport
import Synchronization
import Testing

/// What every bucket promises: writing.
///
/// The other promises stand beside it: reading, listing and deleting, many at once.
@Suite struct BucketContractTests {
    static let subjects = ContractSubject.all
    /// Keys that somebody encodes wrongly sooner or later.
    static let awkward = [
        "a b", "a+b", "a%2Bb", "50%", "a&b=c", "a<b>c", "quote\"'", "x//y", "\u{fc}/\u{20ac}",
        "e\u{301}", "\u{1f600}", "~-_.!*'()", "a?b#c", "a;b,c:@$", "trailing/", "a=b",
        "\u{301}accent", "line\nend", "cr\r\nlf", "\u{1}control",
    ]

    @Test(arguments: subjects)
    func `what was put is there`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("objects/ab/cd", "content")
        #expect(try bucket.text("objects/ab/cd") == "content")
    }

    @Test(arguments: subjects)
    func `a put replaces what was there`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("channels/a.json", "old")
        try bucket.write("channels/a.json", "newer")
        #expect(try bucket.text("channels/a.json") == "newer")
    }

    @Test(arguments: subjects)
    func `an empty file is a file`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("empty", "")
        #expect(try bucket.text("empty") == "")
        #expect(try bucket.head("empty")?.byteCount == 0)
    }

    @Test(arguments: subjects)
    func `a file of the disk is sent from its beginning, whatever its position`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let directory = TemporaryDirectory()
        let content = SeededRandom.content(700_000)
        let file = try directory.file(content)
        let body = BucketBody(
            file: file.raw, byteCount: Int64(content.count),
            address: try BucketBody(content).address)
        for key in ["one", "two"] {
            #expect(try bucket.put(key, body, .object).isStored)
            let read = try bucket.bytes(key, ReadRequest(byteCountMax: 1 << 20))
            #expect(read.bytes == content)
        }
    }

    @Test(arguments: subjects)
    func `other bytes than the address says are refused, and not stored`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let wrong = BucketBody(Array("abd".utf8), address: try body("abc").address)
        let error = #expect(throws: StoreError.self) { try bucket.put("o", wrong, .object) }
        #expect(error?.code.description == "damagedObject")
        #expect(error?.object == wrong.address)
        #expect(try bucket.head("o") == nil)
    }

    @Test(arguments: subjects)
    func `a file whose bytes have changed is refused, and what was there stays`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "before")
        let directory = TemporaryDirectory()
        let file = try directory.file(Array("abd".utf8))
        let wrong = BucketBody(file: file.raw, byteCount: 3, address: try body("abc").address)
        #expect(throws: StoreError.self) { try bucket.put("o", wrong, .object) }
        #expect(throws: StoreError.self) { try bucket.putIfAbsent("p", wrong, .object) }
        #expect(try bucket.text("o") == "before")
        #expect(try bucket.head("p") == nil)
    }

    @Test(arguments: subjects)
    func `put, head, get and list tell one tag`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let tag = try bucket.write("o", "content")
        #expect(try bucket.head("o")?.tag == tag)
        #expect(try bucket.list(ListRequest(prefix: "")).files.first?.tag == tag)
        let read = try bucket.bytes("o", ReadRequest(byteCountMax: 100))
        guard case .found(let file) = read.outcome else {
            Issue.record("\(read.outcome)")
            return
        }
        #expect(file.tag == tag)
    }

    @Test(arguments: subjects)
    func `equal bytes have equal tags, others have others`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let tag = try bucket.write("a", "content")
        #expect(try bucket.write("b", "content") == tag)
        #expect(try bucket.write("a", "other") != tag)
    }

    @Test(arguments: subjects, awkward)
    func `a key is any text`(_ subject: ContractSubject, _ key: String) throws {
        let bucket = try subject.bucket()
        try bucket.write(key, key)
        #expect(try bucket.text(key) == key)
        #expect(try bucket.head(key)?.byteCount == Int64(key.utf8.count))
        #expect(try bucket.keys() == [key])
        #expect(try bucket.delete([key]).deletedCount == 1)
        #expect(try bucket.keys() == [])
    }

    @Test(arguments: subjects)
    func `a key has up to 1,024 bytes with its prefix`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let prefix = (bucket as? S3Bucket)?.location.key("").utf8.count ?? 0
        let key = String(repeating: "k", count: 1_024 - prefix)
        try bucket.write(key, "a")
        #expect(try bucket.text(key) == "a")
        #expect(try bucket.keys() == [key])
    }

    @Test(arguments: subjects)
    func `keys that differ in case are two`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("Key", "upper")
        try bucket.write("key", "lower")
        #expect(try bucket.text("Key") == "upper")
        #expect(try bucket.keys() == ["Key", "key"])
    }

    @Test(arguments: subjects)
    func `a file was written before the server's now`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "a")
        let file = try #require(try bucket.head("o"))
        #expect(file.modifiedAt <= file.answeredAt && file.answeredAt - file.modifiedAt < 60)
        let page = try bucket.list(ListRequest(prefix: ""))
        #expect(abs(page.answeredAt - file.answeredAt) < 60)
        #expect(page.files.first?.modifiedAt == file.modifiedAt)
    }

    // MARK: create-only

    @Test(arguments: subjects)
    func `a create-only put creates`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        #expect(try bucket.putIfAbsent("log/1", body("a"), .logEntry).isStored)
        #expect(try bucket.text("log/1") == "a")
    }

    @Test(arguments: subjects, ["b", "a", ""])
    func `a create-only put never replaces, not even by the same bytes`(
        _ subject: ContractSubject, _ second: String
    ) throws {
        let bucket = try subject.bucket()
        #expect(try bucket.putIfAbsent("log/1", body("a"), .logEntry).isStored)
        #expect(try bucket.putIfAbsent("log/1", body(second), .logEntry) == .conditionFailed)
        #expect(try bucket.text("log/1") == "a")
    }

    @Test(arguments: subjects)
    func `a create-only put does not replace an empty file`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        #expect(try bucket.putIfAbsent("log/1", body(""), .logEntry).isStored)
        #expect(try bucket.putIfAbsent("log/1", body("b"), .logEntry) == .conditionFailed)
        #expect(try bucket.text("log/1") == "")
    }

    @Test(arguments: subjects)
    func `what was deleted can be created again`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        #expect(try bucket.putIfAbsent("x", body("a"), .logEntry).isStored)
        _ = try bucket.delete(["x"])
        #expect(try bucket.putIfAbsent("x", body("b"), .logEntry).isStored)
        #expect(try bucket.text("x") == "b")
    }

    @Test(arguments: subjects)
    func `of eight that create one file, one does`(_ subject: ContractSubject) throws {
        for round in 0..<5 {
            let bucket = try subject.bucket()
            let winners = Mutex<[Int]>([])
            try race(8) { index throws(StoreError) in
                let body = try BucketBody(Array("writer \(index)".utf8))
                switch try bucket.putIfAbsent("log/\(round)", body, .logEntry) {
                case .stored: winners.withLock { $0.append(index) }
                case .conditionFailed, .conflict: break
                case let other: throw StoreError(.bucketAnswer, "\(other)")
                }
            }
            let won = winners.withLock { $0 }
            #expect(won.count == 1)
            #expect(try bucket.text("log/\(round)") == "writer \(won.first ?? -1)")
        }
    }

    // MARK: by tag

    @Test(arguments: subjects)
    func `a put by the right tag replaces`(_ subject: ContractSubject) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        let tag = try bucket.write("c", "1")
        let outcome = try bucket.putIf("c", body("2"), .pointer, matching: tag, spelling)
        #expect(outcome.isStored)
        #expect(try bucket.text("c") == "2")
    }

    @Test(arguments: subjects)
    func `a put by another tag does nothing`(_ subject: ContractSubject) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        let old = try bucket.write("c", "1")
        try bucket.write("c", "2")
        #expect(
            try bucket.putIf("c", body("3"), .pointer, matching: old, spelling)
                == .conditionFailed)
        #expect(try bucket.text("c") == "2")
    }

    @Test(arguments: subjects)
    func `a put by a tag does not create`(_ subject: ContractSubject) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        let tag = try bucket.write("c", "1")
        _ = try bucket.delete(["c"])
        #expect(
            try bucket.putIf("c", body("2"), .pointer, matching: tag, spelling)
                == .conditionFailed)
        #expect(try bucket.head("c") == nil)
    }

    @Test(arguments: subjects)
    func `of four that replace by one tag, one does`(_ subject: ContractSubject) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        let tag = try bucket.write("c", "0")
        let winners = Mutex<[Int]>([])
        try race(4) { index throws(StoreError) in
            let body = try BucketBody(Array("writer \(index)".utf8))
            switch try bucket.putIf("c", body, .pointer, matching: tag, spelling) {
            case .stored: winners.withLock { $0.append(index) }
            case .conditionFailed, .conflict: break
            case let other: throw StoreError(.bucketAnswer, "\(other)")
            }
        }
        let won = winners.withLock { $0 }
        #expect(won.count == 1)
        #expect(try bucket.text("c") == "writer \(won.first ?? -1)")
    }

    private func race(
        _ count: Int, _ body: @escaping @Sendable (Int) throws(StoreError) -> Void
    ) throws {
        try Parallel.run(workers: count, count: count, chunk: 1) { (work) throws(StoreError) in
            while let chunk = work.nextChunk() { for index in chunk { try body(index) } }
        }
    }
}

extension SeededRandom {
    /// The same bytes in each run.
    static func content(_ count: Int, seed: UInt64 = 17) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        return random.bytes(count)
    }
}

extension TemporaryDirectory {
    /// An open file with that content.
    func file(_ content: [UInt8], _ name: String = "file") throws -> Descriptor {
        let files = POSIXFileSystem()
        let file = try files.open(
            POSIXFileSystem.workingDirectory, appending(name), .updating, mode: 0o600)
        try files.write(file.raw, content)
        return file
    }
}
