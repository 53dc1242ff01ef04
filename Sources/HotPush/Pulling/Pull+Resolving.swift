import CASStore
import StrictJSON
import VersionTree

// What a release of a castree origin names by the SHA-256 of its bytes: its manifest, where its objects stand, which packs
// lead to it.

extension Pull {
    /// The offer with its files: by the manifest in the store, or by fetching it.
    func resolved(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard offer.isPromise else { return offer }
        if let bytes = try heldManifest(of: offer) { return try resolve(offer, with: bytes) }
        return try resolvedByFetching(offer)
    }

    /// The bytes of an offer's manifest, if they are in the store.
    func heldManifest(of offer: FoundRelease) throws(StoreError) -> [UInt8]? {
        guard let published = offer.published else { return nil }
        // What is damaged comes again.
        return try allowing(.damagedObject, .tooLarge) { () throws(StoreError) in
            try versions.store.read(published.manifest, limit: Int(published.manifestByteCount))
        } ?? nil
    }

    /// The offer with the files of its manifest, which is fetched; what says where they stand comes at the same time.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`, `.damagedOrigin`.
    func resolvedByFetching(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard let published = offer.published else { return offer }
        guard published.places != nil, offer.places == nil else {
            return try resolve(offer, with: manifest(published, at: offer.location))
        }
        let bytes = try documents(
            [published.manifestKey] + published.placesKey, of: published, at: offer.location)
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
        guard published.places != nil else {
            return Places(repeatElement(published.epoch, count: count))
        }
        let bytes = try documents(published.placesKey, of: published, at: location)
        return try Places(bytes[0], of: published, count: count)
    }

    /// The bytes of a release's manifest, compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    func manifest(
        _ published: PublishedVersion, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
        try documents([published.manifestKey], of: published, at: location)[0]
    }

    /// The bytes of a release's documents that come at the same time, each compared with its address.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    private func documents(
        _ keys: [OriginKey], of published: PublishedVersion, at location: OriginLocation
    ) throws(StoreError) -> [[UInt8]] {
        let answers = try access.documents(
            keys.map { key in
                let isManifest = key.kind == .manifest
                return (key.path, isManifest ? published.manifestByteCount : Places.byteCountMax)
            }, at: location)
        for (key, answer) in zip(keys, answers) {
            let what = key.kind == .manifest ? "manifest" : "list of the places"
            try check(
                answer, is: key, named: "the \(what) of version \(published.name)", at: location)
        }
        return answers.map(\.bytes)
    }

    private func check(
        _ answer: DocumentFetch.Answer, is key: OriginKey, named name: String,
        at location: OriginLocation
    ) throws(StoreError) {
        let url = printable(redacted("\(location.appending(key.path))"))
        let status = answer.head.status
        switch status {
        case 200: break
        // Some servers answer 403 for what does not exist.
        case 403, 404, 410:
            throw StoreError(
                .notFound,
                "\(name) is not at the origin (\(url) \(location.answer(status))); publish the version again"
            )
        case ..<400:
            throw StoreError(
                .network,
                "\(name) cannot be fetched: \(url) answered \(status), where a whole file was asked for; what "
                    + "serves the origin, or a proxy before it, answers wrongly")
        default:
            throw ReleaseProblem.noAnswer(
                "\(name) cannot be fetched now (\(url) answered \(status))", status)
        }
        guard try ObjectID(of: answer.bytes) == key.address else {
            throw StoreError(
                .mismatch,
                "\(name) is not what its address says (\(url)); "
                    + "a cache or proxy may have changed it")
        }
    }

    /// - Throws: `.tooLarge` for a manifest that is larger than its entries allow.
    func refuseTooLarge(_ published: PublishedVersion) throws(StoreError) {
        let byteCountMax = options.listByteCountMax
        guard published.manifestByteCount > byteCountMax else { return }
        throw StoreError(
            .tooLarge,
            "the manifest of version \(published.name) has \(published.manifestByteCount) bytes, more "
                + "than the \(byteCountMax) that \(options.entryCountMax) entries may take; "
                + "--max-entries allows more")
    }

    // MARK: Packs

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
        let held = try versions.contents(ifWhole: true)
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
                pack: pack?.address, reason: error.message,
                objects: session?.download.missing.count ?? 0))
    }
}

extension PublishedVersion {
    fileprivate var manifestKey: OriginKey { OriginKey(.manifest, manifest, in: epoch) }

    /// What says where its objects stand; none if all stand in its epoch.
    fileprivate var placesKey: [OriginKey] {
        places.map { [OriginKey(.places, $0, in: epoch)] } ?? []
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
