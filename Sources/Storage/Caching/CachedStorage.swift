package import Platform
import Synchronization

/// A file of a storage that is named by its bytes, so it never changes.
package struct NamedFile: Sendable, Hashable {
    /// Where the storage has it.
    package let key: String
    /// Where its copy stands, wherever the storage has it.
    package let name: String
    /// The SHA-256 of its bytes.
    package let address: ObjectID
    /// How many bytes; `nil` if nobody says it.
    package let byteCount: Int64?
    /// The most that it can have.
    package let byteCountMax: Int64

    /// Makes one.
    package init(
        _ key: String, name: String, _ address: ObjectID, byteCount: Int64? = nil,
        byteCountMax: Int64
    ) {
        self.key = key
        self.name = name
        self.address = address
        self.byteCount = byteCount
        self.byteCountMax = byteCountMax
    }

    /// Its tag: equal names, equal bytes.
    var tag: EntityTag { EntityTag(address.description) }
}

/// A storage over another one, whose files it keeps in a directory once they were read.
///
/// Files that are named by their bytes come when they are asked for, each once, however many ask; they are compared with
/// their names before they have them, and so is what an earlier process has left, before it counts. When there is too much,
/// what was used longest ago goes first, and nothing that a ``CacheHold`` names. All else is asked of the storage
/// below each time; of files that change the owner says which of their bytes are kept (``keep(_:_:_:)``).
///
/// Nothing is synced: what a power cut tears is found by its digest. The disk is never touched under the lock that is taken for
/// every look-up. Several threads may use it at once.
package final class CachedStorage: ObjectStorage {
    /// How a cache is kept.
    package struct Options: Sendable {
        /// The most bytes of files on the disk; what has to stay counts, and stays.
        package var byteCount: Int64 = 10 << 30
        /// A file that has kept somebody waiting so long and did not come is asked for beside, in milliseconds.
        package var patience: Int64 = 2_000
        /// Told what an operator should know.
        package var notice: @Sendable (String) -> Void = { _ in }
        /// A clock that never goes back, in milliseconds.
        package var clock: @Sendable () -> Int64 = { SystemClock.milliseconds }
        /// What a key means; `nil` for files that change.
        package var naming: @Sendable (String) -> NamedFile? = { _ in nil }
        /// Files that are there if anything is: they tell whether the storage below is reached.
        package var sentinels: [String] = []
        /// Says an error of the disk in the words of the cache's owner.
        package var advise: @Sendable (StoreError) -> StoreError = { $0 }

        /// Makes the usual options.
        package init() {}
    }

    struct State: Sendable {
        var copies = CopyIndex()
        var documents: [String: KeptDocument] = [:]
        /// What of them the next start knows.
        var noted: [String: KeptDocument] = [:]
        /// By the files where they are asked for: elsewhere the same file may not be there.
        var fetches: [NamedFile: Fetch] = [:]
    }

    /// The storage below.
    package let base: any ObjectStorage
    /// What the storage below does not give.
    package let negatives: NegativeCache
    let copies: DirectoryStorage
    let options: Options
    let state = Mutex(State())
    /// What is on the disk and what is known of it change together, one after the other.
    let turn = ThreadGate(limit: 1)
    /// Lets so many clients' requests pass at once: others are kept for what changes.
    let gate: ThreadGate
    let gateCount: Int
    /// Lets requests pass for what nobody knows to be there.
    let strays = ThreadGate(limit: strayCount)

    static let strayCount = 2
    private static let keptCount = 4

    /// - Parameter copies: the directory, which is nobody else's.
    package init(_ base: any ObjectStorage, in copies: DirectoryStorage, _ options: Options) {
        self.base = base
        self.copies = copies
        self.options = options
        gateCount = max(base.parallelCount - Self.keptCount, 1)
        gate = ThreadGate(limit: gateCount)
        negatives = NegativeCache(base, options)
    }

    // MARK: Reading

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        guard let file = options.naming(key) else { return try base.get(key, request, take) }
        let hold = pin([file.name])
        defer { withExtendedLifetime(hold) {} }
        // Once more: somebody may have emptied the directory.
        for _ in 0..<2 {
            if try !proves(file) {
                if negatives.isMissing(key) { return .missing }
                do throws(StoreError) { try fetch([file], .needed) } catch {
                    // What has other bytes than its name says is not there either.
                    if error.code == .missingFromBucket { return .missing }
                    throw error
                }
            }
            if request.unlessTag == file.tag { return .notModified }
            let own = ReadRequest(range: request.range, byteCountMax: request.byteCountMax)
            switch try copies.get(file.name, own, take) {
            case .found(var found):
                found.tag = file.tag
                return .found(found)
            case .missing: try drop(file.name)
            case let other: return other
            }
        }
        return .missing
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? {
        var found = try base.head(key)
        if let file = options.naming(key) { found?.tag = file.tag }
        return found
    }

    // MARK: The storage below

    package var place: String { base.place }
    package var identity: String { base.identity }
    package var parallelCount: Int { base.parallelCount }
    package var figures: StorageFigures { base.figures }
    package var knownTags: TagSpelling? { base.knownTags }

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        negatives.forgetMissing(key)
        return try base.put(key, body, fields)
    }

    package func putIfAbsent(
        _ key: String, _ body: StorageBody, _ fields: StoredFields
    ) throws(StoreError) -> WriteOutcome {
        negatives.forgetMissing(key)
        return try base.putIfAbsent(key, body, fields)
    }

    package func putIf(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, matching tag: EntityTag,
        _ spelling: TagSpelling
    ) throws(StoreError) -> WriteOutcome {
        try base.putIf(key, body, fields, matching: tag, spelling)
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        try base.list(request)
    }

    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        for key in keys { if let file = options.naming(key) { try drop(file.name) } }
        return try base.delete(keys)
    }

    package func openUploads() throws(StoreError) -> OpenUploads? { try base.openUploads() }
    package func abort(_ upload: OpenUpload) throws(StoreError) { try base.abort(upload) }
    package func barrier() throws(StoreError) { try base.barrier() }
}
