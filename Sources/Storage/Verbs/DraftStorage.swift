package import Platform
import Synchronization

/// A storage for dry runs: writes go to memory, and the storage below, if any, does not change.
package final class DraftStorage: ObjectStorage {
    package let place: String
    private let base: (any ObjectStorage)?
    private let changes = Mutex<[String: [UInt8]?]>([:])

    package init(over base: any ObjectStorage) {
        (place, self.base) = (base.place, base)
    }

    package init(emptyAt place: String) { (self.place, base) = (place, nil) }

    package var identity: String { base?.identity ?? place }
    package var parallelCount: Int { base?.parallelCount ?? 1 }
    package var figures: StorageFigures { base?.figures ?? StorageFigures() }
    package var isOnDisk: Bool { base?.isOnDisk ?? true }

    package var work: WorkDirectory? {
        var work = base?.work
        work?.isWritable = false
        return work
    }

    private func change(_ key: String) -> [UInt8]?? { changes.withLock { $0[key] } }

    private static func file(_ bytes: [UInt8]) throws(StoreError) -> StoredFile {
        let tag = EntityTag(try StorageBody(bytes).address.description)
        let now = secondsNow()
        return StoredFile(byteCount: Int64(bytes.count), tag: tag, modifiedAt: now, answeredAt: now)
    }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        guard let change = change(key) else { return try base?.get(key, request, take) ?? .missing }
        guard let bytes = change else { return .missing }
        let file = try Self.file(bytes)
        if request.unlessTag == file.tag { return .notModified }
        let range = request.range ?? 0..<file.byteCount
        guard request.range == nil || range.lowerBound < file.byteCount else { return .beyondEnd }
        let part = range.clamped(to: 0..<file.byteCount)
        guard part.count <= request.byteCountMax else {
            throw StoreError(.tooLarge, "\(printable(key)) has \(part.count) bytes")
        }
        let wanted = bytes[Int(part.lowerBound)..<Int(part.upperBound)]
        try wanted.span.bytes.withUnsafeBytes { (piece) throws(StoreError) in try take(piece) }
        return .found(file)
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? {
        guard let change = change(key) else { return try base?.head(key) }
        guard let bytes = change else { return nil }
        return try Self.file(bytes)
    }

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        switch condition {
        case .none: break
        case .absent: guard try head(key) == nil else { return .conditionFailed }
        case .matching(let tag, _):
            guard try head(key)?.tag == tag else { return .conditionFailed }
        }
        let bytes = try body.bytes(POSIXFileSystem())
        changes.withLock { $0[key] = .some(bytes) }
        return .stored(try Self.file(bytes).tag)
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        var page =
            try base?.list(request)
            ?? ListPage(files: [], next: nil, answeredAt: secondsNow())
        // Changes are few; those of a page are between its beginning and its end.
        let start = [request.startAfter, request.token].compactMap(\.self).max(by: Self.precedes)
        let changes = changes.withLock { $0 }.filter { (key, _) in
            key.hasPrefix(request.prefix) && start.map { Self.precedes($0, key) } ?? true
                && (page.next == nil || page.files.last.map { !Self.precedes($0.key, key) } ?? true)
        }
        page.files.removeAll { changes[$0.key] != nil }
        for case (let key, let bytes?) in changes {
            let file = try Self.file(bytes)
            page.files.append(
                ListedFile(
                    key: key, byteCount: file.byteCount, tag: file.tag,
                    modifiedAt: file.modifiedAt))
        }
        page.files.sort { Self.precedes($0.key, $1.key) }
        return page
    }

    private static func precedes(_ left: String, _ right: String) -> Bool {
        left.utf8.lexicographicallyPrecedes(right.utf8)
    }

    package func delete(_ keys: [String]) -> DeleteOutcome {
        var outcome = DeleteOutcome()
        changes.withLock { for key in keys { $0[key] = .some(nil) } }
        outcome.deletedCount = keys.count
        return outcome
    }

    package func openUploads() throws(StoreError) -> OpenUploads? { try base?.openUploads() }
    package func abort(_ upload: OpenUpload) {}
}

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
