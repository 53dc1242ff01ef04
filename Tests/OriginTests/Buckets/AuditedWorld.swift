import OriginTestSupport

@testable import Origin

/// An origin in a bucket with places, garbage and a grace behind it, and what looks at it.
struct AuditedWorld {
    let world: BucketWorld
    var store: ModelStore { world.store }
    private let copy: PublishingPlace?

    /// Versions 1 to 3 are gone, then 2 is back in beta, with objects of two epochs; stable offers 5 and 4.
    init(_ sourceStore: BucketWorld.SourceStore? = nil, in kind: OriginPlace = .bucket) throws {
        world = try BucketWorld(sourceStore, offering: "1", "2", "3")
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        try world.publish("4")
        try world.publish("2", to: "beta")
        _ = try OriginPruner(world.publisher()).prune(keeping: 1, grace: 0)
        try world.publish("5")
        copy = kind == .bucket ? nil : try PublishingPlace(kind)
        for (key, file) in files { try copy?.set(key, file.bytes) }
    }

    func storage() throws -> any ObjectStorage { try copy?.storage() ?? ModelStorage(store) }

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
        var options = OriginAuditOptions.hasty(isDeep: true)
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
        let pointer = try require(world.state().pointers[try ChannelName("beta")])
        let release = try require(pointer.liveReleases.first)
        let reader = ReleaseFiles(release, ModelStorage(store), nil)
        let files = try reader.contents() + reader.packed() + reader.announced()
        return try require(files.map(\.key.path).first { $0.contains("\(kind)/") })
    }

    func bytes(_ key: String) throws -> [UInt8] { try require(contents()[key]) }

    var files: [String: ModelStore.File] { store.files }
}

extension BucketWorld {
    func state() throws -> Origin.OriginState {
        try require(try OriginLog(ModelStorage(store)).state(from: 0))
    }
}
