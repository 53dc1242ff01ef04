import BucketTestSupport

@testable import HotPush

/// An origin in a bucket with places, garbage and a grace behind it, and what looks at it.
struct AuditedWorld {
    let world: BucketWorld
    var store: ModelStore { world.store }
    private let copy: PublishingPlace?

    /// Versions 1 to 3 are gone, then 2 is back in beta, with objects of two epochs; stable offers 5 and 4.
    init(_ shelf: BucketWorld.Shelf? = nil, in kind: OriginPlace = .bucket) throws {
        world = try BucketWorld(shelf)
        for version in ["1", "2", "3"] { try world.publish(version, by: world.publisher()) }
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        try world.publish("4", by: world.publisher())
        try world.publish("2", to: "beta", by: world.publisher())
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        try world.publish("5", by: world.publisher())
        copy = kind == .bucket ? nil : try PublishingPlace(kind)
        for (key, file) in files { try copy?.set(key, file.bytes) }
    }

    func storage() throws -> any ObjectStorage { try copy?.storage() ?? ModelStorage(store) }

    /// The bytes of all files.
    func contents() throws -> [String: [UInt8]] {
        try copy?.published() ?? files.mapValues(\.bytes)
    }

    /// Puts or removes a file, as a person with another tool might.
    func set(_ key: String, _ bytes: [UInt8]?) throws {
        if let copy { try copy.set(key, bytes) } else { store.set(key, bytes) }
    }

    /// A check that reads all bytes, unless told otherwise.
    func audit(
        _ bucket: (any ObjectStorage)? = nil, repairingFrom stores: [VersionStore]? = nil,
        _ change: (inout OriginAuditOptions) -> Void = { _ in }
    ) throws -> OriginAuditReport {
        var options = OriginAuditOptions()
        options.check.isDeep = true
        options.pause = { _ in }
        change(&options)
        return try OriginAudit(
            bucket ?? storage(), options,
            repairingFrom: stores.map { OriginMender($0) }
        ).run()
    }

    /// The number of the newest entry.
    var entryCount: Int { store.files.keys.count { $0.hasPrefix("log/") } }

    /// The first key of a kind that the release in beta needs.
    func key(of kind: String) throws -> String {
        let bucket = ModelStorage(store)
        let state = try require(try OriginLog(bucket).state(from: 0))
        let pointer = try require(state.pointers[try ChannelName("beta")])
        let release = try require(pointer.liveReleases.first)
        let reader = ReleaseFiles(release, bucket, nil)
        let files = try reader.contents() + reader.packed() + reader.told()
        return try require(files.map(\.key.path).first { $0.contains("\(kind)/") })
    }

    func bytes(_ key: String) throws -> [UInt8] { try require(contents()[key]) }

    var files: [String: ModelStore.File] { store.files }
}
