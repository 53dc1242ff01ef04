package import CASStore

extension StoreError.Code {
    /// A pack or a delivery is not what it should be; the objects that it was to bring can be had without it.
    package static let badPack = Self("badPack")
}

extension StoreError {
    static func badPack(_ problem: String) -> StoreError {
        StoreError(.badPack, "the pack is refused: \(problem)")
    }

    /// The pack may be right: what it leads from is not.
    static func damagedBases(_ bases: [ObjectID]) -> StoreError {
        let others = bases.count == 1 ? "" : " and \(bases.count - 1) more"
        return StoreError(
            .badPack,
            "the pack cannot be used: of what it leads from, object \(bases[0])\(others) is damaged in this store",
            object: bases[0])
    }
}
