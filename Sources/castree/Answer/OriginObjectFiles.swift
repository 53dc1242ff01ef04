import CASStore
import ClientSystems
import HotPush
import ServeFromCAS

/// The files of an origin that are named by the SHA-256 of their bytes, wherever they stand in it.
struct OriginObjectFiles: ObjectFiles {
    let origin: DirectoryOrigin

    func open(_ address: ObjectID) throws(StoreError) -> ObjectReader? {
        // Nearly everything is an object or a twin; equal addresses are equal bytes, so any of the places will do.
        for kind in [OriginKey.Kind.object, .twin, .pack, .manifest, .delivery, .places] {
            let path = OriginKey(kind, address).path
            if let file = try origin.open(address, at: path) { return file }
        }
        return nil
    }

    func read(_ address: ObjectID, limit: Int) throws(StoreError) -> [UInt8]? {
        guard let reader = try open(address) else { return nil }
        guard reader.byteCount <= Int64(limit) else {
            throw StoreError(
                .tooLarge,
                "object \(address) has \(reader.byteCount) bytes, more than the \(limit) asked for",
                object: address)
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Int(reader.byteCount))
        try reader.forEachPiece { piece throws(StoreError) in
            piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
        }
        return bytes
    }

    func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(object) is not in \(printable(origin.path)); castree publish --verify puts it there again",
            object: object)
    }
}
