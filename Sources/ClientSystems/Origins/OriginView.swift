import CASStore
import HotPush

/// What one request sees of an origin, unchanged throughout, and what its answer depends on; for one thread.
final class OriginView: ClientOrigin {
    /// A look at a channel, by which an answer can be recognized as still true.
    struct Look: Sendable, Hashable {
        let channel: ChannelName
        let system: ClientSystem
        let number: UInt64
    }

    private let reader: OriginReader
    let mayRead: Bool
    let mayPlan: Bool
    private(set) var isFetch = false
    private var seen: [OriginReader.ChannelKey: ClientChannel?] = [:]
    private(set) var looks: [Look] = []

    /// - Parameters:
    ///   - mayRead: whether a look-up may read files; otherwise it throws `.unread` where it would have to.
    ///   - mayPlan: whether downloads may be prepared; otherwise `.unplanned` is thrown where it would be necessary.
    init(_ reader: OriginReader, mayRead: Bool, mayPlan: Bool) {
        self.reader = reader
        self.mayRead = mayRead
        self.mayPlan = mayPlan
    }

    func willFetch(composing: Bool) throws(StoreError) {
        isFetch = true
        if composing, !mayPlan { throw Self.unplanned }
    }

    static var unplanned: StoreError {
        StoreError(.unplanned, "what a client fetches has to be put together")
    }

    private var mayLook: Bool { isFetch ? mayPlan : mayRead }

    func channel(
        _ name: ChannelName, for system: ClientSystem
    ) throws(StoreError) -> ClientChannel? {
        let key = OriginReader.ChannelKey(channel: name, system: system)
        if let known = seen[key] { return known }
        let (channel, number) = try reader.channel(name, for: system, mayRead: mayRead)
        seen[key] = .some(channel)
        looks.append(Look(channel: name, system: system, number: number))
        return channel
    }

    /// - Throws: also `.damagedOrigin` if it is lost while a channel that was looked at still offers it.
    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
        if let content = try reader.content(of: offer, isFetch: isFetch, mayRead: mayLook) {
            return content
        }
        for (key, channel) in seen {
            guard let version = offer.version,
                channel?.live.contains(where: { $0.offer == offer }) == true,
                try reader.channel(key.channel, for: key.system, mayRead: mayRead).channel
                    == channel
            else { continue }
            throw .damagedOrigin(
                "the origin has lost the manifest or the facts of version \(version.name), which channel \(key.channel) offers; "
                    + "castree fsck says which, and castree publish --verify writes them again",
                object: version.content)
        }
        return nil
    }

    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]? {
        try reader.bytes(of: document, for: system, mayRead: mayLook)
    }

    func patches(of channel: ChannelName) throws(StoreError) -> PatchTable {
        try reader.patches(of: channel, mayRead: mayLook)
    }

    func bytes(
        of patch: ClientPatch, making byteCount: Int64?
    ) throws(StoreError) -> [UInt8]? {
        try reader.bytes(of: patch, making: byteCount, mayRead: mayLook)
    }

    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        try reader.archiveByteCount(named: name, mayRead: mayLook, find)
    }

    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] {
        try reader.encoded(named: name, mayRead: mayLook, write)
    }
}
