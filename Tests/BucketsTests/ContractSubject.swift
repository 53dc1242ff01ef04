import BucketTestSupport
import Buckets
import Expectations
import Platform
import Synchronization
import Testing

/// What the contract of buckets is held against: the model, and the real server that the environment names.
///
/// What the model does and the server does not is a mistake of the model.
enum ContractSubject: String, Sendable, CaseIterable, CustomTestStringConvertible {
    case model
    case real

    /// All that there are.
    static let all: [ContractSubject] = RealStore.given == nil ? [.model] : [.model, .real]

    var testDescription: String { rawValue }

    /// An empty bucket.
    func bucket(_ options: BucketOptions = BucketOptions()) throws -> any Bucket {
        switch self {
        case .model: return ModelBucket(ModelStore())
        case .real: return try require(RealStore.given).bucket(options)
        }
    }

    /// Another place in the same store, whose prefix begins as the first one's does.
    func neighbours() throws -> (any Bucket, any Bucket) {
        switch self {
        case .model: return (ModelBucket(ModelStore()), ModelBucket(ModelStore()))
        case .real:
            let store = try require(RealStore.given)
            let prefix = "n-\(try randomToken())"
            return (
                try store.bucket(prefix: prefix), try store.bucket(prefix: prefix + "2")
            )
        }
    }

    private static let known = Mutex<[ContractSubject: TagSpelling]>([:])

    /// How the store wants tags in `If-Match`.
    func spelling() throws -> TagSpelling {
        if let spelling = Self.known.withLock({ $0[self] }) { return spelling }
        let bucket = try bucket()
        for spelling in TagSpelling.allCases {
            guard case .stored(let tag) = try bucket.put("probe", body("a"), .logEntry) else {
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

func body(_ text: String) throws -> BucketBody { try BucketBody(Array(text.utf8)) }

extension Bucket {
    /// Writes a text; its tag.
    @discardableResult
    func write(_ key: String, _ text: String) throws -> EntityTag {
        guard case .stored(let tag) = try put(key, body(text), .object) else {
            throw StoreError(.outcomeUnknown, "not stored: \(key)")
        }
        return tag
    }

    /// The text of a file; nil if there is none.
    func text(_ key: String) throws -> String? {
        let read = try bytes(key, ReadRequest(byteCountMax: 1 << 20))
        guard case .found = read.outcome else { return nil }
        return String(decoding: read.bytes, as: UTF8.self)
    }

    /// All keys below a prefix, by pages of so many.
    func keys(_ prefix: String = "", after: String? = nil, by count: Int = 1_000) throws -> [String]
    {
        var keys: [String] = []
        try listAll(prefix, startAfter: after, countMax: count) { (page) throws(StoreError) in
            keys += page.files.map(\.key)
            return true
        }
        return keys
    }
}

/// What a bucket said to its user.
final class Notes: Sendable {
    private let texts = Mutex<[String]>([])
    var all: [String] { texts.withLock { $0 } }
    func add(_ text: String) { texts.withLock { $0.append(text) } }
}
