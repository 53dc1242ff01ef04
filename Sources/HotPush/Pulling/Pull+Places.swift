import CASStore
import VersionTree

// Where the objects of a release stand, at an origin that many machines publish to.

extension Pull {
    /// The offer with the files of its manifest, which is fetched; what says where they stand comes at the same time.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`, `.damagedOrigin`.
    func resolvedByFetching(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard let published = offer.published else { return offer }
        guard published.places != nil, offer.places == nil else {
            return try resolve(offer, with: manifest(published, at: offer.location))
        }
        let wanted = [OriginDocument(manifestOf: published)] + placesDocument(of: published)
        let bytes = try documents(wanted, at: offer.location)
        var found = try resolve(offer, with: bytes[0])
        let objects = NumberedObjects(of: found.release)
        found.places = try Places(bytes[1], of: published, count: objects.count)
        return found
    }

    /// Has a download ask for each object where it stands, once what says so is here.
    ///
    /// A pack needs none of it: only what no pack has brought is asked for one by one.
    /// - Throws: as ``resolvedByFetching(_:)``.
    func locate(_ download: Download, of offer: FoundRelease) throws(StoreError) {
        guard let published = offer.published, published.places != nil else { return }
        let objects = NumberedObjects(of: download.plan.release)
        let places =
            if let known = offer.places { known } else {
                try fetchPlaces(of: published, at: offer.location, count: objects.count)
            }
        download.locate { address in
            // Manifest and places have been compared: they are of the same objects.
            objects.number(of: address).map { places.epoch(of: Int($0)) } ?? published.epoch
        }
    }

    /// Where the objects of a release stand.
    /// - Parameter count: the number of distinct addresses in its manifest.
    func fetchPlaces(
        of published: PublishedVersion, at location: OriginLocation, count: Int
    ) throws(StoreError) -> Places {
        let wanted = placesDocument(of: published)
        guard !wanted.isEmpty else {
            return Places(repeatElement(published.epoch, count: count))
        }
        return try Places(
            try documents(wanted, at: location)[0], of: published, count: count)
    }

    private func placesDocument(of published: PublishedVersion) -> [OriginDocument] {
        published.places.map { [OriginDocument(places: $0, of: published)] } ?? []
    }
}

extension NumberedObjects {
    /// The objects of a release whose files all have addresses.
    init(of release: Release) {
        self.init(
            release.files.compactMap { file in
                file.address.map { Reference(address: $0, byteCount: file.byteCount ?? 0) }
            })
    }
}
