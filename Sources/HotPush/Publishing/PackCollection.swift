import CASStore
import StrictJSON

/// The part of collecting an origin that is about deliveries and packs; reads no pack.
///
/// A pack keeps no object and no manifest: all that it gives can be had without it.
final class PackCollection {
    private let directories: OriginWriter.PackDirectories
    private let fileSystem: any FileSystem

    /// - Returns: `nil` for an origin that never had a pack.
    init?(in origin: OriginWriter) throws(StoreError) {
        guard let directories = try origin.packDirectories() else { return nil }
        self.directories = directories
        fileSystem = origin.fileSystem
    }

    /// Adds to a plan the deliveries that no pointer names and that have waited long enough, and the packs that no
    /// remaining delivery names.
    /// - Parameter before: since when no pointer has named a delivery, by its address.
    /// - Returns: the same, as it is now.
    func plan(
        _ plan: inout OriginCollectionPlan, _ retention: OriginRetention,
        since before: [ObjectID: Int64], now: Int64, in origin: OriginWriter
    ) throws(StoreError) -> [ObjectID: Int64] {
        var pointers = try origin.pointers()
        for pointer in plan.pointers { pointers[pointer.channel] = pointer }
        var standing = Self.deliveries(of: pointers.values)
        var since: [ObjectID: Int64] = [:]
        let all = try fileSystem.names(in: directories.deliveries.raw)
            .compactMap(OriginLayout.address(ofManifestFile:))
        for delivery in all.sorted() where !standing.contains(delivery) {
            let start = before[delivery] ?? now
            if retention.graceSeconds > 0, now - start < retention.graceSeconds {
                since[delivery] = start
                plan.waitingDeliveries.append(delivery)
            } else {
                plan.deliveries.append(delivery)
            }
        }
        standing.formUnion(plan.waitingDeliveries)
        plan.packs = try origin.stored(in: directories.packs.raw, except: packs(of: standing))
        return since
    }

    /// The deliveries that pointers name, and the packs that these name.
    func named(
        by pointers: some Sequence<ChannelPointer>, in origin: OriginWriter
    ) throws(StoreError) -> Set<ObjectID> {
        let deliveries = Self.deliveries(of: pointers)
        return try deliveries.union(packs(of: deliveries))
    }

    /// Deletes that part of a plan for which it is time.
    func delete(
        _ plan: OriginCollectionPlan, in origin: OriginWriter, where isNow: (ObjectID) -> Bool
    ) throws(StoreError) {
        let deliveries = plan.deliveries.filter(isNow)
        for delivery in deliveries {
            try fileSystem.removeIfPresent(
                directories.deliveries.raw, OriginLayout.manifestFile(delivery))
        }
        // A delivery that came back after a power cut would name packs that are gone.
        if !deliveries.isEmpty { try origin.sync(directories.deliveries.raw) }
        for pack in plan.packs where isNow(pack.address) {
            try origin.checkInterruption()
            try StoreLayout.withObjectPath(pack.address) { (path) throws(StoreError) in
                try fileSystem.removeIfPresent(directories.packs.raw, path)
            }
        }
    }

    /// Removes what was kept to make the packs of deliveries that are offered no more.
    func dropUnused(in origin: OriginWriter) throws(StoreError) {
        try PackingPlace.dropUnused(
            in: origin.work.raw, offered: Self.deliveries(of: try origin.pointers().values),
            fileSystem)
    }

    private static func deliveries(of pointers: some Sequence<ChannelPointer>) -> Set<ObjectID> {
        Set(pointers.flatMap(\.releases).compactMap { $0.delivery?.address })
    }

    // One that is gone or damaged leads nobody to a pack.
    private func packs(of deliveries: Set<ObjectID>) throws(StoreError) -> Set<ObjectID> {
        var packs: Set<ObjectID> = []
        for delivery in deliveries.sorted() {
            let bytes = try fileSystem.derived { () throws(StoreError) in
                try fileSystem.contents(
                    directories.deliveries.raw, OriginLayout.manifestFile(delivery),
                    limit: Int(Delivery.byteCountMax))
            }
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
}
