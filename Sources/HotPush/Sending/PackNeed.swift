import CASStore

/// Which packs of a release are to be made, and which it has: decided before anything is compressed.
///
/// What is there stays, at whatever level it was made; only what lacks is made.
struct PackNeed: Sendable {
    /// The contents from which packs are wanted.
    let bases: PackBases
    /// The packs that are there; all that the delivery names, wanted or not.
    let packs: [Delivery.Pack]
    /// Those that the delivery names and that are missing, or have other bytes.
    let damaged: [Delivery.Pack]
    /// Whether the pack of everything is to be made.
    let needsWhole: Bool
    /// The contents from which packs are to be made.
    let lacking: [PackBases.Base]
    /// The contents asked for by name that gave no pack when it was tried.
    let refused: [PackBases.Base]
    /// From what the packs that are there were made, as far as that is known.
    let work: PackingRecord.Work?

    /// - Parameter offered: what there is of the delivery; `nil` if there is none.
    init(_ bases: PackBases, _ offered: OfferedDelivery.State?) {
        self.bases = bases
        packs = offered?.packs ?? []
        damaged = offered?.damaged ?? []
        work = offered?.work
        // A delivery without one is of a release for which it would be too large.
        needsWhole = offered.map { $0.damaged.contains { $0.base == nil } } ?? true
        let there = Set(packs.compactMap(\.base))
        let lost = Set(damaged.compactMap(\.base))
        var (lacking, refused): ([PackBases.Base], [PackBases.Base]) = ([], [])
        for base in bases.all where !there.contains(base.content) {
            let isKnown =
                offered.map { offered in
                    // A copy of an origin may come without the record: then what the channel lists has been tried.
                    offered.work?.bases.contains(base.content) ?? (base.manifest != nil)
                } ?? false
            if !isKnown || lost.contains(base.content) {
                lacking.append(base)
            } else if base.manifest == nil {
                refused.append(base)
            }
        }
        (self.lacking, self.refused) = (lacking, refused)
    }

    /// Whether the release has all that it can have.
    var isMet: Bool { !needsWhole && lacking.isEmpty && damaged.isEmpty }
}
