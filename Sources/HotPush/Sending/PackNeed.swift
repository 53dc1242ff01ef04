import CASStore

/// A content from which a pack is to lead.
struct PackBase: Sendable, Hashable {
    /// The version that has it.
    var version: String
    var content: ObjectID
    /// Its manifest in the origin; `nil` if it is a version of the store.
    var manifest: ObjectID?
}

/// What an origin has of a delivery that a pointer names.
struct OfferedPacks: Sendable {
    /// The packs that are there, in the order of the delivery.
    var packs: [Delivery.Pack] = []
    /// Those that it names and that are missing, or have other bytes.
    var damaged: [Delivery.Pack] = []
    /// From what it was made; `nil` if that is not known here.
    var work: PackingRecord.Work?
}

/// Which packs of a release are to be made, and which it has: decided before anything is compressed.
///
/// What is there stays, at whatever level it was made; only what lacks is made.
struct PackNeed: Sendable {
    /// The contents from which packs are wanted.
    let bases: [PackBase]
    /// What is there, wanted or not.
    let offered: OfferedPacks
    /// Whether the pack of everything is to be made.
    let needsWhole: Bool
    /// The contents from which packs are to be made.
    private(set) var lacking: [PackBase] = []
    /// The contents asked for by name that gave no pack when it was tried.
    private(set) var refused: [PackBase] = []

    /// - Parameter there: what there is of the delivery; `nil` if there is none.
    init(_ bases: [PackBase], _ there: OfferedPacks?) {
        self.bases = bases
        offered = there ?? OfferedPacks()
        // A delivery without one is of a release for which it would be too large.
        needsWhole = there.map { $0.damaged.contains { $0.base == nil } } ?? true
        let (known, lost) = (Set(offered.packs.map(\.base)), Set(offered.damaged.map(\.base)))
        for base in bases where !known.contains(base.content) {
            // A copy of an origin may come without the record: then what the channel lists has been tried.
            let isKnown =
                there.map { $0.work?.bases.contains(base.content) ?? (base.manifest != nil) }
                ?? false
            if !isKnown || lost.contains(base.content) {
                lacking.append(base)
            } else if base.manifest == nil {
                refused.append(base)
            }
        }
    }

    /// Whether the release has all that it can have.
    var isMet: Bool { !needsWhole && lacking.isEmpty && offered.damaged.isEmpty }
}
