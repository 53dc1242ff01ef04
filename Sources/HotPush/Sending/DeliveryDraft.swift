import CASStore

/// The delivery that a release gets: packs that were made for it, and those that it has and keeps.
///
/// A value: what fits by now, decided before anything is written.
struct DeliveryDraft: Sendable {
    /// The packs that were made and fit.
    let packs: [StagedPack]
    /// Those that the release has and keeps.
    let kept: [Delivery.Pack]
    /// The document.
    let bytes: [UInt8]
    /// Its address.
    let address: ObjectID
    /// What is published.
    let report: PackReport

    /// - Parameters:
    ///   - bases: the contents that are wanted by now; packs made from others are dropped.
    ///   - listed: the contents that the channel offers by now.
    ///   - offered: what the release has by now: somebody may have made packs of it meanwhile, and they stay.
    init(
        _ prepared: PreparedPacks, fitting bases: PackBases, listed: Set<ObjectID>,
        offered: OfferedDelivery.State?
    ) throws(StoreError) {
        let contents = bases.contents
        let packs = prepared.result.packs.filter { pack in
            pack.pack.base.map(contents.contains) ?? true
        }
        let made = Set(packs.map(\.pack.base))
        let damaged = Set(prepared.need.damaged.map(\.address))
        let standing = offered?.packs.filter {
            !made.contains($0.base) && !damaged.contains($0.address)
        }
        let all = Self.fitting(
            (standing ?? []) + packs.map(\.pack), wanted: contents, listed: listed)
        let document = Delivery(manifest: prepared.manifest, packs: all)
        self.packs = packs
        let new = Set(packs.map(\.pack.address))
        kept = all.filter { !new.contains($0.address) }
        bytes = document.serialized()
        address = try ObjectID(of: bytes)
        report = PackReport(
            packs, keeping: all.count - packs.count, from: bases,
            lacking: prepared.need.lacking + prepared.need.refused, prepared.frameCounts)
    }

    /// As many packs as a delivery may name: first go those from contents that nobody lists or asks for.
    static func fitting(
        _ packs: [Delivery.Pack], wanted: Set<ObjectID>, listed: Set<ObjectID>
    ) -> [Delivery.Pack] {
        guard packs.count > Delivery.packCountMax else { return packs }
        func isWanted(_ pack: Delivery.Pack) -> Bool { pack.base.map(wanted.contains) ?? true }
        func isListed(_ pack: Delivery.Pack) -> Bool { pack.base.map(listed.contains) ?? true }
        let others = packs.filter { !isWanted($0) }
        let ordered =
            packs.filter(isWanted) + others.filter(isListed) + others.filter { !isListed($0) }
        return Array(ordered.prefix(Delivery.packCountMax))
    }
}

extension ChannelPointer {
    /// The contents that it offers.
    var contents: Set<ObjectID> { Set(releases.compactMap(\.version?.content)) }

    /// Whether it offers the version with that manifest.
    func offers(_ manifest: ObjectID) -> Bool {
        releases.contains { $0.version?.manifest == manifest }
    }
}
