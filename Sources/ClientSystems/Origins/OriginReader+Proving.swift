import CASStore
import HotPush
import Origin
import Synchronization
import VersionTree

// Checks a history against a signed pointer, since histories are not signed.

extension OriginReader {
    /// The offers of a channel that were found to follow from their releases.
    struct Proof: Sendable {
        /// The channel and the configuration they were checked with.
        let channel: UInt64, configuration: UInt64
        let offers: Set<ProvedOffer>
    }

    struct ProvedOffer: Hashable, Sendable {
        let offer: ClientOffer
        let release: ChannelRelease
        let configuration: ClientConfiguration
    }

    /// Refuses a channel whose history contains something that does not follow from the pointer.
    ///
    /// It refuses all of the channel for the system's clients: leaving out one release would lead them back to an
    /// older one. Offers are checked once.
    /// - Parameter number: differs for each reading of the channel.
    /// - Throws: `.untrusted` with what is wrong; `.unread`; what reading throws.
    func prove(
        _ channel: ClientChannel, _ number: UInt64, _ pointer: ChannelPointer,
        for system: ClientSystem, mayRead: Bool
    ) throws(StoreError) {
        let kept = try configuration(of: system, mayRead: mayRead)
        let key = ChannelKey(channel: pointer.channel, system: system)
        let known = state.withLock { $0.proofs[key] }
        if let known, known.channel == number, known.configuration == kept.reading { return }
        guard let configuration = try kept.outcome.get(),
            let feed = ClientSystem.feeds.first(where: { $0.system == system })
        else { return }
        let latest = pointer.latestOffer(among: channel.past.count)
        var proved: Set<ProvedOffer> = []
        for live in channel.live {
            let (offer, release) = (live.offer, live.release)
            let this = ProvedOffer(offer: offer, release: release, configuration: configuration)
            proved.insert(this)
            if known?.offers.contains(this) == true { continue }
            guard max(offer.createdAt, offer.firstOfferedAt) <= latest else {
                throw forged(offer, "it is said to be later than the pointer", key)
            }
            let content = try content(of: offer, mayRead: mayRead)
            if offer.version != nil, content == nil {
                // Missing files are reported when they are requested; nothing can be checked without them.
                proved.remove(this)
                continue
            }
            let client = ClientRelease(
                release: release, configuration: configuration, content: content,
                now: offer.createdAt
            ) { (address) throws(StoreError) in
                try self.object(address, of: content, mayRead: mayRead)
            } digest: { (_) throws(StoreError) in
                throw StoreError(.unsupported, "no archive is composed to prove an offer")
            }
            let problem: String?
            do throws(StoreError) {
                problem = try feed.forgery(in: offer, of: client) {
                    (document) throws(StoreError) in
                    try self.bytes(of: document, for: system, mayRead: mayRead)
                }
            } catch {
                // No publisher would have offered it.
                guard error.code == .unsuitableRelease else { throw error }
                problem = error.message
            }
            if let problem { throw forged(offer, problem, key) }
        }
        let proof = Proof(channel: number, configuration: kept.reading, offers: proved)
        state.withLock { $0.proofs[key] = proof }
    }

    private func object(
        _ address: ObjectID, of content: ClientContent?, mayRead: Bool
    ) throws(StoreError) -> [UInt8] {
        guard let byteCount = content?.facts[address]?.byteCount,
            let bytes = try bytes(
                of: OriginKey(.object, address), byteCount: byteCount, mayRead: mayRead)
        else {
            throw .damagedOrigin(
                "\(OriginLayout.path(.object, address)) is missing; castree publish --verify repairs it",
                object: address)
        }
        return bytes
    }

    private func forged(
        _ offer: ClientOffer, _ problem: String, _ key: ChannelKey
    ) -> StoreError {
        let path = OriginLayout.clientHistory(of: key.channel, key.system.rawValue)
        let name = offer.version.map { "version \($0.name)" } ?? "the embedded version"
        return .untrusted(
            "what \(path) says of \(name) does not follow from the release, which is signed: \(problem); nobody is "
                + "answered from it: \(Self.rewriting)")
    }
}
