import BucketTestSupport

/// Listings of a store that means harm.
@Suite struct EndlessListTests {
    private static let lies: [String: @Sendable (ListRequest) -> ListPage] = [
        "a token that repeats": { _ in ListPage([], next: "again") },
        "tokens that take turns": { ListPage([], next: $0.token == "a" ? "b" : "a") },
        "keys that come again": { ListPage(["a", "b"], next: ($0.token ?? "") + "x") },
        "keys that come back": { ListPage(["b", "a"], next: ($0.token ?? "") + "x") },
        "keys without an end": { request in
            let number = (request.token.flatMap { Int($0) } ?? 1_000_000) + 1
            return ListPage(["\(number)"], next: "\(number)")
        },
    ]

    @Test(arguments: lies.keys.sorted())
    func `a listing that leads nowhere is ended`(_ lie: String) throws {
        var bucket = LyingStorage(ModelStorage(ModelStore()))
        bucket.listing = try require(Self.lies[lie])
        expectRefusal(.bucketAnswer) {
            try bucket.listAll("", pageCountMax: 500) { (_) throws(StoreError) in true }
        }
    }
}
