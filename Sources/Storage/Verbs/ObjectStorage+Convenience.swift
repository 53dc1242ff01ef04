package import Platform

extension ObjectStorage {
    /// Reads a file that is small enough for the memory.
    ///
    /// - Returns: the outcome, and the bytes if it is ``ReadOutcome/found(_:)``.
    package func bytes(
        _ key: String, _ request: ReadRequest
    ) throws(StoreError) -> (outcome: ReadOutcome, bytes: [UInt8]) {
        var bytes: [UInt8] = []
        let outcome = try get(key, request) { (part) throws(StoreError) in
            bytes.append(contentsOf: part)
        }
        return (outcome, bytes)
    }

    /// All keys below a prefix, page by page, until `take` returns `false`.
    ///
    /// - Parameters:
    ///   - countMax: the most keys of a page.
    ///   - pageCountMax: a listing with more pages has no end.
    /// - Throws: also `.bucketAnswer` if a page does not lead on: its keys are not after those of the
    ///   page before, or its token is the same; if there is no key in 1,000 pages, or no end after so many.
    package func listAll(
        _ prefix: String, startAfter: String? = nil, countMax: Int = 1_000,
        pageCountMax: Int = 100_000,
        _ take: (ListPage) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let request = ListRequest(prefix: prefix, startAfter: startAfter, countMax: countMax)
        var turner = PageTurner(request, pageCountMax: pageCountMax)
        while !turner.isAtEnd {
            guard try take(turner.turn(in: self)) else { return }
        }
    }

    /// Calls `body` with each index below `count`, on up to ``parallelCount`` threads.
    ///
    /// How many requests are really under way, a real bucket decides: 16 at first, half after each
    /// 503 SlowDown, one more after 100 that succeeded.
    /// - Throws: the first error of any call; the other threads then end with their current index.
    package func inParallel(
        _ count: Int, _ body: @escaping @Sendable (Int) throws(StoreError) -> Void
    ) throws(StoreError) {
        try Parallel.run(workers: max(parallelCount, 1), count: count, chunk: 1) {
            (work) throws(StoreError) in
            while let chunk = work.nextChunk() {
                for index in chunk { try body(index) }
            }
        }
    }
}
