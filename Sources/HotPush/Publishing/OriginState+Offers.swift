import CASStore
import Storage
import VersionTree

extension OriginState {
    /// The same without what channels offer that no key known here has signed, where somebody signs: of them nothing is
    /// fetched, and nothing is taken over.
    /// - Parameter channel: the one that is published to; it counts, whoever has signed it.
    func counted(_ channel: ChannelName, _ sealing: PointerSealing) -> OriginState {
        guard sealing.isSigning else { return self }
        let pointers = pointers.filter { $0.key == channel || sealing.knowsSigner(of: $0.value) }
        return OriginState(number: number, entry: entry, pointers: pointers)
    }

    /// The delivery of a version: that of the channel, or else of another one that offers the same.
    func delivery(of manifest: ObjectID, in channel: ChannelName) -> PublishedDelivery? {
        if let delivery = pointers[channel]?.delivery(of: manifest) { return delivery }
        for other in pointers.keys.sorted() {
            if let delivery = pointers[other]?.delivery(of: manifest) { return delivery }
        }
        return nil
    }

    /// What other channels offer, the newest first.
    private func releases(besides channel: ChannelName) -> [OfferedRelease] {
        pointers.filter { $0.key != channel }.sorted { $0.key < $1.key }.flatMap(\.value.releases)
            .sorted { ($0.createdAt, $0.sequence) > ($1.createdAt, $1.sequence) }
    }

    /// What a channel offers, then all others, each the newest first.
    func releases(first channel: ChannelName) -> [OfferedRelease] {
        (pointers[channel]?.releases ?? []) + releases(besides: channel)
    }

    /// The newest releases of a channel, then those of all others, each that differs once: these few have nearly all.
    func newest(
        first channel: ChannelName, each address: (LiveRelease) -> ObjectID?
    ) -> [LiveRelease] {
        var seen: Set<ObjectID> = []
        let live = releases(first: channel).compactMap(LiveRelease.init)
        let different = live.filter { address($0).map { seen.insert($0).inserted } ?? false }
        return Array(different.prefix(4))
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

    /// What an origin is whose publishers write no log: what its pointers say.
    ///
    /// - Parameter damaged: gets a channel whose pointer cannot be read.
    init(
        standingIn storage: any ObjectStorage, damaged: (ChannelName) -> Void = { _ in }
    ) throws(StoreError) {
        var pointers: [ChannelName: ChannelPointer] = [:]
        for channel in try OriginTraces(of: storage).channels {
            let seen = try LogCopy.pointer(channel).read(from: storage)
            if let pointer = seen.pointer {
                pointers[channel] = pointer
            } else if seen.tag != nil {
                damaged(channel)
            }
        }
        let entry = LogEntry(
            kind: .create, createdAt: 0, author: try LogEntry.drawAuthor(), keptFrom: 0)
        self.init(number: 0, entry: entry, pointers: pointers)
    }
}
