@_exported public import BucketTestSupport
@_exported public import HotPush
@_exported public import Origin

/// Where the origin of a test is: what is promised of origins holds in each.
package enum OriginPlace: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case directory
    case bucket
    /// On the server that the environment names.
    case real

    package static let allCases = timed + (RealStore.given == nil ? [] : [.real])
    /// Those that go by the clock of the test.
    package static let timed: [OriginPlace] = [.directory, .bucket]

    package var testDescription: String { rawValue }
}

/// What most promises of origins are held against.
package let places = OriginPlace.allCases

/// The buckets of a test, made as they are named.
final class PlacedBuckets: Sendable {
    let clock = ServerClock(1_760_000_000)
    private let models = Mutex<[String: ModelStore]>([:])
    private let token: String

    init() throws { token = try randomToken() }

    func model(_ name: String) -> ModelStore {
        models.withLock { models in
            let model = models[name] ?? ModelStore(clock: clock, place: "s3://model/\(name)")
            models[name] = model
            return model
        }
    }

    func real(_ name: String) throws -> any ObjectStorage {
        try require(RealStore.given).bucket(prefix: "\(token)-\(name)")
    }
}

/// Ends who writes to an origin after so many steps, or fails him: calls of the system in a directory, requests to a bucket.
package final class EndingSteps: Sendable {
    package let disk = FaultyFileSystem()
    private let isReached = Atomic<Bool>(false)
    private let count: Int
    private let fate: RequestFate
    private let fault: FaultyFileSystem.Fault

    /// - Parameter isApplied: whether the last request is carried out.
    package init(after count: Int, isApplied: Bool = false) {
        (self.count, fate, fault) = (count, .end(isApplied: isApplied), .stop(after: count))
    }

    /// Fails the next call; of a bucket no answer comes any more.
    package init(failingAfter count: Int) {
        (self.count, fate, fault) = (count, .dropped, .fail(EIO, at: count + 1))
    }

    package func begin() { disk.arm(fault) }

    func schedule(_ request: ModelRequest) -> RequestFate {
        guard request.number > count else { return .answered }
        isReached.store(true, ordering: .relaxed)
        return fate
    }

    package var wereReached: Bool { disk.hasFired || isReached.load(ordering: .relaxed) }
}

extension Publisher {
    @discardableResult
    package func pack(_ name: String, of versions: VersionStore) throws(StoreError) -> PackReport? {
        try engine().pack(name, of: versions).seen().packing
    }

    package func planPacks(
        _ name: String, of versions: VersionStore
    ) throws(StoreError) -> PackReport? {
        try engine(isDraft: true).planPacks(name, of: versions)
    }

    @discardableResult
    package func resign(_ only: ChannelName? = nil) throws -> [ChannelPointer] {
        try engine().resign(only).map { try $0.seen().pointer }
    }

    @discardableResult
    package func rotate(_ rotation: TrustRotation) throws -> TrustRotation.Step {
        let (step, commits) = try engine().rotate(rotation)
        for commit in commits { _ = try commit.seen() }
        return step
    }

    @discardableResult
    package func collect(
        _ retention: OriginRetention = OriginRetention(), isDryRun: Bool
    ) throws(StoreError) -> PruneReport {
        try isDryRun ? planCollection(retention) : collect(retention)
    }
}
