import Platform

// Codes of targets above: codes with equal names are equal.
extension StoreError.Code {
    static let network = Self("network")
    static let damagedObject = Self("damagedObject")
    static let badOrigin = Self("badOrigin")
}
