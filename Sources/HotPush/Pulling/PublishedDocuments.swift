import CASStore
import VersionTree

/// The documents that a release of a castree origin names by SHA-256: manifest, epochs of its objects, packs.
struct PublishedDocuments: PullStep {
    let basis: PullBasis

    /// A release of a channel: with its files, or as a promise if its manifest comes with a pack.
    func release(
        _ published: PublishedVersion, _ offered: ChannelRelease, of pointer: ChannelPointer,
        at location: OriginLocation
    ) throws(StoreError) -> FoundRelease {
        let format = CastreeFormat()
        try refuseTooLarge(published)
        var release = Release(
            family: format.family, version: published.name, trust: .digest, received: [])
        release.statedContent = published.content
        // A sequence far in the future must not order releases: no app update could ever overtake it.
        release.order = try bound.allows(offered.sequence) ? offered.sequence : nil
        release.scope = pointer.channel.description
        release.audience = offered.audience
        release.requirements = offered.requirements
        release.isMandatory = offered.isMandatory
        var found = FoundRelease(
            release: release, format: format, location: location,
            origin: try OriginURL(of: location), content: published.content)
        found.published = published
        found.choice = try choice(for: published, offered, at: location)
        found.deliveryEpoch = offered.delivery?.epoch ?? 0
        if !found.packs.isEmpty { return found }
        return try resolvedByFetching(found)
    }

    func resolved(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard offer.isPromise else { return offer }
        if let bytes = try heldManifest(of: offer) { return try resolve(offer, with: bytes) }
        return try resolvedByFetching(offer)
    }

    func heldManifest(of offer: FoundRelease) throws(StoreError) -> [UInt8]? {
        guard let published = offer.published else { return nil }
        // A damaged copy is fetched again.
        return try allowing(
            [.damagedObject, .tooLarge],
            try versions.store.read(published.manifest, limit: Int(published.manifestByteCount)))
    }

    /// Throws `.damagedOrigin` for the manifest of another version or content; `.badManifest`.
    func resolve(
        _ offer: FoundRelease, with bytes: [UInt8], _ parsed: Manifest? = nil
    ) throws(StoreError) -> FoundRelease {
        guard let published = offer.published else { return offer }
        let manifest =
            if let parsed { parsed } else { try Manifest(parsing: bytes, limits: limits) }
        guard manifest.version == published.name else {
            throw .damagedOrigin(
                "the channel offers version \(published.name), and its manifest is that of "
                    + "\(manifest.version); publish the version again")
        }
        guard try manifest.contentAddress() == published.content else {
            throw .damagedOrigin(
                "the channel promises other content for version \(published.name) than its manifest "
                    + "has; publish the version again")
        }
        let read = CastreeFormat().release(of: manifest, received: bytes, epoch: published.epoch)
        var found = offer
        found.release.files = read.files
        found.release.foreign = read.foreign
        found.release.received = bytes
        return found
    }

    /// Fetches the manifest and, concurrently, the epochs of its objects.
    func resolvedByFetching(_ offer: FoundRelease) throws(StoreError) -> FoundRelease {
        guard let published = offer.published else { return offer }
        guard published.places != nil, offer.places == nil else {
            return try resolve(offer, with: manifest(published, at: offer.location))
        }
        let bytes = try fetched(
            [published.manifestKey] + published.placesKey, of: published, at: offer.location)
        var found = try resolve(offer, with: bytes[0])
        let objects = NumberedObjects(of: found.release)
        found.places = try Places(bytes[1], of: published, count: objects.count)
        return found
    }

    /// - Parameter count: the number of distinct addresses in the release's manifest.
    func fetchPlaces(
        of published: PublishedVersion, at location: OriginLocation, count: Int
    ) throws(StoreError) -> Places {
        guard published.places != nil else {
            return Places(repeatElement(published.epoch, count: count))
        }
        let bytes = try fetched(published.placesKey, of: published, at: location)
        return try Places(bytes[0], of: published, count: count)
    }

    func manifest(
        _ published: PublishedVersion, at location: OriginLocation
    ) throws(StoreError) -> [UInt8] {
        try fetched([published.manifestKey], of: published, at: location)[0]
    }

    /// Fetches documents of a release concurrently and verifies each.
    /// - Throws: `.notFound`, `.mismatch`, `.network`, `.tooLarge`.
    private func fetched(
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
        // Some servers answer 403 for missing files.
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

    /// The ways to fetch a release by packs; `nil` if none helps here, or the answer is useless.
    func choice(
        for published: PublishedVersion, _ offered: ChannelRelease, at location: OriginLocation
    ) throws(StoreError) -> DeliveryChoice? {
        guard options.takesPacks,
            let delivery = try delivery(of: offered, at: location)
        else { return nil }
        let held = try versions.contents(ifWhole: true)
        return DeliveryChoice(delivery, of: published) { held.contains($0) }
    }

    func delivery(
        of offered: ChannelRelease, at location: OriginLocation
    ) throws(StoreError) -> Delivery? {
        do throws(StoreError) {
            return try access.delivery(of: offered, at: location)
        } catch {
            guard error.isUselessDelivery else { throw error }
            log.noteFallback(nil, error, missingCount: 0)
            return nil
        }
    }
}

extension PublishedVersion {
    fileprivate var manifestKey: OriginKey { OriginKey(.manifest, manifest, in: epoch) }

    fileprivate var placesKey: [OriginKey] {
        places.map { [OriginKey(.places, $0, in: epoch)] } ?? []
    }
}

extension NumberedObjects {
    init(of release: Release) {
        self.init(
            release.files.compactMap { file in
                file.address.map { Reference(address: $0, byteCount: file.byteCount ?? 0) }
            })
    }
}

/// The ways to fetch a release and their costs, decided before a byte arrives: ``Pull`` follows it, `--dry-run` prints
/// it.
package struct DeliveryChoice: Sendable, Hashable {
    package struct Way: Sendable, Hashable {
        /// `nil` means fetching objects one by one.
        package var pack: Delivery.Pack?
        /// For objects one by one, an estimate until the manifest is known.
        package var byteCount: Int64
        package var requestCount: Int64
        /// Whether only parts of the pack are requested; the figures are then estimates.
        package var isByRanges = false

        /// The bytes, plus ``PackSpans/requestByteCount`` for each request.
        package var cost: Int64 {
            let (worth, isHuge) = requestCount.multipliedReportingOverflow(
                by: PackSpans.requestByteCount)
            return isHuge ? .max : byteCount.addingClamped(worth)
        }

        package var name: String {
            guard let pack else { return "objects" }
            return pack.base != nil ? "from" : isByRanges ? "ranges" : "whole"
        }
    }

    /// Cheapest first; among equals, the one with fewer requests.
    package let ways: [Way]
    package let objectCount: Int64
    package let contentByteCount: Int64

    init(_ delivery: Delivery, of version: PublishedVersion, isHeld: (ObjectID) -> Bool) {
        var usable: [Delivery.Pack] = []
        for pack in delivery.packs where pack.isReadable {
            if let base = pack.base, !isHeld(base) { continue }
            usable.append(pack)
        }
        // A pack based on content in the store holds only what that content is missing.
        let least = usable.min { $0.contentByteCount < $1.contentByteCount }
        objectCount = least?.objectCount ?? 0
        contentByteCount = least?.contentByteCount ?? 0
        var ways = usable.map { Way(pack: $0, byteCount: $0.byteCount, requestCount: 1) }
        ways.append(
            Way(
                pack: nil, byteCount: contentByteCount.addingClamped(version.manifestByteCount),
                requestCount: objectCount.addingClamped(1)))
        ways.sort {
            ($0.cost, $0.requestCount, $0.pack?.base == nil ? 1 : 0)
                < ($1.cost, $1.requestCount, $1.pack?.base == nil ? 1 : 0)
        }
        // Without a pack, the cost of the objects is unknown.
        self.ways = usable.isEmpty ? [] : ways
    }

    /// The ways once the missing content is known: exact for objects one by one; for ranges of a full pack, assuming
    /// that the missing objects are spread evenly.
    package func ways(missing count: Int, _ byteCount: Int64) -> [Way] {
        var ways: [Way] = []
        for way in self.ways {
            guard let pack = way.pack else {
                ways.append(Way(pack: nil, byteCount: byteCount, requestCount: Int64(count)))
                continue
            }
            ways.append(way)
            guard pack.base == nil, pack.contentByteCount > 0, byteCount < pack.contentByteCount
            else { continue }
            let share = Double(byteCount) / Double(pack.contentByteCount)
            let frames = Double(pack.byteCount - pack.openingByteCount) * share
            var ranges = Way(
                pack: pack, byteCount: pack.openingByteCount + Int64(frames), requestCount: 2)
            ranges.isByRanges = true
            ways.append(ranges)
        }
        ways.sort { ($0.cost, $0.requestCount) < ($1.cost, $1.requestCount) }
        return ways
    }

    var packs: [Delivery.Pack] {
        ways.prefix { $0.pack != nil }.compactMap(\.pack)
    }
}

extension UpdateCost {
    /// The cheapest way's cost before the manifest is known; does not subtract what is here.
    init(_ choice: DeliveryChoice) {
        self.init()
        files = Int(clamping: choice.objectCount)
        bytes = choice.ways.first?.byteCount ?? choice.contentByteCount
    }
}

extension OriginAccess {
    /// The delivery that a release names; `nil` if it names none.
    /// - Throws: `.badPack`, `.tooLarge`, `.network` if it is useless; `.interrupted`.
    func delivery(
        of release: ChannelRelease, at location: OriginLocation
    ) throws(StoreError) -> Delivery? {
        guard let published = release.delivery, let version = release.version else { return nil }
        let answer = try document(
            OriginLayout.path(.delivery, published.address, in: published.epoch), at: location,
            byteCountMax: published.byteCount, isOptional: true)
        guard answer.head.status == 200 else {
            throw .badPack("the origin answered \(answer.head.status) for its delivery")
        }
        return try Delivery(answer.bytes, named: published, of: version)
    }
}

extension StoreError {
    /// Whether a delivery is unavailable or wrong, which costs only time: everything can be fetched without it.
    var isUselessDelivery: Bool { [.badPack, .tooLarge, .network].contains(code) }
}
