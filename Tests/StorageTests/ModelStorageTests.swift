import BucketTestSupport

@Suite struct ModelStorageTests {
    private let store = ModelStore()

    private func bucket(
        _ actor: String = "one", _ schedule: @escaping RequestSchedule = { _ in .answered }
    ) -> ModelStorage {
        ModelStorage(store, actor: actor, schedule: schedule)
    }

    private func text(_ key: String) -> String? {
        store.files[key].map { String(decoding: $0.bytes, as: UTF8.self) }
    }

    @Test func `a lost answer: written, and nobody knows`() throws {
        let one = bucket { _ in .lostAnswer }
        let outcome = try one.putIfAbsent("log/1", body("a"), .logEntry)
        expect(!outcome.isStored && text("log/1") == "a")
        #expect(throws: StoreError.self) { try one.head("log/1") }
    }

    @Test func `a dropped request: not written, and nobody knows`() throws {
        let outcome = try bucket { _ in .dropped }.put("o", body("a"), .object)
        expect(!outcome.isStored && text("o") == nil && store.ghostCount == 0)
    }

    @Test func `a ghost is written before a later request`() throws {
        let one = bucket { $0.number == 1 ? .ghost(requests: 2) : .answered }
        _ = try one.put("channels/a.json", body("old"), .pointer)
        _ = try one.put("channels/a.json", body("new"), .pointer)
        expect(text("channels/a.json"), equals: "new")
        _ = try one.head("x")
        expect(text("channels/a.json"), equals: "old")
    }

    @Test func `a ghost finds its number taken`() throws {
        let one = bucket { $0.number == 1 ? .ghost(requests: 9) : .answered }
        _ = try one.putIfAbsent("log/1", body("late"), .logEntry)
        try expect(bucket("two").putIfAbsent("log/1", body("b"), .logEntry).isStored)
        store.applyGhosts()
        expect(text("log/1"), equals: "b")
    }

    @Test func `a stale read shows what was there before`() throws {
        let one = bucket { [.get, .head].contains($0.verb) ? .stale : .answered }
        _ = try one.put("log/1", body("a"), .logEntry)
        try expect(one.head("log/1") == nil)
        _ = try one.put("log/1", body("b"), .logEntry)
        try expect(one.bytes("log/1", ReadRequest(byteCountMax: 9)).bytes, equals: Array("a".utf8))
    }

    @Test func `a stale listing misses the last change, another one key`() throws {
        let one = bucket()
        for key in ["a", "b", "c"] { _ = try one.put(key, body(key), .object) }
        let stale = bucket("two") { _ in .stale }
        try expect(stale.list(ListRequest(prefix: "")).files.map(\.key), equals: ["a", "b"])
        let missing = bucket("three") { _ in .unlisted("b") }
        try expect(missing.list(ListRequest(prefix: "")).files.map(\.key), equals: ["a", "c"])
        try expect(one.list(ListRequest(prefix: "")).files.map(\.key), equals: ["a", "b", "c"])
    }

    @Test(arguments: [true, false])
    func `an actor that ends makes no further request`(_ isApplied: Bool) throws {
        let one = bucket { $0.number == 2 ? .end(isApplied: isApplied) : .answered }
        _ = try one.head("x")
        #expect(throws: StoreError.self) { try one.put("o", body("a"), .object) }
        #expect(throws: StoreError.self) { try one.head("x") }
        expect((text("o") != nil), equals: isApplied)
        expect(store.requestCount, equals: 2)
        try expect(bucket("two").head("x") == nil)
    }

    @Test func `requests are numbered by actor, and told after each`() throws {
        let seen = Mutex<[ModelRequest]>([])
        let told: @Sendable (ModelRequest) -> Void = { request in
            seen.withLock { $0.append(request) }
        }
        let one = ModelStorage(store, actor: "one", afterEach: told)
        let two = ModelStorage(store, actor: "two", afterEach: told)
        _ = try one.head("a")
        _ = try two.put("b", body("b"), .object)
        _ = try one.delete(["b"])
        expect(
            seen.withLock { $0.map(\.description) },
            equals: ["one 1: head a", "two 1: put b", "one 2: delete b"])
    }

    @Test func `times are the store's`() throws {
        let one = bucket()
        _ = try one.put("a", body("a"), .object)
        store.clock.advance(60)
        let file = try require(try one.head("a"))
        expect(file.answeredAt - file.modifiedAt, equals: 60)
    }

    @Test func `who may not list cannot tell a missing key from a forbidden one`() throws {
        let reader = ModelStorage(store, rights: [.get])
        #expect(throws: StoreError.self) { try reader.head("missing") }
        #expect(throws: StoreError.self) { try reader.list(ListRequest(prefix: "")) }
        #expect(throws: StoreError.self) { try reader.put("a", body("a"), .object) }
        try expect(reader.delete(["a"]).refused.count, equals: 1)
    }

    @Test func `a full store takes nothing more`() throws {
        var dialect = ModelDialect()
        dialect.byteCountMax = 3
        let one = ModelStorage(ModelStore(dialect))
        _ = try one.put("a", body("abc"), .object)
        expectRefusal(.outOfSpace) { try one.put("b", body("d"), .object) }
    }
}
