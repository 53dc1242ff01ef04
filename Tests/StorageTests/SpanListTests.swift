import BucketTestSupport

/// Listings from several places at once.
@Suite struct SpanListTests {
    private static let digits = Array("0123456789abcdef").map(String.init)
    private static let spans = [KeySpan(upTo: "log/"), KeySpan(after: "log0")]

    /// Objects under all first digits, in two places, and keys at and around the places of cuts.
    private func store(objectCount: Int, page: Int) -> (ModelStore, Set<String>) {
        var dialect = ModelDialect()
        dialect.pageCountMax = page
        let store = ModelStore(dialect)
        var keys: Set<String> = [
            "a", "channels.json", "log", "log/", "log0x", "origin.json", "zz/é",
        ]
        for root in ["objects/", "e/3/objects/"] {
            for number in 0..<objectCount {
                keys.insert("\(root)\(Self.digits[number % 16])/\(number)")
            }
            for digit in Self.digits { keys.insert(root + digit) }
        }
        for key in keys { store.set(key, [1]) }
        store.set("log/1", [1])
        return (store, keys)
    }

    private func cuts(_ last: String) -> [String] {
        ["objects/", "e/3/objects/"].flatMap { root in Self.digits.map { root + $0 } }
    }

    @Test(arguments: [1, 3, 128], [1, 7, 1_000])
    func `every key of the spans comes once, however many requests are made at once`(
        parallelCount: Int, page: Int
    ) throws {
        let (store, keys) = store(objectCount: 20, page: page)
        let bucket = WideStorage(base: ModelStorage(store), parallelCount: parallelCount)
        var seen: [String] = []
        try bucket.list(Self.spans, cutAt: cuts) { (files) throws(StoreError) in
            seen += files.map(\.key)
        }
        expect(seen.count == keys.count && Set(seen) == keys)
        // Two spans, a request for each page, and at most one more for each cut.
        let pageCount = (keys.count + page - 1) / page + 2
        expect(bucket.figures.requestCount <= pageCount + 16)
        if parallelCount == 1 { expect(bucket.figures.requestCount <= pageCount) }
    }

    @Test func `a listing of one page takes one request for each span`() throws {
        let (store, _) = store(objectCount: 40, page: 1_000)
        let bucket = WideStorage(base: ModelStorage(store), parallelCount: 16)
        try bucket.list(Self.spans, cutAt: cuts) { (_) throws(StoreError) in }
        expect(bucket.figures.requestCount, equals: 2)
    }

    @Test func `up to sixteen pages are asked for at once`() throws {
        let (store, _) = store(objectCount: 160, page: 4)
        let now = Atomic<Int>(0)
        let most = Atomic<Int>(0)
        let asked = Atomic<Int>(0)
        let bucket = WideStorage(
            base: ModelStorage(
                store, afterEach: { _ in now.subtract(1, ordering: .relaxed) },
                schedule: { _ in
                    let count = now.add(1, ordering: .relaxed).newValue
                    most.max(count, ordering: .relaxed)
                    asked.add(1, ordering: .relaxed)
                    return .answered
                }), parallelCount: 128)
        try bucket.list(Self.spans, cutAt: cuts) { (_) throws(StoreError) in }
        expect((1...16).contains(most.load(ordering: .relaxed)))
        expect(asked.load(ordering: .relaxed) <= 366 / 4 + 3 + 16)
    }

    @Test
    func `a failure of one page is thrown, and a store that lists in circles is given up`() throws {
        let (store, _) = store(objectCount: 100, page: 10)
        let failing = WideStorage(
            base: ModelStorage(store, schedule: { $0.number == 9 ? .dropped : .answered }),
            parallelCount: 16)
        expectRefusal(StoreError.Code("network")) {
            try failing.list(Self.spans, cutAt: cuts) { (_) throws(StoreError) in }
        }
        var lying = LyingStorage(ModelStorage(store))
        lying.listing = { ListPage(["m"], next: ($0.token ?? "") + "x") }
        expectRefusal(.bucketAnswer) {
            try lying.list(Self.spans, cutAt: cuts) { (_) throws(StoreError) in }
        }
    }

    @Test func `what a store shows beside the span does not count`() throws {
        let (store, _) = store(objectCount: 1, page: 10)
        var lying = LyingStorage(ModelStorage(store))
        lying.listing = { _ in ListPage(["a", "m", "z"]) }
        var seen: [String] = []
        try lying.list([KeySpan(after: "b", upTo: "n")], cutAt: cuts) {
            (files) throws(StoreError) in seen += files.map(\.key)
        }
        expect(seen, equals: ["m"])
    }
}
