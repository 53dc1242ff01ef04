import BucketTestSupport

/// What every bucket promises: writing.
///
/// The other promises stand beside it: reading, listing and deleting, many at once.
@Suite struct StorageContractTests {
    static let subjects = ContractSubject.all
    static let buckets = ContractSubject.buckets
    /// Keys that somebody encodes wrongly sooner or later.
    static let awkward = [
        "a b", "a+b", "a%2Bb", "50%", "a&b=c", "a<b>c", "quote\"'", "\u{fc}/\u{20ac}",
        "e\u{301}", "\u{1f600}", "~-_.!*'()", "a?b#c", "a;b,c:@$", "a=b", "\u{301}accent",
        "line\nend", "cr\r\nlf", "\u{1}control",
    ]
    /// Keys that are no paths.
    static let pathless = ["x//y", "trailing/", "/leading", "a/../b", "./a", ".."]

    /// Files whose bytes stand in a directory, and their contents.
    private func outgoing(_ count: Int) throws -> (
        directory: TemporaryDirectory, files: [OutgoingFile], texts: [String]
    ) {
        let directory = TemporaryDirectory()
        let texts = (0..<count).map { "content \($0)" }
        for (index, text) in texts.enumerated() {
            _ = try directory.file(Array(text.utf8), "\(index)")
        }
        let files = try texts.enumerated().map { (index, text) in
            OutgoingFile(
                "objects/\(index % 7)/\(index)", try body(text).address,
                byteCount: Int64(text.utf8.count), .object)
        }
        return (directory, files, texts)
    }

    private static func open(_ index: Int, in directory: String) throws(StoreError) -> Descriptor {
        try POSIXFileSystem().open(
            POSIXFileSystem.workingDirectory, "\(directory)/\(index)", .reading, mode: 0)
    }

    @Test(arguments: subjects)
    func `many files are there as they are told, and what is left out is not`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let (directory, files, texts) = try outgoing(100)
        let path = directory.path
        let told = Mutex<[Int: WriteOutcome]>([:])
        try bucket.putAll(files) { (index) throws(StoreError) -> Descriptor? in
            index % 10 == 3 ? nil : try Self.open(index, in: path)
        } done: { index, outcome in
            told.withLock { $0[index] = outcome }
        }
        try bucket.barrier()
        let outcomes = told.withLock { $0 }
        for (index, text) in texts.enumerated() {
            let isLeftOut = index % 10 == 3
            try expect(bucket.text(files[index].key), equals: isLeftOut ? nil : text)
            let head = try bucket.head(files[index].key)
            expect(outcomes[index]?.isStored == true, equals: !isLeftOut)
            if case .stored(let tag?) = outcomes[index] { expect(tag, equals: head?.tag) }
        }
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: subjects)
    func `of many files none gets other bytes than its address says`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let (directory, files, texts) = try outgoing(20)
        let path = directory.path
        let told = Mutex<Set<Int>>([])
        #expect(throws: StoreError.self) {
            try bucket.putAll(files) { (index) throws(StoreError) -> Descriptor? in
                try Self.open(index == 7 ? 8 : index, in: path)
            } done: { index, _ in
                told.withLock { _ = $0.insert(index) }
            }
        }
        let stand = told.withLock { $0 }
        expect(!stand.contains(7))
        for index in files.indices {
            let text = try bucket.text(files[index].key)
            if stand.contains(index) {
                expect(text, equals: texts[index])
            } else {
                expect(text == nil || text == texts[index])
            }
        }
        withExtendedLifetime(directory) {}
    }

    @Test(arguments: subjects)
    func `a file of the disk is sent from its beginning, whatever its position`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let directory = TemporaryDirectory()
        let content = SeededRandom.content(700_000)
        let file = try directory.file(content)
        let body = StorageBody(
            file: file.raw, byteCount: Int64(content.count),
            address: try StorageBody(content).address)
        for key in ["one", "two"] {
            try expect(bucket.put(key, body, .object).isStored)
            try expect(bucket.bytes(key, ReadRequest(byteCountMax: 1 << 20)).bytes, equals: content)
        }
    }

    @Test(arguments: subjects)
    func `other bytes than the address says are refused, and not stored`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        let wrong = StorageBody(Array("abd".utf8), address: try body("abc").address)
        let error = expectRefusal(.damagedObject) { try bucket.put("o", wrong, .object) }
        expect(error?.object, equals: wrong.address)
        try expect(bucket.head("o") == nil)
    }

    @Test(arguments: subjects)
    func `a file whose bytes have changed is refused, and what was there stays`(
        _ subject: ContractSubject
    ) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "before")
        let directory = TemporaryDirectory()
        let file = try directory.file(Array("abd".utf8))
        let wrong = StorageBody(file: file.raw, byteCount: 3, address: try body("abc").address)
        #expect(throws: StoreError.self) { try bucket.put("o", wrong, .object) }
        #expect(throws: StoreError.self) { try bucket.putIfAbsent("p", wrong, .object) }
        try expect(bucket.text("o"), equals: "before")
        try expect(bucket.head("p") == nil)
    }

    @Test(arguments: subjects, ["content", ""])
    func `put, head, get and list tell one tag, size and time, also of an empty file`(
        _ subject: ContractSubject, _ text: String
    ) throws {
        let (bucket, count) = (try subject.bucket(), Int64(text.utf8.count))
        let tag = try bucket.write("o", text)
        let head = try require(try bucket.head("o"))
        expect(head.tag == tag && head.byteCount == count)
        let read = try bucket.bytes("o", ReadRequest(byteCountMax: 100))
        guard case .found(let file) = read.outcome else { throw Unexpected(read.outcome) }
        expect(file.tag == tag && file.byteCount == count && file.modifiedAt == head.modifiedAt)
        expect(read.bytes, equals: Array(text.utf8))
        let listed = try require(try bucket.list(ListRequest(prefix: "")).files.first)
        expect(
            listed.tag == tag && listed.byteCount == count && listed.modifiedAt == head.modifiedAt)
    }

    // On a disk two files have two tags.
    @Test(arguments: buckets)
    func `equal bytes have equal tags, others have others`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let tag = try bucket.write("a", "content")
        try expect(bucket.write("b", "content"), equals: tag)
        try expect(bucket.write("a", "other") != tag)
    }

    @Test(arguments: subjects, awkward)
    func `a key is any text`(_ subject: ContractSubject, _ key: String) throws {
        let bucket = try subject.bucket()
        try bucket.write(key, key)
        try expect(bucket.text(key), equals: key)
        try expect(bucket.head(key)?.byteCount, equals: Int64(key.utf8.count))
        try expect(bucket.keys(), equals: [key])
        try expect(bucket.delete([key]).deletedCount, equals: 1)
        try expect(bucket.keys(), equals: [])
    }

    @Test(arguments: buckets, ["x//y", "trailing/"])
    func `a bucket's key need not be a path`(_ subject: ContractSubject, _ key: String) throws {
        try `a key is any text`(subject, key)
    }

    @Test(arguments: pathless + [".scratch/a", String(repeating: "n", count: 256)])
    func `under a key that is no path a directory has nothing, and takes nothing`(
        _ key: String
    ) throws {
        let storage = try ContractSubject.directory.bucket()
        try expect(storage.head(key) == nil)
        try expect(storage.bytes(key, ReadRequest(byteCountMax: 1)).outcome, equals: .missing)
        expectRefusal(.unsupported) { try storage.put(key, body("a"), .object) }
        try expect(storage.delete([key]).deletedCount, equals: 1)
        try expect(storage.keys(), equals: [])
    }

    @Test(arguments: subjects)
    func `a key has up to 1,024 bytes with its prefix`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        let prefix = (bucket as? S3Storage)?.location.key("").utf8.count ?? 0
        // In a directory each name has 255 bytes at the most.
        let key = String((0..<1_024 - prefix).map { $0 % 200 == 199 && $0 < 1_000 ? "/" : "k" })
        try bucket.write(key, "a")
        try expect(bucket.text(key), equals: "a")
        try expect(bucket.keys(), equals: [key])
    }

    @Test(arguments: subjects)
    func `keys that differ in case are two`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("Key", "upper")
        try bucket.write("key", "lower")
        try expect(bucket.text("Key"), equals: "upper")
        try expect(bucket.keys(), equals: ["Key", "key"])
    }

    @Test(arguments: subjects)
    func `a file was written before the server's now`(_ subject: ContractSubject) throws {
        let bucket = try subject.bucket()
        try bucket.write("o", "a")
        let file = try require(try bucket.head("o"))
        expect(file.modifiedAt <= file.answeredAt && file.answeredAt - file.modifiedAt < 60)
        let page = try bucket.list(ListRequest(prefix: ""))
        expect(abs(page.answeredAt - file.answeredAt) < 60)
        expect(page.files.first?.modifiedAt, equals: file.modifiedAt)
    }

    // MARK: create-only

    @Test(arguments: subjects, [("a", "b"), ("a", "a"), ("a", ""), ("", "b")])
    func `a create-only put creates, and never replaces, not even by the same bytes`(
        _ subject: ContractSubject, _ texts: (String, String)
    ) throws {
        let bucket = try subject.bucket()
        try expect(bucket.putIfAbsent("log/1", body(texts.0), .logEntry).isStored)
        try expect(
            bucket.putIfAbsent("log/1", body(texts.1), .logEntry), equals: .conditionFailed)
        try expect(bucket.text("log/1"), equals: texts.0)
        // What was deleted can be created again.
        _ = try bucket.delete(["log/1"])
        try expect(bucket.putIfAbsent("log/1", body(texts.1), .logEntry).isStored)
        try expect(bucket.text("log/1"), equals: texts.1)
    }

    @Test(arguments: subjects)
    func `of eight that create one file, one does`(_ subject: ContractSubject) throws {
        for round in 0..<5 {
            let bucket = try subject.bucket()
            try race(8, for: "log/\(round)", in: bucket) { (body) throws(StoreError) in
                try bucket.putIfAbsent("log/\(round)", body, .logEntry)
            }
        }
    }

    // MARK: by tag

    @Test(arguments: subjects)
    func `a put by the right tag replaces, by another it does nothing, and it never creates`(
        _ subject: ContractSubject
    ) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        func put(_ text: String, _ tag: EntityTag) throws -> WriteOutcome {
            try bucket.putIf("c", body(text), .pointer, matching: tag, spelling)
        }
        let old = try bucket.write("c", "1")
        try expect(put("2", old).isStored)
        try expect(put("3", old), equals: .conditionFailed)
        try expect(bucket.text("c"), equals: "2")
        let tag = try bucket.write("c", "4")
        _ = try bucket.delete(["c"])
        try expect(put("5", tag), equals: .conditionFailed)
        try expect(bucket.head("c") == nil)
    }

    @Test(arguments: subjects)
    func `of four that replace by one tag, one does`(_ subject: ContractSubject) throws {
        let (bucket, spelling) = (try subject.bucket(), try subject.spelling())
        let tag = try bucket.write("c", "0")
        try race(4, for: "c", in: bucket) { (body) throws(StoreError) in
            try bucket.putIf("c", body, .pointer, matching: tag, spelling)
        }
    }

    /// Lets so many write a file at once, of whom one wins.
    private func race(
        _ count: Int, for key: String, in bucket: any ObjectStorage,
        _ write: @escaping @Sendable (StorageBody) throws(StoreError) -> WriteOutcome
    ) throws {
        let winners = Mutex<[Int]>([])
        try Parallel.run(workers: count, count: count, chunk: 1) { (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                for index in chunk {
                    switch try write(StorageBody(Array("writer \(index)".utf8))) {
                    case .stored: winners.withLock { $0.append(index) }
                    case .conditionFailed, .conflict: break
                    case let other: throw StoreError(.bucketAnswer, "\(other)")
                    }
                }
            }
        }
        let won = winners.withLock { $0 }
        expect(won.count, equals: 1)
        try expect(bucket.text(key), equals: "writer \(won.first ?? -1)")
    }
}
