import BucketTestSupport

/// Listings of a store that means harm.
@Suite struct EndlessListTests {
    private func page(_ keys: [String], next: String?) -> ListPage {
        ListPage(
            files: keys.map {
                ListedFile(key: $0, byteCount: 1, tag: EntityTag("t"), modifiedAt: 0)
            }, next: next, answeredAt: 0)
    }

    private func refuses(_ list: @escaping @Sendable (ListRequest) -> ListPage) {
        var bucket = LyingStorage(ModelStorage(ModelStore()))
        bucket.listing = list
        expectRefusal(.bucketAnswer) {
            try bucket.listAll("", pageCountMax: 500) { (_) throws(StoreError) in true }
        }
    }

    @Test func `a token that repeats ends a listing`() {
        refuses { _ in page([], next: "again") }
    }

    @Test func `tokens that take turns end a listing`() {
        refuses { page([], next: $0.token == "a" ? "b" : "a") }
    }

    @Test func `keys that come again end a listing`() {
        refuses { page(["a", "b"], next: ($0.token ?? "") + "x") }
        refuses { page(["b", "a"], next: ($0.token ?? "") + "x") }
    }

    @Test func `keys without an end end a listing`() {
        refuses { request in
            let number = (request.token.flatMap { Int($0) } ?? 1_000_000) + 1
            return page(["\(number)"], next: "\(number)")
        }
    }
}
