package import CASStore

extension StoreError.Code {
    /// A pack or a delivery is not what it should be; the objects that it was to bring can be had without it.
    package static let badPack = Self("badPack")
}

extension StoreError {
    static func badPack(_ problem: String) -> StoreError {
        StoreError(.badPack, "the pack is refused: \(problem)")
    }
}
