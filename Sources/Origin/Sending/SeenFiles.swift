import CASStore
import HotPush
import Storage
import Synchronization

/// The files that a command has seen in an origin, because they were acknowledged or listed.
///
/// A commit upon an entry may name one of them if it is under one of the entry's two newest epochs (docs/buckets.md,
/// rule U). Belongs to one thread.
final class SeenFiles {
    let storage: any ObjectStorage
    private var keys: Set<OriginKey> = []

    init(in storage: any ObjectStorage) { self.storage = storage }

    func contains(_ key: OriginKey) -> Bool { keys.contains(key) }

    func note(_ seen: some Sequence<OriginKey>) { keys.formUnion(seen) }

    /// The epochs whose files a commit upon an entry may use, newest first.
    static func usableEpochs(upon epoch: Int64) -> [Int64] {
        [epoch, epoch - 1].filter { $0 >= 0 }
    }

    func epoch(of kind: OriginKey.Kind, _ address: ObjectID, upon epoch: Int64) -> Int64? {
        Self.usableEpochs(upon: epoch).first { keys.contains(OriginKey(kind, address, in: $0)) }
    }

    /// Asks for existing files among many that are to be sent, so that an interrupted upload continues.
    ///
    /// This takes at most a hundredth of the requests for sending them, or only free ones; a few files are just sent.
    /// - Parameter listed: the epochs that were asked for already.
    func look(
        for wanted: [Reference], _ kind: OriginKey.Kind, upon epoch: Int64,
        besides listed: inout Set<Int64>
    ) throws(StoreError) {
        guard storage.isOnDisk || wanted.count > Self.listedCountMin else { return }
        var pageCount = max(1, wanted.count / 100)
        for candidate in Self.usableEpochs(upon: epoch) {
            let prefix = OriginKey.prefix(of: kind, in: candidate)
            if storage.isOnDisk {
                // Most origins have none of the kind, or few files.
                guard try !storage.list(ListRequest(prefix: prefix, countMax: 1)).files.isEmpty
                else { continue }
                let there = wanted.map { OriginKey(kind, $0.address, in: candidate) }
                let sizes = try storage.sizes(of: there)
                for (index, key) in there.enumerated()
                where sizes[index] == wanted[index].byteCount { keys.insert(key) }
            } else if pageCount > 0, listed.insert(candidate).inserted {
                try list(prefix, kind, wanted, pageCount: &pageCount)
            }
        }
    }

    private static let listedCountMin = 64

    /// Notes the wanted files of a listing.
    /// - Parameter pageCount: how many pages may be requested; reduced by those that were.
    func list(
        _ prefix: String, _ kind: OriginKey.Kind, _ wanted: [Reference], pageCount: inout Int
    ) throws(StoreError) {
        let wanted = Set(wanted)
        try storage.listAll(prefix) { (page) throws(StoreError) in
            for file in page.files {
                guard let key = OriginKey(path: file.key), key.kind == kind,
                    wanted.contains(Reference(address: key.address, byteCount: file.byteCount))
                else { continue }
                keys.insert(key)
            }
            pageCount -= 1
            return pageCount > 0
        }
    }

    /// Sends a file, unless it was seen.
    /// - Throws: what the storage refuses; `.network` if no answer came.
    func send(_ body: StorageBody, _ key: OriginKey) throws(StoreError) {
        guard !keys.contains(key) else { return }
        do throws(StoreError) {
            try Self.check(storage.put(key.path, body, key.fields), of: key, in: storage)
        } catch {
            throw Self.beforeCommit(error)
        }
        keys.insert(key)
    }

    /// Sends the places of files, if a release of that epoch needs them.
    /// - Returns: their address; `nil` if all files are in the epoch.
    func send(_ places: Places, in epoch: Int64) throws(StoreError) -> ObjectID? {
        guard places.areNeeded(in: epoch) else { return nil }
        let body = try StorageBody(places.serialized())
        try send(body, OriginKey(.places, body.address, in: epoch))
        return body.address
    }

    /// An error before a commit; if it was an interruption, it says what devices see.
    static func beforeCommit(_ error: StoreError) -> StoreError {
        error.code == .interrupted ? .publishingInterrupted : error
    }

    /// - Throws: what the storage refuses; `.network` if no answer came.
    static func check(
        _ outcome: WriteOutcome, of key: OriginKey, in storage: any ObjectStorage
    ) throws(StoreError) {
        if outcome.isStored { return }
        var why = UnknownWrite("\(outcome)")
        if case .unknown(let reason) = outcome { why = reason }
        throw StoreError(
            why.refusal ?? .network,
            "\(key.path) could not be written to \(storage.place): \(why); the channel offers what it did "
                + "before, and repeat the command to continue")
    }
}

extension ObjectStorage {
    /// The sizes of files, in their order; `nil` for a missing file.
    func sizes(
        of keys: some Collection<OriginKey>,
        unless isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) throws(StoreError) -> [Int64?] {
        do throws(StoreError) {
            return try byteCounts(of: keys.map(\.path), unless: isInterrupted)
        } catch {
            throw SeenFiles.beforeCommit(error)
        }
    }

    /// The addresses of files with a wrong size; for `--verify` also with wrong bytes, if reading costs nothing.
    func missing(
        of wanted: [SizedKey], _ options: PublisherOptions
    ) throws(StoreError) -> Set<ObjectID> {
        options.verifiesObjects && isOnDisk
            ? try wrong(of: wanted, options) : try absent(of: wanted)
    }

    private func wrong(
        of wanted: [SizedKey], _ options: PublisherOptions
    ) throws(StoreError) -> Set<ObjectID> {
        let progress = options.watching(.checking, total: wanted.byteCount)
        progress.tick()
        let wrong = Mutex<Set<ObjectID>>([])
        try inParallel(wanted.count) { (index) throws(StoreError) in
            let (key, byteCount) = (wanted[index].key, wanted[index].byteCount)
            var found: ObjectID?
            do throws(StoreError) {
                if try head(key.path)?.byteCount == byteCount {
                    found = try address(of: key.path, limit: byteCount) {
                        (piece) throws(StoreError) in
                        if options.isInterrupted() { throw .publishingInterrupted }
                        progress.advance(by: Int64(piece.count))
                    }
                } else {
                    progress.advance(by: byteCount)
                }
            } catch {
                // The file is sent again, and replaces this one.
                guard error.saysFileIsUnreadable else { throw error }
            }
            if found != key.address { wrong.withLock { _ = $0.insert(key.address) } }
        }
        return wrong.withLock { $0 }
    }

    private func absent(of wanted: [SizedKey]) throws(StoreError) -> Set<ObjectID> {
        // Only up to this many files are asked for one by one, if reading costs requests; more are listed first.
        let askedCountMax = 64
        var unseen = wanted
        if wanted.count > askedCountMax, !isOnDisk {
            // Nearly all files that are no deflated copies are objects.
            let places = wanted.map {
                OriginKey.prefix(
                    of: $0.key.kind == .deflatedCopy ? .deflatedCopy : .object, in: $0.key.epoch)
            }
            var unlisted = Set(wanted)
            for place in Set(places).sorted() {
                try forEachFile(below: place) { (file) throws(StoreError) in
                    guard let key = OriginKey(path: file.key) else { return }
                    unlisted.remove(SizedKey(key: key, byteCount: file.byteCount))
                }
            }
            unseen.removeAll { !unlisted.contains($0) }
        }
        // A listing may show files late.
        let sizes = try sizes(of: unseen.map(\.key))
        return Set(zip(unseen, sizes).lazy.filter { $0.byteCount != $1 }.map(\.0.key.address))
    }
}

extension SeenFiles {
    /// Sends local files in parallel, and reports progress.
    /// - Parameters:
    ///   - before: how many bytes of the same work were sent already.
    ///   - isDue: asked before each one, on any thread; `true` leaves the rest out.
    ///   - open: opens a file whose bytes are sent, on any thread.
    /// - Returns: those that were acknowledged; they are noted also if another one fails.
    /// - Throws: what the storage refuses; `.network` if no answer came; `.interrupted`; what `open` throws.
    @discardableResult
    func send(
        _ files: [SizedKey], _ options: PublisherOptions, after before: Int64 = 0,
        isDue: @escaping @Sendable () -> Bool = { false },
        open: @escaping @Sendable (SizedKey) throws(StoreError) -> Descriptor
    ) throws(StoreError) -> [SizedKey] {
        let (storage, total) = (storage, before + files.byteCount)
        let stored = Mutex<(files: [SizedKey], byteCount: Int64)>(([], before))
        defer { note(stored.withLock { $0.files }.map(\.key)) }
        let outgoing = files.map {
            OutgoingFile($0.key.path, $0.key.address, byteCount: $0.byteCount, $0.key.fields)
        }
        do throws(StoreError) {
            try storage.putAll(
                outgoing,
                open: { (index) throws(StoreError) -> Descriptor? in
                    if options.isInterrupted() { throw .publishingInterrupted }
                    return isDue() ? nil : try open(files[index])
                },
                done: { (index, outcome) throws(StoreError) in
                    try SeenFiles.check(outcome, of: files[index].key, in: storage)
                    let sum = stored.withLock { (stored) -> Int64 in
                        stored.files.append(files[index])
                        stored.byteCount += files[index].byteCount
                        return stored.byteCount
                    }
                    options.progress(PublishProgress(bytes: sum, bytesTotal: total))
                })
        } catch {
            throw SeenFiles.beforeCommit(error)
        }
        return stored.withLock { $0.files }
    }
}

extension PublisherOptions {
    /// - Parameter total: an estimate of the bytes to examine.
    func watching(_ step: PublishProgress.Step, total: Int64) -> PackingProgress {
        let report = progress
        return PackingProgress(expected: total, isInterrupted: isInterrupted) { done, total in
            report(PublishProgress(bytes: min(done, total), bytesTotal: total, step: step))
        }
    }
}
