import CASStore
import VersionTree

// Which packs lead to a release of a castree origin, and which of them to take.

extension Pull {
    /// How to get a release by packs; `nil` if it has none that are of use here.
    ///
    /// One request, and whatever is wrong with the answer, the objects can be had without it.
    /// - Throws: `.interrupted`, what the store throws.
    func choice(
        for published: PublishedVersion, _ offered: OfferedRelease, at location: OriginLocation
    ) throws(StoreError) -> DeliveryChoice? {
        guard options.takesPacks,
            let delivery = try delivery(of: offered, at: location)
        else { return nil }
        var held: Set<ObjectID> = []
        for (row, _) in try versions.store.versionRows() where row.isComplete {
            held.insert(row.content)
        }
        return DeliveryChoice(delivery, of: published) { held.contains($0) }
    }

    /// The delivery that a release names; `nil` if it names none, or it is of no use.
    func delivery(
        of offered: OfferedRelease, at location: OriginLocation
    ) throws(StoreError) -> Delivery? {
        do throws(StoreError) {
            return try access.delivery(of: offered, at: location)
        } catch {
            guard error.isUselessDelivery else { throw error }
            noteFallback(nil, error, nil)
            return nil
        }
    }

    /// Notes that a pack, or a delivery, was of no use.
    func noteFallback(_ pack: Delivery.Pack?, _ error: StoreError, _ session: FetchSession?) {
        options.journal?.record(
            .fellBack(
                pack: pack?.address, reason: error.message, objects: session?.missing.count ?? 0))
    }

    /// The bytes of an offer's manifest, if they are in the store.
    func heldManifest(of offer: FoundRelease) throws(StoreError) -> [UInt8]? {
        guard let published = offer.published else { return nil }
        do throws(StoreError) {
            return try versions.store.read(
                published.manifest, limit: Int(published.manifestByteCount))
        } catch {
            // It comes again.
            guard error.code == .damagedObject || error.code == .tooLarge else { throw error }
            return nil
        }
    }

    /// The offer with its files: by the manifest in the store, or by fetching it.
    func resolved(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard offer.isPromise else { return offer }
        if let bytes = try heldManifest(of: offer) { return try resolve(offer, with: bytes) }
        return try resolvedByFetching(offer)
    }
}
