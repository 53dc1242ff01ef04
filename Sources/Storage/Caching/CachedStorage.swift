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
}
