import BucketTestSupport

/// What the contract of storages is held against: the model, a directory, a cache, and the real server that the
/// environment names.
///
/// What the model does and the server does not is a mistake of the model.
enum ContractSubject: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case model
    case directory
    case cached
    case real

    /// All that there are.
    static let all: [ContractSubject] =
        [.model, .directory, .cached] + (RealStore.given == nil ? [] : [.real])
    /// Those whose keys need not be paths.
    static let buckets = all.filter { $0 != .directory }

    var testDescription: String { rawValue }

    func bucket(_ options: BucketOptions = BucketOptions()) throws -> any ObjectStorage {
        switch self {
        case .model: return ModelStorage(ModelStore())
        case .directory: return try DirectorySubject()
        case .cached: return try TemporaryDirectory().cache(of: ModelStorage(ModelStore()))
        case .real: return try require(RealStore.given).bucket(options)
        }
    }

    /// Another place in the same store, whose prefix begins as the first one's does.
    func neighbours() throws -> (any ObjectStorage, any ObjectStorage) {
        switch self {
        case .model: return (ModelStorage(ModelStore()), ModelStorage(ModelStore()))
        case .directory, .cached: return (try bucket(), try bucket())
        case .real:
            let store = try require(RealStore.given)
            let prefix = "n-\(try randomToken())"
            return (try store.bucket(prefix: prefix), try store.bucket(prefix: prefix + "2"))
        }
    }

    private static let known = Mutex<[ContractSubject: TagSpelling]>([:])

    /// How the store wants tags in `If-Match`.
    func spelling() throws -> TagSpelling {
        if let spelling = Self.known.withLock({ $0[self] }) { return spelling }
        let bucket = try bucket()
        for spelling in TagSpelling.allCases {
            guard case .stored(let tag?) = try bucket.put("probe", body("a"), .logEntry) else {
                continue
            }
            let right = try bucket.putIf("probe", body("a"), .logEntry, matching: tag, spelling)
            let other = EntityTag(String(repeating: "0", count: 32))
            let wrong = try bucket.putIf("probe", body("b"), .logEntry, matching: other, spelling)
            if right.isStored, wrong == .conditionFailed {
                Self.known.withLock { $0[self] = spelling }
                return spelling
            }
        }
        throw StoreError(.unsuitableStore, "If-Match works in no spelling")
    }
}

/// A storage of which many requests are worth making at once.
struct WideStorage: ForwardingStorage {
    let base: any ObjectStorage
    var parallelCount = 8
}

private struct DirectorySubject: ForwardingStorage {
    private let directory = TemporaryDirectory()
    let base: any ObjectStorage

    func byteCounts(
        of keys: [String], unless isInterrupted: @escaping @Sendable () -> Bool
    ) throws(StoreError) -> [Int64?] {
        try base.byteCounts(of: keys, unless: isInterrupted)
    }

    init() throws { base = try DirectoryStorage(directory.path, scratch: ".scratch") }
}
