import CASStore
import Storage
import VersionTree

extension OriginState {
    /// The delivery of a version: that of the channel, or else of another one that offers the same.
    func delivery(of manifest: ObjectID, in channel: ChannelName) -> PublishedDelivery? {
        if let delivery = pointers[channel]?.delivery(of: manifest) { return delivery }
        for other in pointers.keys.sorted() {
            if let delivery = pointers[other]?.delivery(of: manifest) { return delivery }
        }
        return nil
    }

    /// What other channels offer, the newest first.
    func releases(besides channel: ChannelName) -> [OfferedRelease] {
        pointers.filter { $0.key != channel }.sorted { $0.key < $1.key }.flatMap(\.value.releases)
            .sorted { ($0.createdAt, $0.sequence) > ($1.createdAt, $1.sequence) }
    }

    /// The deliveries that all pointers name.
    var deliveries: Set<ObjectID> {
        Set(pointers.values.flatMap(\.releases).compactMap { $0.delivery?.address })
    }

    /// The files of a release on offer that has a manifest.
    func files(
        of manifest: ObjectID, _ storage: any ObjectStorage, _ versions: VersionStore
    ) -> ReleaseFiles? {
        pointers.values.flatMap(\.liveReleases).first { $0.version.manifest == manifest }
            .map { ReleaseFiles($0, storage, versions) }
    }
}
