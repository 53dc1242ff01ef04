@_exported public import S3
@_exported public import Storage
@_exported public import StorageTestSupport

/// A bucket in memory whose every request may ask a schedule what happens to it.
///
/// One for each actor; the files are in the ``ModelStore`` that they share. A verb is one request: what
/// a real bucket repeats, the schedule lets fail for good.
package final class ModelStorage: ObjectStorage {
    package let store: ModelStore
    package let actor: String
    private let rights: ModelRights
    private let schedule: RequestSchedule
    /// Called after each request, outside of all locks: for invariants.
    private let afterEach: @Sendable (ModelRequest) -> Void
    private let hasEnded = Mutex(false)
    private let counts = Mutex(StorageFigures())

    package init(
        _ store: ModelStore, actor: String = "one", rights: ModelRights = .all,
        afterEach: @escaping @Sendable (ModelRequest) -> Void = { _ in },
        schedule: @escaping RequestSchedule = { _ in .answered }
    ) {
        self.store = store
        self.actor = actor
        self.rights = rights
        self.afterEach = afterEach
        self.schedule = schedule
    }

    package var place: String { store.place }
    package var parallelCount: Int { 1 }
    package var figures: StorageFigures { counts.withLock { $0 } }

    // MARK: reads

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        let fate = try begin(.get, key)
        defer { afterEach(fate.request) }
        try read(fate)
        guard let file = try file(key, fate) else { return .missing }
        if let tag = request.unlessTag, tag == file.tag { return .notModified }
        let size = Int64(file.bytes.count)
        var range = 0..<file.bytes.count
        if let wanted = request.range {
            guard wanted.lowerBound < size else { return .beyondEnd }
            range = Int(wanted.lowerBound)..<Int(min(wanted.upperBound, size))
        }
        guard Int64(range.count) <= request.byteCountMax else {
            throw StoreError(.tooLarge, "\(key) has more bytes than allowed")
        }
        counts.withLock { $0.receivedByteCount += Int64(range.count) }
        var part = Array(file.bytes[range])
        if fate.fate == .turned, !part.isEmpty { part[part.count / 2] ^= 1 }
        // In two pieces, as from a network.
        let middle = part.count / 2
        for piece in [part[..<middle], part[middle...]] where !piece.isEmpty {
            try piece.span.bytes.withUnsafeBytes { (bytes) throws(StoreError) in try take(bytes) }
        }
        return .found(described(file))
    }

    package func head(_ key: String) throws(StoreError) -> StoredFile? {
        let fate = try begin(.head, key)
        defer { afterEach(fate.request) }
        try read(fate)
        return try file(key, fate).map(described)
    }

    package func list(_ request: ListRequest) throws(StoreError) -> ListPage {
        let fate = try begin(.list, request.prefix)
        defer { afterEach(fate.request) }
        try read(fate)
        guard rights.contains(.list) else { throw denied("list") }
        var hidden: String?
        if case .unlisted(let key) = fate.fate { hidden = key }
        var keys = store.listing(isStale: fate.fate == .stale, without: hidden)
            .filter { $0.key.utf8.starts(with: request.prefix.utf8) }
        for start in [request.startAfter, request.token].compactMap(\.self) {
            keys.removeAll { !start.utf8.lexicographicallyPrecedes($0.key.utf8) }
        }
        let page = keys.prefix(max(1, min(request.countMax, store.dialect.pageCountMax)))
        return ListPage(
            files: page.map {
                ListedFile(
                    key: $0.key, byteCount: Int64($0.file.bytes.count), tag: $0.file.tag,
                    modifiedAt: $0.file.modifiedAt)
            }, next: page.count < keys.count ? page.last?.key : nil, answeredAt: store.clock.now)
    }

    // MARK: writes

    package func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome {
        let bytes = try body.bytes(POSIXFileSystem())
        let fate = try begin(ModelRequest.Verb(condition), key)
        defer { afterEach(fate.request) }
        guard rights.contains(.put) else { throw denied("put \(key)") }
        guard try Digester.digest(.sha256, of: bytes) == body.address.bytes else {
            throw StoreError(
                StoreError.Code("damagedObject"), "other bytes than \(body.address)",
                object: body.address)
        }
        let taken = store.files.values.reduce(Int64(bytes.count)) { $0 + Int64($1.bytes.count) }
        guard taken <= store.dialect.byteCountMax else {
            throw StoreError(.outOfSpace, "the quota of the model is used up")
        }
        counts.withLock { $0.sentByteCount += Int64(bytes.count) }
        return try apply(.put(key, bytes, ModelStore.tag(of: bytes), fields, condition), fate)
    }

    package func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome {
        precondition((1...1_000).contains(keys.count), "a deletion has 1 to 1,000 keys")
        let fate = try begin(.delete, keys[0])
        defer { afterEach(fate.request) }
        var outcome = DeleteOutcome()
        guard rights.contains(.delete) else {
            outcome.refused = keys.map { ($0, "AccessDenied") }
            return outcome
        }
        switch try apply(.delete(keys), fate) {
        case .stored: outcome.deletedCount = keys.count
        default: outcome.unknownCount = keys.count
        }
        return outcome
    }

    package func openUploads() throws(StoreError) -> OpenUploads? {
        let fate = try begin(.list, "?uploads")
        defer { afterEach(fate.request) }
        try read(fate)
        guard rights.contains(.list) else { throw denied("list uploads") }
        return OpenUploads(store.openUploads, answeredAt: store.clock.now)
    }

    package func abort(_ upload: OpenUpload) throws(StoreError) {
        let fate = try begin(.delete, "\(upload.key)?uploadId")
        defer { afterEach(fate.request) }
        guard rights.contains(.put) else { throw denied("abort an upload of \(upload.key)") }
        try read(fate)
        store.openUploads.removeAll { $0 == upload }
    }

    // MARK: fates

    private struct Asked {
        var request: ModelRequest
        var fate: RequestFate
        /// Counts the requests of all actors.
        var place: Int
    }

    private func begin(_ verb: ModelRequest.Verb, _ key: String) throws(StoreError) -> Asked {
        if hasEnded.withLock({ $0 }) { throw ended }
        let number = counts.withLock {
            $0.requestCount += 1
            return $0.requestCount
        }
        let request = ModelRequest(number: number, actor: actor, verb: verb, key: key)
        let fate = schedule(request)
        // The schedule may have let others go first: this is the order at the store.
        let place = store.nextNumber()
        store.applyGhosts(before: place)
        return Asked(request: request, fate: fate, place: place)
    }

    private func read(_ asked: Asked) throws(StoreError) {
        switch asked.fate {
        case .answered, .stale, .turned, .unlisted: return
        case .denied: throw denied("read \(asked.request.key)")
        case .lostAnswer, .dropped, .ghost:
            throw StoreError(StoreError.Code("network"), "no answer to \(asked.request)")
        case .end:
            hasEnded.withLock { $0 = true }
            throw ended
        }
    }

    private func apply(_ write: ModelStore.Write, _ asked: Asked) throws(StoreError)
        -> WriteOutcome
    {
        let unknown = WriteOutcome.unknown(UnknownWrite("no answer to \(asked.request)"))
        switch asked.fate {
        case .answered, .stale, .turned, .unlisted: return store.apply(write)
        case .denied: throw denied("write \(asked.request.key)")
        case .lostAnswer:
            _ = store.apply(write)
            return unknown
        case .dropped: return unknown
        case .ghost(let requests):
            store.keep(write, until: asked.place + max(requests, 1))
            return unknown
        case .end(let isApplied):
            if isApplied { _ = store.apply(write) }
            hasEnded.withLock { $0 = true }
            throw ended
        }
    }

    private var ended: StoreError { StoreError(.interrupted, "\(actor) has ended") }

    private func denied(_ what: String) -> StoreError {
        StoreError(.accessDenied, "\(actor) may not \(what)")
    }

    private func file(_ key: String, _ asked: Asked) throws(StoreError) -> ModelStore.File? {
        guard rights.contains(.get) else { throw denied("get \(key)") }
        let file = store.file(key, isStale: asked.fate == .stale)
        if file == nil, !rights.contains(.list) { throw denied("see whether \(key) is there") }
        return file
    }

    private func described(_ file: ModelStore.File) -> StoredFile {
        StoredFile(
            byteCount: Int64(file.bytes.count), tag: file.tag, modifiedAt: file.modifiedAt,
            answeredAt: store.clock.now)
    }
}
