import CASStore

/// Reads the deliveries of an origin in a directory.
enum DeliveryFile {
    /// The document; `nil` if it is not there, is no file, or is not what its name promises.
    static func read(
        _ delivery: PublishedDelivery, of version: PublishedVersion, _ root: Int32,
        _ fileSystem: any FileSystem
    ) throws(StoreError) -> Delivery? {
        let bytes = try fileSystem.derived(
            root, OriginLayout.delivery(delivery.address, in: delivery.epoch),
            limit: Int(Delivery.byteCountMax))
        guard let bytes else { return nil }
        do throws(StoreError) {
            return try Delivery(bytes, named: delivery, of: version)
        } catch {
            guard error.code == .badPack else { throw error }
            return nil
        }
    }
}
