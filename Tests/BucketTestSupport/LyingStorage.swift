extension ListPage {
    /// A page that somebody makes up.
    package init(_ keys: [String], next: String? = nil) {
        self.init(
            files: keys.map {
                ListedFile(key: $0, byteCount: 1, tag: EntityTag("t"), modifiedAt: 0)
            }, next: next, answeredAt: 0)
    }
}

/// A bucket whose answers to some requests are whatever a test makes of them.
package struct LyingStorage: ForwardingStorage {
    package let base: any ObjectStorage
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
    /// Whether it says that it is a directory.
    package var isOnDisk = false

    /// Lies about nothing yet.
    package init(_ honest: ModelStorage) { base = honest }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        guard let bytes = content(key) else { return try base.get(key, request, take) }
        guard Int64(bytes.count) <= request.byteCountMax else {
            throw StoreError(.tooLarge, "reading \(key) failed: it is too large")
        }
        try bytes.span.bytes.withUnsafeBytes { (part) throws(StoreError) in try take(part) }
        return .found(
            StoredFile(byteCount: Int64(bytes.count), tag: tag, modifiedAt: 0, answeredAt: 0))
    }

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        let isCreation = condition == .absent
        let outcome = try base.put(
            key, body, fields, if: isCreation && overwrites ? .none : condition)
        return isCreation && refusesCreations ? .conditionFailed : outcome
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        if let page = listing(request) { return page }
        return try base.list(request)
    }
}
