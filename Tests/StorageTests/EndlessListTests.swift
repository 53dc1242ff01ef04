import BucketTestSupport

/// Listings of a store that means harm.
@Suite struct EndlessListTests {
    private func refuses(_ list: @escaping @Sendable (ListRequest) -> ListPage) {
        var bucket = LyingStorage(ModelStorage(ModelStore()))
        bucket.listing = list
        expectRefusal(.bucketAnswer) {
            try bucket.listAll("", pageCountMax: 500) { (_) throws(StoreError) in true }
        }
    }

    @Test func `a token that repeats ends a listing`() {
        refuses { _ in ListPage([], next: "again") }
    }

    @Test func `tokens that take turns end a listing`() {
        refuses { ListPage([], next: $0.token == "a" ? "b" : "a") }
    }

    @Test func `keys that come again end a listing`() {
        refuses { ListPage(["a", "b"], next: ($0.token ?? "") + "x") }
        refuses { ListPage(["b", "a"], next: ($0.token ?? "") + "x") }
    }

    @Test func `keys without an end end a listing`() {
        refuses { request in
            let number = (request.token.flatMap { Int($0) } ?? 1_000_000) + 1
            return ListPage(["\(number)"], next: "\(number)")
        }
    }
}
