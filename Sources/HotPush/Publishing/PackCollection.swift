import CASStore
import StrictJSON

/// The part of collecting an origin that is about deliveries and packs; reads no pack.
///
/// A pack keeps no object and no manifest: all that it gives can be had without it.
final class PackCollection: CollectedFiles {
    let origin: OriginWriter
    private let directories: OriginWriter.PackDirectories

    var documents: Int32 { directories.deliveries.raw }
    var shards: Int32 { directories.packs.raw }
    var places: CollectedPlaces {
        CollectedPlaces(
            documents: \.deliveries, waiting: \.waitingDeliveries, files: \.packs,
            since: \.deliveriesSince)
    }

    /// - Returns: `nil` for an origin that never had a pack.
    init?(in origin: OriginWriter) throws(StoreError) {
        guard let directories = try origin.packDirectories() else { return nil }
        self.directories = directories
        self.origin = origin
    }

    func document(of release: OfferedRelease) -> ObjectID? { release.delivery?.address }

    // One that is gone or damaged leads nobody to a pack.
    func files(of deliveries: Set<ObjectID>) throws(StoreError) -> Set<ObjectID> {
        let fileSystem = origin.fileSystem
        var packs: Set<ObjectID> = []
        for delivery in deliveries.sorted() {
            let bytes = try fileSystem.derived(
                documents, OriginLayout.manifestFile(delivery), limit: Int(Delivery.byteCountMax))
            guard let bytes, try ObjectID(of: bytes) == delivery else { continue }
            // The text is what the publisher wrote; one that is no JSON names no packs.
            let document = try? JSONValue.parse(bytes)
            for pack in document?["packs"]?.asArray ?? [] {
                if let address = pack["address"]?.asString.flatMap(ObjectID.init) {
                    packs.insert(address)
                }
            }
        }
        return packs
    }

    /// Removes what was kept to make the packs of deliveries that are offered no more.
    func dropUnused() throws(StoreError) {
        try PackingPlace.dropUnused(
            in: origin.work.raw, offered: named(by: origin.pointers().values), origin.fileSystem)
    }
}
