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
        (self.key, self.name, self.address) = (key, name, address)
        (self.byteCount, self.byteCountMax) = (byteCount, byteCountMax)
    }

    /// Equal names, equal bytes.
    var tag: EntityTag { EntityTag(address.description) }
}

/// A storage over another one, whose files it keeps in a directory once they were read.
///
/// Files that are named by their bytes come when they are asked for, each once, however many ask; they are compared with
/// their names before they have them, and so is what an earlier process has left, before it counts. When there is too much,
/// what was used longest ago goes first, and nothing that a ``CacheHold`` names. All else is asked of the storage
/// below each time; of files that change the owner says which of their bytes are kept (``keep(_:_:_:)``).
///
/// Nothing is synced: what a power cut tears is found by its digest. The disk is never touched under the lock that every
/// look-up takes. Several threads may use it at once.
package final class CachedStorage: ForwardingStorage {
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
        /// Lets one at a time fetch a file where it is asked for: elsewhere it may not be there.
        var fetches: [NamedFile: ThreadGate] = [:]
    }

    package let base: any ObjectStorage
    /// What the storage below does not give.
    package let negatives: NegativeCache
    let copies: DirectoryStorage
    let options: Options
    let state = Mutex(State())
    /// What is on the disk and what is known of it change together, one after the other.
    let turn = ThreadGate(limit: 1)
    /// So many requests at once are for clients: others are kept for what changes.
    let clientCount: Int
    let clients: ThreadGate
    /// So many are for what nobody knows to be there.
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
                // What has other bytes than its name says is not there either.
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
}
