import CASStore

/// Reads the deliveries of an origin in a directory.
enum DeliveryFile {
    /// The document; `nil` if it is not there, or is not what its name promises.
    static func read(
        _ delivery: PublishedDelivery, of version: PublishedVersion, _ root: Int32,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> Delivery? {
        do throws(StoreError) {
            let bytes = try fileSystem.contents(
                root, OriginLayout.delivery(delivery.address, in: delivery.epoch),
                limit: Int(Delivery.byteCountMax))
            return try Delivery(bytes, named: delivery, of: version)
        } catch {
            guard [.notFound, .tooLarge, .badPack].contains(error.code) else { throw error }
            return nil
        }
    }
}
