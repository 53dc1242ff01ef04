package import Platform

extension ObjectStorage {
    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome { try put(key, body, fields, if: .none) }

    package func putIfAbsent(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome { try put(key, body, fields, if: .absent) }

    package func putIf(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, matching tag: EntityTag,
        _ spelling: TagSpelling
    ) throws(StoreError) -> WriteOutcome {
        try put(key, body, fields, if: .matching(tag, spelling))
    }

    /// Reads a file that fits in memory.
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

    /// The bytes of a file that fits in memory; `nil` if there is none.
    /// - Throws: also `.tooLarge` beyond `limit` bytes.
    package func contents(
        _ key: String, limit: some BinaryInteger
    ) throws(StoreError) -> [UInt8]? {
        let (outcome, bytes) = try bytes(key, ReadRequest(byteCountMax: Int64(limit)))
        if case .found = outcome { return bytes }
        return nil
    }

    /// The address of a file's bytes; `nil` if there is none.
    /// - Parameter take: gets the bytes, piece by piece.
    package func address(
        of key: String, limit: Int64, _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ObjectID? {
        var digester = try Digester(.sha256)
        let outcome = try get(key, ReadRequest(byteCountMax: limit)) { (piece) throws(StoreError) in
            digester.update(piece)
            try take(piece)
        }
        guard case .found = outcome else { return nil }
        return digester.finish { ObjectID(unchecked: $0) }
    }

    package func forEachFile(
        below prefix: String, _ body: (ListedFile) throws(StoreError) -> Void
    ) throws(StoreError) {
        try listAll(prefix) { (page) throws(StoreError) in
            for file in page.files { try body(file) }
            return true
        }
    }

    /// All keys below a prefix, page by page, until `take` returns `false`.
    /// - Parameters:
    ///   - countMax: the most keys of a page.
    ///   - pageCountMax: a listing with more pages counts as endless.
    /// - Throws: also `.bucketAnswer` if a page does not lead on, as its keys are not after those of the page before,
    ///   or its token is the same; if there is no key in 1,000 pages, or no end after `pageCountMax`.
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
    /// A real bucket limits the requests under way: 16 first, half after a 503 SlowDown, one more after 100 successes.
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
