import CASStore
import Storage
import VersionTree

/// What the releases of an origin know of a version's objects, and where the twins stand.
struct StandingFacts {
    /// By object.
    private(set) var objects: [ObjectID: ObjectFacts] = [:]
    /// By twin.
    private var epochs: [ObjectID: Int64] = [:]
    /// Twins that are not there, or not what they should be.
    private(set) var missing: Set<ObjectID> = []

    /// So many releases are looked at: the newest have nearly all that is known.
    private static let countMax = 4

    /// - Parameters:
    ///   - wanted: the objects.
    ///   - channel: whose releases are looked at first.
    ///   - options: whether it is asked if the twins are there.
    /// - Throws: what reading throws. What is damaged is not known.
    init(
        of wanted: [Reference], in state: OriginState, for channel: ChannelName,
        _ source: ReleaseSource, _ options: PublisherOptions
    ) throws(StoreError) {
        for release in Self.newest(in: state, first: channel) {
            guard objects.count < wanted.count else { break }
            guard let facts = try source.facts(of: release),
                let twins = try source.twins(of: release)
            else { continue }
            for (twin, epoch) in twins where epochs[twin.address] == nil {
                epochs[twin.address] = epoch
            }
            for object in wanted where objects[object.address] == nil {
                guard let known = facts[object.address], known.byteCount == object.byteCount
                else { continue }
                objects[object.address] = known
            }
        }
        let storage = source.storage
        if options.verifiesObjects || storage.readsFreely { try dropMissing(storage, options) }
    }

    /// The epoch in which a known twin stands.
    func epoch(of twin: ObjectID) -> Int64? { epochs[twin] }

    private static func newest(in state: OriginState, first channel: ChannelName) -> [LiveRelease] {
        let offered =
            (state.pointers[channel]?.releases ?? []) + state.releases(besides: channel)
        var seen: Set<ObjectID> = []
        let releases = offered.compactMap(LiveRelease.init)
            .filter { release in release.facts.map { seen.insert($0.address).inserted } ?? false }
        return Array(releases.prefix(countMax))
    }

    /// Forgets objects whose twins are not there.
    private mutating func dropMissing(
        _ storage: any ObjectStorage, _ options: PublisherOptions
    ) throws(StoreError) {
        var wanted: [OriginKey: Int64] = [:]
        for twin in objects.values.compactMap(\.twin) {
            let key = OriginKey(.twin, twin.address, in: epochs[twin.address] ?? 0)
            wanted[key] = twin.byteCount
        }
        missing = Set(try StandingFiles(in: storage, options).missing(of: wanted).map(\.address))
        let missing = missing
        objects = objects.filter { object in
            object.value.twin.map { !missing.contains($0.address) } ?? true
        }
    }
}
