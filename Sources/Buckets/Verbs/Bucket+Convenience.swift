package import Platform

extension Bucket {
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
        var request = ListRequest(prefix: prefix, startAfter: startAfter, countMax: countMax)
        var last: String?
        var (pageCount, emptyCount) = (0, 0)
        while true {
            let page = try list(request)
            for file in page.files {
                if let last, !last.utf8.lexicographicallyPrecedes(file.key.utf8) {
                    throw endless(prefix)
                }
                last = file.key
            }
            guard try take(page), let next = page.next else { return }
            pageCount += 1
            emptyCount = page.files.isEmpty ? emptyCount + 1 : 0
            // Pages without keys may follow each other, but not by the same token, and not for ever.
            guard next != request.token, emptyCount < 1_000, pageCount < pageCountMax else {
                throw endless(prefix)
            }
            request.token = next
        }
    }

    private func endless(_ prefix: String) -> StoreError {
        StoreError(
            .bucketAnswer,
            "\(place) lists \(printable(prefix)) without an end: its pages do not lead on")
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
