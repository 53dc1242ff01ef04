import CASStore
import HotPush

/// What one request sees of an origin, and what its answer depends on.
///
/// A channel that is asked for twice is the same both times, whatever happens meanwhile. For one thread.
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
    /// Whether the request is for files of a release, and no check.
    private var isFetch = false
    private var seen: [OriginReader.ChannelKey: ClientChannel?] = [:]
    /// The channels that were asked for.
    private(set) var looks: [Look] = []

    /// - Parameters:
    ///   - mayRead: whether a look-up may read files; otherwise it throws `.unread` where it would have to.
    ///   - mayPlan: whether what clients fetch may be put together; otherwise `.unplanned` is thrown where it would be.
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

    /// Looks something up, as far as may be for such a request.
    private func found<Value>(
        _ look: (_ mayRead: Bool) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        do throws(StoreError) {
            return try look(isFetch ? mayPlan : mayRead)
        } catch {
            throw isFetch && error.code == .unread ? Self.unplanned : error
        }
    }

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

    func content(of offer: ClientOffer) throws(StoreError) -> ClientContent? {
        try found { (mayRead) throws(StoreError) in
            try reader.content(of: offer, isFetch: isFetch, mayRead: mayRead)
        }
    }

    func bytes(of address: ObjectID, byteCount: Int64) throws(StoreError) -> [UInt8]? {
        try found { (mayRead) throws(StoreError) in
            try reader.bytes(
                of: address, at: OriginLayout.object(address), byteCount: byteCount,
                mayRead: mayRead)
        }
    }

    func bytes(
        of document: ClientDocument, for system: ClientSystem
    ) throws(StoreError) -> [UInt8]? {
        try found { (mayRead) throws(StoreError) in
            try reader.bytes(
                of: document.address,
                at: OriginLayout.clientDocument(document.address, of: system.rawValue),
                byteCount: document.byteCount, mayRead: mayRead)
        }
    }

    func archiveByteCount(
        named name: String, _ find: () throws(StoreError) -> Int64?
    ) throws(StoreError) -> Int64? {
        try found { (mayRead) throws(StoreError) in
            try reader.archiveByteCount(named: name, mayRead: mayRead, find)
        }
    }

    func encoded(
        named name: String, _ write: () throws(StoreError) -> [UInt8]
    ) throws(StoreError) -> [UInt8] {
        try found { (mayRead) throws(StoreError) in
            try reader.encoded(named: name, mayRead: mayRead, write)
        }
    }
}
