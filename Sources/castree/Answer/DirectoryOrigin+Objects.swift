package import CASStore
import HotPush
import ServeFromCAS

/// The files that are named by the SHA-256 of their bytes, wherever they are in the origin.
extension DirectoryOrigin: ObjectFiles {
    package func open(_ address: ObjectID) throws(StoreError) -> ObjectReader? {
        // Nearly everything is an object or a deflated copy; equal addresses are equal bytes, so any place will do.
        for kind in [OriginKey.Kind.object, .twin, .pack, .manifest, .delivery, .places] {
            let path = OriginKey(kind, address).path
            if let file = try open(address, at: path) { return file }
        }
        return nil
    }

    package func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .missingObject,
            "object \(object) is not in \(printable(path)); castree publish --verify restores it",
            object: object)
    }
}
