import HotPush
import Origin
import Platform

// The parts that offers of all systems share: their times, and what the history says of the same release.

extension ClientHistory {
    var newest: ClientOffer? { offers.max { $0.sequence < $1.sequence } }

    /// The last offer with a sequence, which may stand twice.
    func offer(of sequence: Int64) -> ClientOffer? {
        offers.last { $0.sequence == sequence }
    }

    func firstOffer(of content: ObjectID?) -> ClientOffer? {
        offers.filter { $0.content == content }.min { $0.sequence < $1.sequence }
    }
}

extension ClientOffer {
    /// The content that devices get; `nil` for what was shipped with the app.
    var content: ObjectID? { version?.content }

    /// Begins the offer of a release: its position, target and times, without ids.
    ///
    /// Times grow from offer to offer, even if the clock goes back, because clients order by them.
    /// - Throws: `.badPointer` if facts are missing; publishing makes them first.
    init(
        beginning release: ClientRelease, after history: ClientHistory
    ) throws(StoreError) {
        let target: Target
        switch release.release.target {
        case .embedded: target = .embedded
        case .version(let version):
            guard let facts = release.release.facts?.address else {
                throw StoreError(
                    .badPointer,
                    "version \(version.name) has no facts yet: publish it again, so that they are made"
                )
            }
            // The pointer says in which generations (`epoch`) the files are.
            target = .version(version.unplaced, facts: facts)
        }
        let latest = history.offers.map(\.createdAt).max()
        let createdAt = latest.map { max(release.now, $0 + 1) } ?? release.now
        self.init(
            sequence: release.release.sequence, target: target, createdAt: createdAt,
            firstOfferedAt: history.firstOffer(of: release.release.version?.content)?.firstOfferedAt
                ?? createdAt)
    }
}

extension ClientDocument {
    init(
        of bytes: [UInt8], id: String, platform: String = "", runtimeVersion: String = ""
    ) throws(StoreError) {
        self.init(
            platform: platform, runtimeVersion: runtimeVersion, id: id,
            address: try ObjectID(of: bytes), byteCount: Int64(bytes.count))
    }

    /// The spelling of a UUID (RFC 9562, section 4), of its 16 bytes.
    static func uuid(_ bytes: [UInt8]) -> String {
        [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { Hex.string(bytes[$0]) }.joined(separator: "-")
    }
}
