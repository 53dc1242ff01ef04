import CASStore
import HotPush
import Storage
import VersionTree

extension OriginState {
    /// The same without channels that no key known here has signed, if a key signs: nothing is fetched or adopted from
    /// them.
    /// - Parameter channel: the channel that is published to; it always counts.
    func counted(_ channel: ChannelName, _ signing: PointerSigning) -> OriginState {
        guard signing.isSigning else { return self }
        let pointers = pointers.filter { $0.key == channel || signing.knowsSigner(of: $0.value) }
        return with(pointers)
    }

    /// The delivery of a version, if possible the channel's.
    func delivery(of manifest: ObjectID, in channel: ChannelName) -> PublishedDelivery? {
        if let delivery = pointers[channel]?.delivery(of: manifest) { return delivery }
        for other in pointers.keys.sorted() {
            if let delivery = pointers[other]?.delivery(of: manifest) { return delivery }
        }
        return nil
    }

    private func releases(besides channel: ChannelName) -> [ChannelRelease] {
        pointers.filter { $0.key != channel }.sorted { $0.key < $1.key }.flatMap(\.value.releases)
            .sorted { ($0.createdAt, $0.sequence) > ($1.createdAt, $1.sequence) }
    }

    /// What a channel offers, then all others, each newest first.
    func releases(first channel: ChannelName) -> [ChannelRelease] {
        (pointers[channel]?.releases ?? []) + releases(besides: channel)
    }

    /// The newest releases of a channel and then of all others, without repeated addresses: they have nearly all files.
    func newest(
        first channel: ChannelName, each address: (LiveRelease) -> ObjectID?
    ) -> [LiveRelease] {
        var seen: Set<ObjectID> = []
        let live = releases(first: channel).compactMap(LiveRelease.init)
        let different = live.filter { address($0).map { seen.insert($0).inserted } ?? false }
        return Array(different.prefix(4))
    }

    var deliveries: Set<ObjectID> {
        Set(pointers.values.flatMap(\.releases).compactMap { $0.delivery?.address })
    }

    func files(
        of manifest: ObjectID, _ storage: any ObjectStorage, _ versions: VersionStore
    ) -> ReleaseFiles? {
        pointers.values.flatMap(\.liveReleases).first { $0.version.manifest == manifest }
            .map { ReleaseFiles($0, storage, versions) }
    }

    /// The state of an origin without a log, from its pointers.
    /// - Parameter damaged: gets a channel whose pointer cannot be read.
    init(
        existingIn storage: any ObjectStorage, damaged: (ChannelName) -> Void = { _ in }
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
