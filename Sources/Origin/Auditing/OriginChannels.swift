package import CASStore
package import HotPush
package import Storage
import VersionTree

/// What the channels of an origin offer, by the log or by devices' copies of it.
package struct OriginChannels: Sendable {
    private let storage: any ObjectStorage

    package init(_ storage: any ObjectStorage) { self.storage = storage }

    package struct Offered: Sendable {
        /// Sorted by name.
        package var pointers: [ChannelPointer] = []
        /// The pointers of the other channels, if only one was asked for.
        package var others: [ChannelPointer] = []
        /// Why `pointers` are the copies that devices see; `nil` if they come from the log.
        package var reason: String?
    }

    /// Reads what is offered, from the copies if the log may not be read.
    /// - Parameter only: one channel; `nil` for all.
    /// - Throws: `.notFound` if there is no channel; `.accessDenied`, `.badPointer`, `.damagedOrigin`; reading errors.
    package func offered(_ only: ChannelName? = nil) throws(StoreError) -> Offered {
        // A caller without the right to read or list learns less.
        let seen = try allowing(
            [.accessDenied], try LogCopy.pointer(only ?? .stable).read(from: storage))
        let hint = seen?.pointer?.log
        let log = OriginLog(storage)
        let read = try allowing([.accessDenied], .some(try log.newestState(from: hint ?? 0)))
        var reason = read == nil ? "the log of \(storage.place) may not be read" : nil
        let state = read ?? nil
        var missing: StoreError?
        if state == nil, reason == nil {
            missing = try allowing(
                [.accessDenied], try OriginTraces(of: storage).missingLog(namedBy: hint))
            reason = missing?.message ?? "there is no log in \(storage.place)"
        }
        let all = if let state { Array(state.pointers.values) } else { try copies(only) }
        let pointers = all.filter { only == nil || $0.channel == only }
            .sorted { $0.channel < $1.channel }
        guard !pointers.isEmpty else {
            if let missing, missing.code == .damagedOrigin { throw missing }
            throw StoreError(
                .notFound,
                "\(storage.place) has no channel\(only.map { " \($0)" } ?? ""); castree publish creates one"
            )
        }
        let others = all.filter { only != nil && $0.channel != only }
        return Offered(
            pointers: pointers, others: others.sorted { $0.channel < $1.channel }, reason: reason)
    }

    private func copies(_ only: ChannelName?) throws(StoreError) -> [ChannelPointer] {
        var pointers: [ChannelPointer] = []
        var refusal: StoreError?
        let wanted = if let only { [only] } else { try names() }
        for name in wanted {
            do throws(StoreError) {
                if let pointer = try storage.pointer(of: name) { pointers.append(pointer) }
            } catch {
                // S3 denies a missing file to callers without the right to list.
                guard error.code == .accessDenied else { throw error }
                refusal = error
            }
        }
        if pointers.isEmpty, let refusal { throw refusal }
        return pointers
    }

    private func names() throws(StoreError) -> [ChannelName] {
        let bytes = try allowing(
            [.accessDenied],
            try storage.contents(OriginLayout.channelList, limit: ChannelList.byteCountMax))
        return try bytes.map { (bytes) throws(StoreError) in
            try ChannelList.names(parsing: bytes)
        } ?? [.stable]
    }

    /// Reads the deliveries of what channels offer, by address, and leaves out unavailable ones.
    /// - Throws: what reading throws, except a refusal.
    package func deliveries(
        of pointers: [ChannelPointer]
    ) throws(StoreError) -> [ObjectID: Delivery] {
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, let version = release.version,
                deliveries[published.address] == nil
            else { continue }
            let key = OriginKey(.delivery, published.address, in: published.epoch)
            deliveries[published.address] = try allowing(
                [.accessDenied, .badPack, .tooLarge],
                try storage.contents(key.path, limit: published.byteCount).map {
                    (bytes) throws(StoreError) in
                    try Delivery(bytes, named: published, of: version)
                })
        }
        return deliveries
    }
}
