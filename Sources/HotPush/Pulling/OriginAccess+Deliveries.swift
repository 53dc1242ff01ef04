package import CASStore

extension OriginAccess {
    /// The deliveries of what a channel offers, by address; those that cannot be had are left out.
    /// - Parameter text: as for ``pointers(of:)``.
    /// - Throws: `.badOrigin`, `.interrupted`.
    package func deliveries(
        of pointer: ChannelPointer, at text: String
    ) throws(StoreError) -> [ObjectID: Delivery] {
        let location = try OriginReference(parsing: text).location
        var deliveries: [ObjectID: Delivery] = [:]
        for release in pointer.releases {
            guard let promised = release.delivery, let version = release.version else { continue }
            do throws(StoreError) {
                let answer = try document(
                    OriginLayout.delivery(promised.address), at: location,
                    byteCountMax: promised.byteCount)
                guard answer.head.status == 200,
                    try ObjectID(of: answer.bytes) == promised.address
                else { continue }
                deliveries[promised.address] = try Delivery(parsing: answer.bytes, of: version)
            } catch {
                guard [.badPack, .tooLarge, .network].contains(error.code) else { throw error }
            }
        }
        return deliveries
    }
}
