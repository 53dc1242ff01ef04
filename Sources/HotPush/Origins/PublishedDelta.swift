package import CASStore

/// A delta in `manifests/`: which manifest it leads to, and from which.
package struct PublishedDelta: Sendable, Hashable {
    /// The address of the manifest that it leads to.
    package var manifest: ObjectID
    /// The address of the manifest that the client has.
    package var base: ObjectID
}

extension ChannelPointer {
    /// The older manifests of the channel from which a delta to a version may start, newest first.
    func deltaBases(of version: PublishedVersion) -> [ObjectID] {
        guard version.isWorthDelta else { return [] }
        var bases: [ObjectID] = []
        for older in releases.compactMap(\.version)
        where older.manifest != version.manifest && older.isWorthDelta {
            if !bases.contains(older.manifest) { bases.append(older.manifest) }
            if bases.count == ManifestDelta.baseCountMax { break }
        }
        return bases
    }
}

extension PublishedVersion {
    fileprivate var isWorthDelta: Bool {
        let limits = ManifestDelta.manifestByteCountMin...ManifestDelta.manifestByteCountMax
        return limits ~= manifestByteCount
    }
}
