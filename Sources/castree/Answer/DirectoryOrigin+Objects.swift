package import CASStore
import HotPush
import ServeFromCAS

/// The files that are named by the SHA-256 of their bytes, wherever they are in the origin.
extension DirectoryOrigin: ObjectFiles {
    package func open(_ address: ObjectID) throws(StoreError) -> ObjectReader? {
        // Nearly everything is an object or a deflated copy.
        let kinds = [OriginKey.Kind.object, .deflatedCopy, .pack, .manifest, .delivery, .places]
        return try first(of: kinds.map { OriginKey($0, address) }) { (key) throws(StoreError) in
            try open(address, at: key.path)
        }
    }

    package func missing(_ object: ObjectID) -> StoreError {
        StoreError(
            .notFound,
            "object \(object) is not in \(printable(path)); castree publish --verify restores it",
            object: object)
    }
}
