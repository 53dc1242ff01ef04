package import CASStore

/// Where the files of objects are: in a store, or in an origin.
package protocol ObjectFiles: Sendable {
    func open(_ address: ObjectID) throws(StoreError) -> ObjectReader?
    /// The whole content of an object, compared with its address; `nil` if there is none.
    /// - Throws: `.damagedObject`; `.tooLarge` above `limit` bytes; `.io`.
    func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]?
    func missing(_ object: ObjectID) -> StoreError
}

extension ObjectFiles {
    package func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]? {
        guard let reader = try open(address) else { return nil }
        return try reader.verifiedBytes(limit: limit)
    }
}

extension Store: ObjectFiles {
    package func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(object) is not in the store; run castree fsck --repair, or pull the version "
                + "again", object: object)
    }
}
