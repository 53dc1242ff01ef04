package import Platform

/// A storage that forwards the verbs it does not define to another one.
package protocol ForwardingStorage: ObjectStorage {
    var base: any ObjectStorage { get }
}

extension ForwardingStorage {
    package var place: String { base.place }
    package var identity: String { base.identity }
    package var parallelCount: Int { base.parallelCount }
    package var figures: StorageFigures { base.figures }
    package var isOnDisk: Bool { base.isOnDisk }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome { try base.get(key, request, take) }

    package func head(_ key: String) throws(StoreError) -> StoredFile? { try base.head(key) }

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome { try base.put(key, body, fields, if: condition) }

    package func putAll(
        _ files: [OutgoingFile],
        open: @escaping @Sendable (Int) throws(StoreError) -> Descriptor?,
        done: @escaping @Sendable (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError) { try base.putAll(files, open: open, done: done) }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        try base.list(request)
    }

    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        try base.delete(keys)
    }

    package func openUploads() throws(StoreError) -> OpenUploads? { try base.openUploads() }
    package func abort(_ upload: OpenUpload) throws(StoreError) { try base.abort(upload) }
    package func barrier() throws(StoreError) { try base.barrier() }
}
