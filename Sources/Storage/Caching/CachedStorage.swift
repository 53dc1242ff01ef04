package import Platform
import Synchronization

/// A file of a storage that is named by its bytes and therefore immutable.
package struct NamedFile: Sendable, Hashable {
    /// Its key in the storage.
    package let key: String
    /// The name of its copy, whatever its key.
    package let name: String
    /// The SHA-256 of its bytes.
    package let address: ObjectID
    /// `nil` if unknown.
    package let byteCount: Int64?
    package let byteCountMax: Int64

    package init(
        _ key: String, name: String, _ address: ObjectID, byteCount: Int64? = nil,
        byteCountMax: Int64
    ) {
        (self.key, self.name, self.address) = (key, name, address)
        (self.byteCount, self.byteCountMax) = (byteCount, byteCountMax)
    }

    /// Equal names mean equal bytes.
    var tag: EntityTag { EntityTag(address.description) }
}

/// A storage over another one that keeps files in a directory once they were read.
///
/// Files named by their bytes are fetched when they are asked for, each once however many ask. They are compared with
/// their names before they have them, and copies of an earlier process before they count. Beyond the limit, the least
/// recently used go first, except those that a ``CacheHold`` names. Everything else is asked of the storage below
/// each time; for files that change, the owner decides which bytes are kept (``keep(_:_:_:)``).
///
/// Nothing is synced: digests reveal what a power cut tears. The disk is never touched under the lock that every
/// look-up takes. Any thread may use it.
package final class CachedStorage: ForwardingStorage {
    package struct Options: Sendable {
        /// The most bytes of files on the disk, including those that must stay.
        package var byteCount: Int64 = 10 << 30
        /// After this many milliseconds of waiting, a missing file is requested in the background.
        package var timeout: Int64 = 2_000
        package var notice: @Sendable (String) -> Void = { _ in }
        /// A clock that never goes back, in milliseconds.
        package var clock: @Sendable () -> Int64 = { SystemClock.milliseconds }
        /// What a key means; `nil` for files that change.
        package var naming: @Sendable (String) -> NamedFile? = { _ in nil }
        /// Files that always exist, which tell whether the storage below is reachable.
        package var sentinels: [String] = []
        /// Rephrases an error of the disk in the words of the cache's owner.
        package var advise: @Sendable (StoreError) -> StoreError = { $0 }

        package init() {}
    }

    struct State: Sendable {
        var copies = CopyIndex()
        var documents: [String: KeptDocument] = [:]
        /// The documents whose tags are noted for the next start.
        var noted: [String: KeptDocument] = [:]
        /// Lets one thread at a time fetch a file by its key; under another key it may be missing.
        var fetches: [NamedFile: ThreadGate] = [:]
    }

    package let base: any ObjectStorage
    package let negatives: NegativeCache
    let copies: DirectoryStorage
    let options: Options
    let state = Mutex(State())
    /// Serializes changes of the disk and of what is known of it.
    let turn = ThreadGate(limit: 1)
    /// Bounds the clients' requests; others are reserved for changes.
    let clientCount: Int
    let clients: ThreadGate
    /// Bounds requests for files that may not exist.
    static let strayCount = 2
    let strays = ThreadGate(limit: strayCount)

    /// - Parameter copies: the directory, which is nobody else's.
    package init(_ base: any ObjectStorage, in copies: DirectoryStorage, _ options: Options) {
        (self.base, self.copies, self.options) = (base, copies, options)
        clientCount = max(base.parallelCount - 4, 1)
        clients = ThreadGate(limit: clientCount)
        negatives = NegativeCache(base, options)
    }

    package func get(
        _ key: String, _ request: ReadRequest,
        _ take: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) -> ReadOutcome {
        guard let file = options.naming(key) else { return try base.get(key, request, take) }
        let hold = pin([file.name])
        defer { withExtendedLifetime(hold) {} }
        // Once more: somebody may have emptied the directory.
        for _ in 0..<2 {
            do throws(StoreError) { try fetch([file], .needed) } catch {
                // A file that does not match its name counts as missing.
                guard error.code == .missingFromBucket else { throw error }
                return .missing
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

    /// Fetches missing files in parallel, each once however many wait for it.
    /// - Parameter since: when they were asked for, by the cache's clock; a failure since then counts.
    /// - Throws: the first reason why one of them is unavailable: `.missingFromBucket`; `.tooLarge`, `.network` if
    ///   the storage is not even asked.
    package func fetch(
        _ files: [NamedFile], _ demand: FetchDemand, since: Int64? = nil
    ) throws(StoreError) {
        let since = since ?? options.clock()
        if files.count <= 1 {
            for file in files { try obtain(file, demand, since) }
            return
        }
        // The first error is thrown while other files still come.
        let outcome = Monitor<(failure: StoreError?, isOver: Bool)>((nil, false))
        Parallel.detach {
            // Errors are passed on below.
            try? self.inParallel(files.count) { (index) throws(StoreError) in
                do throws(StoreError) { try self.obtain(files[index], demand, since) } catch {
                    outcome.change { $0.failure = $0.failure ?? error }
                    throw error
                }
            }
            outcome.change { $0.isOver = true }
        }
        let failure = outcome.wait(until: { $0.failure != nil || $0.isOver }) { $0.failure }
        if let failure { throw failure }
    }

    private func obtain(
        _ file: NamedFile, _ demand: FetchDemand, _ since: Int64
    ) throws(StoreError) {
        if try proves(file) { return }
        let gate = state.withLock { state in
            let gate = state.fetches[file] ?? ThreadGate(limit: 1)
            state.fetches[file] = gate
            return gate
        }
        gate.enter()
        defer {
            state.withLock { $0.fetches[file] = nil }
            gate.leave(limit: 1)
        }
        if let failure = negatives.failure(of: file.key, since: since) { throw failure }
        if try proves(file) { return }
        if demand == .asked { strays.enter() }
        defer { if demand == .asked { strays.leave(limit: Self.strayCount) } }
        if demand != .needed { clients.enter() }
        defer { if demand != .needed { clients.leave(limit: clientCount) } }
        if demand == .asked, let refusal = negatives.strayRefusal { throw refusal }
        if let refusal = negatives.refusal { throw refusal }
        do throws(StoreError) {
            try changing { () throws(StoreError) in
                guard demand == .needed else { return try receive(file) }
                try negatives.asking(for: file.key) { () throws(StoreError) in try receive(file) }
            }
            negatives.note(nil, of: file.key)
        } catch {
            negatives.note(error, of: file.key, demand)
            throw error
        }
    }

    private func receive(_ file: NamedFile) throws(StoreError) {
        // A file of unknown size comes whole or not at all, and is never larger than the cache.
        let limit = file.byteCount ?? min(file.byteCountMax, options.byteCount)
        var byteCount: Int64 = 0
        do throws(StoreError) {
            try copies.receive(file.name, file.address) { (sink) throws(StoreError) in
                let request = ReadRequest(byteCountMax: limit)
                let outcome = try base.get(file.key, request) { (part) throws(StoreError) in
                    byteCount += Int64(part.count)
                    try sink(part)
                }
                guard case .found = outcome else { throw missing(file, "is not in \(place)") }
            } commit: { (name) throws(StoreError) in
                guard file.byteCount ?? byteCount == byteCount else {
                    throw StoreError.damaged(file.address)
                }
                turn.enter()
                defer { turn.leave(limit: 1) }
                try name()
                state.withLock {
                    $0.copies.add(file.name, byteCount: byteCount, isProven: true)
                }
            }
        } catch {
            let mends = "; castree fsck --repair mends it"
            switch error.code {
            case .damagedObject:
                throw missing(file, "in \(place) has other bytes than its name says" + mends)
            case .tooLarge where limit == file.byteCount ?? file.byteCountMax:
                throw missing(file, "in \(place) has more than \(limit) bytes" + mends)
            case .tooLarge:
                throw missing(
                    file, "in \(place) has more bytes than the cache may have (--cache-size)")
            default: throw error
            }
        }
        try trim()
    }

    private func missing(_ file: NamedFile, _ problem: String) -> StoreError {
        StoreError(.missingFromBucket, "\(file.key) \(problem)", object: file.address)
    }

    // MARK: The files that change, whose owner decides which of their bytes are kept, and when

    package var documents: [String] { state.withLock { Array($0.documents.keys) } }

    /// The SHA-256 of a document; `nil` if it is not kept.
    package func digest(of key: String) -> ObjectID? {
        state.withLock { $0.documents[key]?.digest }
    }

    /// `nil` if the document is not kept.
    package func kept(_ key: String, limit: some BinaryInteger) throws(StoreError) -> [UInt8]? {
        try copies.contents(key, limit: limit)
    }

    /// Asks the storage below for a document, whose bytes are sent only if they differ from those kept.
    package func news(of key: String, limit: Int) throws(StoreError) -> DocumentNews {
        let known = state.withLock { $0.documents[key] }
        let request = ReadRequest(unlessTag: known?.tag, byteCountMax: Int64(limit))
        let read = try negatives.asking(for: key) { () throws(StoreError) in
            try base.bytes(key, request)
        }
        switch read.outcome {
        case .notModified: return .same
        case .missing, .beyondEnd: return known == nil ? .same : .gone
        case .found(let file):
            guard var known, try StorageBody(read.bytes).address == known.digest else {
                return .changed(read.bytes, file.tag)
            }
            known.tag = file.tag
            note(key, known)
            return .same
        }
    }

    /// Replaces the kept bytes of a document atomically.
    package func keep(_ key: String, _ bytes: [UInt8], _ tag: EntityTag) throws(StoreError) {
        let body = try StorageBody(bytes)
        _ = try changing { () throws(StoreError) in try copies.put(key, body, .pointer) }
        note(key, KeptDocument(tag: tag, digest: body.address, byteCount: body.byteCount))
    }

    package func forget(_ key: String) throws(StoreError) {
        try changing { () throws(StoreError) in try copies.remove(key) }
        note(key, nil)
    }

    private func note(_ key: String, _ document: KeptDocument?) {
        state.withLock { state in
            let before = state.documents[key]
            guard before != document else { return }
            state.documents[key] = document
            state.copies.space += (document?.byteCount ?? 0) - (before?.byteCount ?? 0)
        }
    }

    // MARK: From one process to the next

    private static let tags = "tags"

    /// Adopts a document that an earlier process has left, if it matches the notes; any other is fetched whole.
    func takeOver(_ key: String, _ noted: [Substring]?) {
        // An incomplete one is fetched again.
        guard let bytes = try? copies.contents(key, limit: 64 << 20),
            let body = try? StorageBody(bytes)
        else { return }
        let isSame = noted?.first.map(String.init) == body.address.description
        let tag = isSame ? noted?.last.map { EntityTag(String($0)) } : nil
        note(key, KeptDocument(tag: tag, digest: body.address, byteCount: body.byteCount))
    }

    func notedTags() -> [String: [Substring]] {
        // Derived: without it, everything is fetched once more.
        let bytes = try? copies.fileSystem.contents(
            copies.directory, "\(copies.scratch)/\(Self.tags)", limit: 16 << 20)
        let lines = String(decoding: bytes ?? [], as: UTF8.self).split(separator: "\n")
        let rows = lines.map { $0.split(separator: "\t") }.filter { $0.count == 3 }
        return Dictionary(rows.map { (String($0[1]), $0) }) { _, last in last }
    }

    /// Notes changed tags for the next start, to save some bytes then.
    package func noteTags() throws(StoreError) {
        let documents = state.withLock { $0.documents }
        guard documents != state.withLock({ $0.noted }) else { return }
        var text = ""
        for (key, document) in documents.sorted(by: { $0.key < $1.key }) {
            guard let tag = document.tag else { continue }
            text += "\(document.digest)\t\(key)\t\(tag.bare)\n"
        }
        try changing { () throws(StoreError) in
            guard let work = try copies.work?.open() else { return }
            try copies.fileSystem.replaceFile(
                work.raw, Self.tags, with: Array(text.utf8), token: "new", durably: false)
        }
        state.withLock { $0.noted = documents }
    }
}

/// Why files are fetched.
package enum FetchDemand: Sendable {
    /// A change depends on them; nobody waits twice for one that does not come.
    case needed
    /// The storage below is known to have them.
    case listed
    /// A client asks for them: two at a time, and none after too many vain requests.
    case asked
}

struct KeptDocument: Sendable, Hashable {
    /// The tag in the storage below; `nil` if a process ended before it was noted.
    var tag: EntityTag?
    var digest: ObjectID
    var byteCount: Int64
}

package enum DocumentNews: Sendable {
    /// As kept, or missing as before.
    case same
    case gone
    case changed([UInt8], EntityTag)
}
