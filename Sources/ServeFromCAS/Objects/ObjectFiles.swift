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
        guard reader.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "object \(address) has \(reader.byteCount) bytes, more than the \(limit) asked for",
                object: address)
        }
        return try reader.verifiedBytes()
    }
}

extension ObjectReader {
    func verifiedBytes() throws(StoreError) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(byteCount))
        try forEachPiece { piece throws(StoreError) in
            piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        return bytes
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
