import CASStore
import Storage
import VersionTree

/// Finds where objects of a release stand that releases on offer have, too: those may be used as they are.
struct ReleaseBases {
    private let storage: any ObjectStorage
    private let versions: VersionStore

    /// So many releases are looked at.
    private static let countMax = 4

    init(_ storage: any ObjectStorage, _ versions: VersionStore) {
        self.storage = storage
        self.versions = versions
    }

    /// The epochs of those objects that the newest releases on offer have.
    ///
    /// - Parameter channel: whose releases are looked at first.
    func epochs(
        of objects: [Reference], in state: OriginState, for channel: ChannelName
    ) throws(StoreError) -> [ObjectID: Int64] {
        var lacking = Set(objects.map(\.address))
        var epochs: [ObjectID: Int64] = [:]
        for release in newest(in: state, first: channel) {
            if lacking.isEmpty { break }
            guard let standing = try standing(release) else { continue }
            for (object, epoch) in standing where lacking.remove(object.address) != nil {
                epochs[object.address] = epoch
            }
        }
        return epochs
    }

    /// The newest releases of a channel, then those of all others, each version once.
    private func newest(in state: OriginState, first channel: ChannelName) -> [LiveRelease] {
        let offered =
            (state.pointers[channel]?.releases ?? []) + state.releases(besides: channel)
        var seen: Set<ObjectID> = []
        let releases = offered.compactMap(LiveRelease.init)
            .filter { seen.insert($0.version.manifest).inserted }
        return Array(releases.prefix(Self.countMax))
    }

    /// Where the objects of a release stand; `nil` if that cannot be read, which only costs sending them.
    private func standing(
        _ release: LiveRelease
    ) throws(StoreError) -> [(object: Reference, epoch: Int64)]? {
        // It says that it is damaged to whoever checks the origin; here it is merely no base.
        try PackBases.harmless { () throws(StoreError) in
            try ReleaseFiles(release, storage, versions).objects()
        }
    }
}
