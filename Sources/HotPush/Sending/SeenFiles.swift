import CASStore
import Storage
import Synchronization

/// The files that a command has seen in an origin: they were acknowledged, or listed.
///
/// A commit upon an entry may name one of them if it stands under one of the entry's two newest epochs (docs/buckets.md,
/// rule U). Belongs to one thread.
final class SeenFiles {
    let storage: any ObjectStorage
    private var keys: Set<OriginKey> = []

    init(in storage: any ObjectStorage) { self.storage = storage }

    func contains(_ key: OriginKey) -> Bool { keys.contains(key) }

    func note(_ seen: some Sequence<OriginKey>) { keys.formUnion(seen) }

    /// The epochs under which a file may be used for a commit upon an entry of that epoch, the newest first.
    static func usableEpochs(upon epoch: Int64) -> [Int64] {
        [epoch, epoch - 1].filter { $0 >= 0 }
    }

    /// The epoch under which a file may be used for a commit upon an entry of that epoch.
    func epoch(
        of kind: OriginKey.Kind, _ address: ObjectID, upon epoch: Int64
    ) -> Int64? {
        Self.usableEpochs(upon: epoch).first { keys.contains(OriginKey(kind, address, in: $0)) }
    }

    /// Asks what stands there of many files that are to be sent, so that an upload that was interrupted goes on.
    ///
    /// It takes at most a hundredth of the requests that sending takes; a few files are sent without asking.
    /// - Parameter listed: the epochs that were asked for already.
    func look(
        for wanted: [SizedFile], _ kind: OriginKey.Kind, upon epoch: Int64,
        besides listed: inout Set<Int64>
    ) throws(StoreError) {
        if storage.readsFreely { return try look(for: wanted, kind, upon: epoch) }
        guard wanted.count > Self.listedCountMin else { return }
        var sizes: [ObjectID: Int64] = [:]
        for file in wanted { sizes[file.address] = file.byteCount }
        var pageCount = max(1, wanted.count / 100)
        for candidate in Self.usableEpochs(upon: epoch)
        where pageCount > 0 && listed.insert(candidate).inserted {
            let prefix = OriginKey.prefix(of: kind, in: candidate)
            try list(prefix, kind, sizes, pageCount: &pageCount)
        }
    }

    private func look(
        for wanted: [SizedFile], _ kind: OriginKey.Kind, upon epoch: Int64
    ) throws(StoreError) {
        let storage = storage
        for candidate in Self.usableEpochs(upon: epoch) {
            let prefix = OriginKey.prefix(of: kind, in: candidate)
            // Most are of an origin that has none of the kind, or of few files.
            guard try !storage.list(ListRequest(prefix: prefix, countMax: 1)).files.isEmpty else {
                continue
            }
            let found = Mutex<[OriginKey]>([])
            try storage.inParallel(wanted.count) { (index) throws(StoreError) in
                let key = OriginKey(kind, wanted[index].address, in: candidate)
                guard try storage.head(key.path)?.byteCount == wanted[index].byteCount else {
                    return
                }
                found.withLock { $0.append(key) }
            }
            note(found.withLock { $0 })
        }
    }

    /// A file, wherever it stands.
    typealias SizedFile = (address: ObjectID, byteCount: Int64)

    /// From so many files on, the storage is asked what it has before they are sent.
    private static let listedCountMin = 64

    /// Notes what a listing shows, as far as it is wanted.
    /// - Parameters:
    ///   - sizes: what is wanted, and how many bytes it has.
    ///   - pageCount: the pages that may be asked for; less those that were.
    func list(
        _ prefix: String, _ kind: OriginKey.Kind, _ sizes: [ObjectID: Int64],
        pageCount: inout Int
    ) throws(StoreError) {
        guard pageCount > 0 else { return }
        try storage.listAll(prefix) { (page) throws(StoreError) in
            for file in page.files {
                guard let key = OriginKey(path: file.key), key.kind == kind,
                    sizes[key.address] == file.byteCount
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
        try Self.send(body, key, to: storage)
        keys.insert(key)
    }

    /// Sends a file, on any thread.
    static func send(
        _ body: StorageBody, _ key: OriginKey, to storage: any ObjectStorage
    ) throws(StoreError) {
        do throws(StoreError) {
            try check(storage.put(key.path, body, key.fields), of: key, in: storage)
        } catch {
            throw beforeCommit(error)
        }
    }

    /// What keeps a file from being sent before a commit: whoever interrupts it is told what devices see.
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
                + "before, and repeating the command goes on")
    }
}
