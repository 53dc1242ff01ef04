package import Platform
package import Storage

/// A bucket whose answers to some requests are whatever a test makes of them.
package struct LyingStorage: ObjectStorage {
    private let honest: ModelStorage
    /// Answers a listing; `nil` leaves it to the honest one.
    package var listing: @Sendable (ListRequest) -> ListPage? = { _ in nil }
    /// Gives the bytes of a file; `nil` leaves it to the honest one.
    package var content: @Sendable (String) -> [UInt8]? = { _ in nil }
    /// The tag of what ``content`` gives.
    package var tag = EntityTag("lie")
    /// Whether what is there is overwritten by those who only want to create.
    package var overwrites = false
    /// Whether a creation is told as one that was too late.
    package var refusesCreations = false

    /// Lies about nothing yet.
    package init(_ honest: ModelStorage) { self.honest = honest }

    package var place: String { honest.place }
    package var parallelCount: Int { 1 }
    package var figures: StorageFigures { honest.figures }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        guard let bytes = content(key) else { return try honest.get(key, request, take) }
        guard Int64(bytes.count) <= request.byteCountMax else {
            throw StoreError(.tooLarge, "reading \(key) failed: it is too large")
        }
        let result = bytes.withUnsafeBytes { part -> Result<Void, StoreError> in
            do throws(StoreError) { return .success(try take(part)) } catch {
                return .failure(error)
            }
        }
        try result.get()
        return .found(
            StoredFile(byteCount: Int64(bytes.count), tag: tag, modifiedAt: 0, answeredAt: 0))
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? { try honest.head(key) }

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome { try honest.put(key, body, fields) }

    package func putIfAbsent(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        if overwrites { return try honest.put(key, body, fields) }
        let outcome = try honest.putIfAbsent(key, body, fields)
        return refusesCreations ? .conditionFailed : outcome
    }

    package func putIf(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, matching tag: EntityTag,
        _ spelling: TagSpelling
    ) throws(StoreError) -> WriteOutcome {
        try honest.putIf(key, body, fields, matching: tag, spelling)
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        if let page = listing(request) { return page }
        return try honest.list(request)
    }

    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        try honest.delete(keys)
    }

    package func openUploads() throws(StoreError) -> OpenUploads? { try honest.openUploads() }

    package func abort(_ upload: OpenUpload) throws(StoreError) { try honest.abort(upload) }
}
