package import Platform
import Synchronization

/// A place in an S3-compatible bucket: everything below one prefix.
///
/// The seam between the protocol of origins in buckets (the log, publishing, pruning) and the requests that carry it.
/// `S3Storage` is the real one; tests have one in memory. Keys are relative to the prefix: `log/0000000001.json`.
/// They are never encoded by the caller.
///
/// All verbs block their thread until the outcome is known or given up, and may be called from many threads at once.
/// A real bucket repeats a request (full jitter, 0.5 to 30 s, and `Retry-After`) up to eight times in a row; only
/// then a write is *unknown* and a read throws `.network`.
///
/// Every verb throws:
/// - `.accessDenied` if the keys, or the bucket's rights, do not allow it. Callers without the right to list are also
///   refused a missing key; if 403 means 404, the caller says so.
/// - `.noBucket` if there is no such bucket, `.outOfSpace` if a quota or the disk is full.
/// - `.credentials` if there are no keys to sign with, or they cannot be renewed.
/// - `.bucketAnswer` if the answer is not one of S3, or over a limit.
/// - `.network` if a read got no answer, or no try of a write was ever sent, so that the store is unchanged; for
///   other writes see ``WriteOutcome/unknown(_:)``.
/// - `.interrupted` if the caller stopped everything. A write under way then is unknown.
///
/// No message holds a secret key or a session token, and of an access key only its ends.
package protocol ObjectStorage: Sendable {
    /// Where it is, for messages.
    var place: String { get }

    /// Identifies it, however it was named.
    var identity: String { get }

    /// How many verbs are worth calling at once; 1 if order matters, as in tests.
    var parallelCount: Int { get }

    var figures: StorageFigures { get }

    /// Whether it is a directory of a disk, which is cheap to look at and read.
    ///
    /// Its listings are then complete, deletions are never late, all conditions hold, with quoted tags, and times are
    /// those of this machine. Otherwise none of this is known, and answers tell the time.
    var isOnDisk: Bool { get }

    /// Where files can be made before they are written; `nil` if the storage is elsewhere.
    var work: WorkDirectory? { get }

    /// Reads a file, or a range of it, and passes its bytes on as they come.
    /// - Parameter take: called with the bytes in order, none of them twice, even if a connection breaks in between.
    ///   What it throws ends the request and is thrown.
    /// - Returns: ``ReadOutcome/found(_:)`` after the last byte.
    /// - Throws: also `.tooLarge` if there are more bytes than `request.byteCountMax`.
    func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome

    /// Describes a file without reading it; `nil` if it is missing.
    func head(_ key: String) throws(StoreError) -> StoredFile?

    /// The sizes of files, in the order of their keys; `nil` for a missing one.
    /// - Parameter isInterrupted: asked on any thread; ends the call with `.interrupted`.
    func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?]

    /// Writes a file atomically, if the condition holds.
    ///
    /// The address is sent along, so that the store refuses other bytes, as S3 does; that is not tested, since
    /// readers verify. Without a condition, a body of more than 64 MiB goes in parts, and its size is checked.
    ///
    /// ``WriteOutcome/conditionFailed`` and ``WriteOutcome/conflict`` do not say whose file is there: it may be this
    /// very call's, by an earlier try. Without a condition the outcome is neither.
    /// - Throws: also `.damagedObject` if the body's bytes do not have its address.
    func put(
        _ key: String, _ body: StorageBody, _ fields: StoredFields, if condition: WriteCondition
    ) throws(StoreError) -> WriteOutcome

    /// Writes many files in parallel, each over whatever is there.
    ///
    /// If names can be given apart from bytes, one call makes all bytes durable before the first file gets its name.
    /// - Parameters:
    ///   - open: opens the bytes of a file, on any thread; `nil` leaves it out.
    ///   - done: told of each outcome, on any thread.
    /// - Throws: also what `open` and `done` throw; files of which `done` was told stay.
    func putAll(
        _ files: [OutgoingFile],
        open: @escaping @Sendable (Int) throws(StoreError) -> Descriptor?,
        done: @escaping @Sendable (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError)

    /// One page of the keys below a prefix, in the order of their UTF-8 bytes.
    ///
    /// A hint, never a proof: a store may show writes and deletions late.
    func list(_ request: ListRequest) throws(StoreError) -> ListPage

    /// Deletes up to 1,000 files, by one request if the store has DeleteObjects; a missing one counts as deleted.
    func delete(_ keys: [String]) throws(StoreError) -> DeleteOutcome

    /// Unfinished uploads in parts, up to 1,000; `nil` if the store does not tell.
    func openUploads() throws(StoreError) -> OpenUploads?

    /// Ends an upload in parts and frees what was sent of it; a missing one counts as ended.
    func abort(_ upload: OpenUpload) throws(StoreError)

    /// Makes earlier writes and deletions durable, so that no power cut undoes them and keeps later ones.
    ///
    /// A disk is synced, once for however many files. A store on a network only acknowledges what is durable.
    func barrier() throws(StoreError)
}

extension ObjectStorage {
    package var identity: String { place }
    /// Where it is, as commands take it: a bucket's endpoint is no part of that.
    package var argument: String { isOnDisk ? place : String(place.prefix { $0 != " " }) }
    package var isOnDisk: Bool { false }
    package var work: WorkDirectory? { nil }
    package func barrier() {}

    package func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?] {
        let found = Mutex([Int64?](repeating: nil, count: keys.count))
        try inParallel(keys.count) { (index) throws(StoreError) in
            if isInterrupted() { throw StoreError(.interrupted, "interrupted") }
            guard let file = try head(keys[index]) else { return }
            found.withLock { $0[index] = file.byteCount }
        }
        return found.withLock { $0 }
    }

    package func putAll(
        _ files: [OutgoingFile],
        open: @escaping @Sendable (Int) throws(StoreError) -> Descriptor?,
        done: @escaping @Sendable (Int, WriteOutcome) throws(StoreError) -> Void
    ) throws(StoreError) {
        try inParallel(files.count) { (index) throws(StoreError) in
            guard let source = try open(index) else { return }
            let file = files[index]
            try done(index, put(file.key, file.body(source.raw), file.fields))
        }
    }
}

/// A file to be written from a file on this machine.
package struct OutgoingFile: Sendable {
    package let key: String
    package let address: ObjectID
    package let byteCount: Int64
    package let fields: StoredFields

    package init(_ key: String, _ address: ObjectID, byteCount: Int64, _ fields: StoredFields) {
        self.key = key
        self.address = address
        self.byteCount = byteCount
        self.fields = fields
    }

    func body(_ source: Int32) -> StorageBody {
        StorageBody(file: source, byteCount: byteCount, address: address)
    }
}

/// What must hold for a file to be written.
package enum WriteCondition: Sendable, Hashable {
    /// Whatever is there is replaced.
    case none
    /// There is no file (`If-None-Match: *`).
    case absent
    /// The file still has that tag (`If-Match`); a missing file has none.
    case matching(EntityTag, TagSpelling)
}

package enum WriteOutcome: Sendable, Hashable {
    /// The bytes are under the key, with this tag; `nil` for a batch on a disk, whose tags nobody asks for.
    case stored(EntityTag?)
    /// The condition did not hold (412): there is a file, or it has another tag.
    case conditionFailed
    /// Another write was under way (409): look what is there.
    case conflict
    /// The store does not know this condition (501).
    case unsupported
    /// Nobody knows whether it was written: there was no answer that decides, and it may take effect at any later time.
    case unknown(UnknownWrite)

    /// Whether the bytes are known to be under the key.
    package var isStored: Bool { if case .stored = self { true } else { false } }
}

package struct UnknownWrite: Sendable, Hashable, CustomStringConvertible {
    /// A sentence for people about what came last.
    package var description: String
    /// The refusal that came after an undecided try; `nil` if no answer came at all.
    package var refusal: StoreError.Code?

    package init(_ description: String, refusal: StoreError.Code? = nil) {
        self.description = description
        self.refusal = refusal
    }
}

/// Counts requests to a bucket, not verbs.
package struct StorageFigures: Sendable, Hashable {
    /// Includes repeated requests.
    package var requestCount = 0
    package var retryCount = 0
    /// The size of sent bodies, including those of repeated requests.
    package var sentByteCount: Int64 = 0
    package var receivedByteCount: Int64 = 0

    package init() {}
}

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
    package func contents(_ key: String, limit: some BinaryInteger) throws(StoreError) -> [UInt8]? {
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

extension StoreError.Code {
    /// The bucket's rights do not allow a request, or it does not know the signing key.
    package static let accessDenied = Self("accessDenied")
    package static let noBucket = Self("noBucket")
    /// There are no keys to sign with, or they come from a source that castree does not support.
    package static let credentials = Self("credentials")
    /// The answer is not one of S3, or over a limit.
    package static let bucketAnswer = Self("bucketAnswer")
    /// The store does not refuse to overwrite, so several publishers would not be safe.
    package static let unsuitableStore = Self("unsuitableStore")
    /// A file that should be in the bucket is missing, or does not match its name.
    package static let missingFromBucket = Self("missingFromBucket")
    /// No answer came to a commit, which may or may not be in the log.
    package static let outcomeUnknown = Self("outcomeUnknown")
}

extension StoreError {
    package static func damaged(_ address: ObjectID) -> StoreError {
        StoreError(
            .damagedObject,
            "the bytes of object \(address) do not match its address; "
                + "run castree fsck --repair, then repeat the command",
            object: address)
    }
}
