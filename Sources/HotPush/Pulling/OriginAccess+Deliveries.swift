package import CASStore

// Which packs lead to a release: a document beside the pointer.
extension OriginAccess {
    /// The delivery that a release names; `nil` if it names none.
    /// - Throws: `.badPack`, `.tooLarge`, `.network` if it is of no use; `.interrupted`.
    func delivery(
        of release: OfferedRelease, at location: OriginLocation
    ) throws(StoreError) -> Delivery? {
        guard let published = release.delivery, let version = release.version else { return nil }
        let answer = try document(
            OriginLayout.delivery(published.address, in: published.epoch), at: location,
            byteCountMax: published.byteCount, isOptional: true)
        guard answer.head.status == 200 else {
            throw .badPack("the origin answered \(answer.head.status) for its delivery")
        }
        return try Delivery(answer.bytes, named: published, of: version)
    }

    /// The deliveries of what channels offer, by address; those that cannot be had, or are not asked for within ten
    /// minutes, are left out.
    /// - Parameter text: as for ``pointers(of:)``.
    /// - Throws: `.badOrigin`, `.interrupted`.
    package func deliveries(
        of pointers: [ChannelPointer], at text: String
    ) throws(StoreError) -> [ObjectID: Delivery] {
        let location = try OriginReference(parsing: text).location
        let end = ContinuousClock.now + DocumentFetch.patience
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointers.flatMap(\.releases) {
            guard let published = release.delivery, deliveries[published.address] == nil,
                ContinuousClock.now < end
            else { continue }
            do throws(StoreError) {
                deliveries[published.address] = try delivery(of: release, at: location)
            } catch {
                guard error.isUselessDelivery else { throw error }
            }
        }
        return deliveries
    }
}

extension StoreError {
    /// Whether a delivery cannot be had, or is not what it should be: everything can be had without it.
    var isUselessDelivery: Bool { [.badPack, .tooLarge, .network].contains(code) }
}
