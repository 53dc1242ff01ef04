import CASStore
import VersionTree

// Single objects of an origin that many machines publish to: the releases offered tell in which epochs they stand.

extension Pull {
    /// Fetches objects one by one, each from where the origin has it.
    ///
    /// - Returns: the addresses of those that came.
    /// - Throws: as ``fetch(_:from:at:)``. What has come is kept.
    func fetchOneByOne(
        _ lost: [Reference], of origin: String, at location: OriginLocation
    ) throws(StoreError) -> Set<ObjectID> {
        var came: Set<ObjectID> = []
        // A few are asked for before the releases: most origins have no epochs.
        let areFew = lost.count < Self.worthAskingCount
        if areFew { came = try fetch(lost, from: location) }
        var rest = lost.filter { !came.contains($0.address) }
        guard !rest.isEmpty else { return came }
        let places = try places(of: rest, in: origin, at: location)
        if areFew { rest = rest.filter { places[$0.address] != nil } }
        return came.union(try fetch(rest, from: location, at: places))
    }

    /// Where releases of an origin have objects, as far as they stand in epochs; empty if none has an epoch.
    /// - Throws: `.interrupted`, what the store throws.
    private func places(
        of lost: [Reference], in origin: String, at location: OriginLocation
    ) throws(StoreError) -> [ObjectID: String] {
        let pointers: [ChannelPointer]
        do throws(StoreError) {
            pointers = try access.pointers(of: origin, countMax: Self.channelCountMax)
        } catch {
            // Whatever is wrong with its channels, it may still have objects.
            guard error.code != .interrupted else { throw error }
            return [:]
        }
        var places: [ObjectID: String] = [:]
        var wanted = Set(lost.map(\.address))
        var manifestsLeft = Self.locatingManifestCountMax
        for published in try released(by: pointers) {
            // What a publisher sent stands among the manifests.
            if wanted.remove(published.manifest) != nil {
                places[published.manifest] = OriginLayout.manifest(
                    published.manifest, in: published.epoch)
            }
            guard !wanted.isEmpty else { break }
            do throws(StoreError) {
                guard let objects = try objects(of: published, at: location, &manifestsLeft)
                else { continue }
                try locate(&wanted, in: published, objects, at: location, &places)
            } catch {
                // Another release may have it.
                let isLacking: [StoreError.Code] = [
                    .notFound, .mismatch, .damagedOrigin, .badManifest, .tooLarge,
                ]
                guard isLacking.contains(error.code) else { throw error }
            }
        }
        return places
    }

    /// So many manifests are fetched to find objects of versions that this store does not have.
    private static var locatingManifestCountMax: Int { 64 }

    /// The releases with an epoch, each place once; first those of versions that this store has.
    private func released(
        by pointers: [ChannelPointer]
    ) throws(StoreError) -> [PublishedVersion] {
        var seen: Set<PublishedVersion> = []
        let all = pointers.flatMap(\.releases).compactMap(\.version).filter {
            $0.epoch > 0 && seen.insert($0).inserted
        }
        guard !all.isEmpty else { return [] }
        var held: Set<ObjectID> = []
        for (row, _) in try versions.store.versionRows() { held.insert(row.content) }
        return all.filter { held.contains($0.content) } + all.filter { !held.contains($0.content) }
    }

    /// The objects of a release: by a manifest of the same content here, or by its own.
    private func objects(
        of published: PublishedVersion, at location: OriginLocation, _ manifestsLeft: inout Int
    ) throws(StoreError) -> NumberedObjects? {
        for (row, _) in try versions.store.versionRows() where row.content == published.content {
            guard let manifest = try versions.readableManifest(of: row.name) else { continue }
            return NumberedObjects(of: manifest)
        }
        guard manifestsLeft > 0 else { return nil }
        manifestsLeft -= 1
        try refuseTooLarge(published)
        let bytes = try manifest(published, at: location)
        return NumberedObjects(of: try Manifest(parsing: bytes, limits: limits))
    }

    private func locate(
        _ wanted: inout Set<ObjectID>, in published: PublishedVersion, _ objects: NumberedObjects,
        at location: OriginLocation, _ places: inout [ObjectID: String]
    ) throws(StoreError) {
        let named = wanted.filter { objects.number(of: $0) != nil }
        guard !named.isEmpty else { return }
        let epochs = try fetchPlaces(of: published, at: location, count: objects.count)
        for address in named {
            guard let number = objects.number(of: address) else { continue }
            places[address] = OriginLayout.object(address, in: epochs.epoch(of: Int(number)))
        }
        wanted.subtract(named)
    }
}
