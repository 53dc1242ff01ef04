package import CASStore
import VersionTree

// Single objects, by address.

extension OriginRepair {
    /// Fetches objects from a castree origin, verified and durable, and replaces damaged ones.
    ///
    /// Needs neither pointer nor manifest: an object's address gives its path, unless `places` does.
    /// - Returns: the addresses of the fetched objects; omits what the origin does not have, or has with other bytes.
    /// - Throws: `.noOrigin` if there is no such directory; `.outOfSpace`, `.network`, `.interrupted`. What arrived is
    ///   kept.
    package func restore(
        _ lost: [Reference], from location: OriginLocation, at places: [ObjectID: String] = [:]
    ) throws(StoreError) -> Set<ObjectID> {
        guard !lost.isEmpty else { return [] }
        if case .directory(let path) = location {
            let status = try versions.fileSystem.status(POSIXFileSystem.workingDirectory, path)
            guard status != nil else {
                throw StoreError(.noOrigin, "there is no origin at \(printable(path))")
            }
        }
        var arrived: Set<ObjectID> = []
        let download = try download(of: lost, from: location, at: places, isMending: true) {
            arrived.insert($0)
        }
        var failure: StoreError?
        do throws(StoreError) {
            try access.run(download, at: location)
        } catch {
            failure = error
        }
        failure = download.failure ?? failure
        try versions.store.uninterrupted { () throws(StoreError) in try download.commit() }
        download.report(download.progress)
        if let failure { throw failure }
        return arrived
    }

    /// Fetches files that a bucket has lost, as objects of this pull's store; omits what cannot be fetched.
    ///
    /// Tries the names in the bucket first, because another origin may be a copy of it; then names without an epoch, as
    /// in a published directory; then wherever the origin's channels say that the objects are.
    package func restore(
        _ lost: [SizedKey], of origin: String, at location: OriginLocation
    ) throws(StoreError) {
        var left = lost
        for isCopy in [true, false] {
            var places: [ObjectID: String] = [:]
            for one in left {
                places[one.key.address] = (isCopy ? one.key : one.key.name).path
            }
            let came = try restore(left.map(\.reference), from: location, at: places)
            left.removeAll { came.contains($0.key.address) }
        }
        let objects = left.filter { $0.key.kind == .object }.map(\.reference)
        guard !objects.isEmpty else { return }
        _ = try source(origin, at: location).objects(objects)
    }

    /// Nil if the file cannot be fetched.
    package func file(
        _ path: String, byteCountMax: Int, at location: OriginLocation
    ) throws(StoreError) -> [UInt8]? {
        let answer = try unlessInterrupted { () throws(StoreError) in
            try access.document(path, at: location, byteCountMax: Int64(byteCountMax))
        }
        return answer?.head.status == 200 ? answer?.bytes : nil
    }

    /// A download of objects as if they were a release whose files are all optional.
    private func download(
        of lost: [Reference], from location: OriginLocation, at places: [ObjectID: String] = [:],
        isMending: Bool = false, arrived: @escaping (ObjectID) -> Void
    ) throws(StoreError) -> Download {
        var release = Release(
            family: CastreeFormat().family, version: try VersionName("objects"), trust: .digest,
            received: [])
        release.files.reserveCapacity(lost.count)
        for one in lost {
            let source = OriginLayout.path(.object, one.address)
            var file = ReleaseFile(path: try TreePath(source), source: source)
            file.address = one.address
            file.byteCount = one.byteCount
            if let place = places[one.address] {
                file.sources = [ContentSource(place)]
            } else {
                // Manifests that a publisher sent lie among the manifests, not the objects.
                file.sources.append(ContentSource(OriginLayout.path(.manifest, one.address)))
            }
            file.isOptional = true
            release.files.append(file)
        }
        let plan = try DownloadPlan(
            release, origin: location.description, addresses: release.files.map(\.address)
        ) { _ in false }
        if isMending { try versions.store.checkSpace(for: plan.byteCount) }
        let incoming = try IncomingContents(versions.store)
        incoming.isMending = isMending
        let download = Download(
            plan, from: try OriginURL(of: location), format: CastreeFormat(),
            incoming: incoming, options: options,
            isInterrupted: access.isInterrupted, inspect: { (_, _) throws(StoreError) in }
        ) { (files) throws(StoreError) in
            for file in files { arrived(file.content.name) }
        }
        // An object that the origin has lost too must not keep the others away.
        download.leavesOutWrongContent = true
        return download
    }

    // MARK: Where origins have them

    /// Fetches objects one by one from where the origin's releases say that they are; returns those that came.
    func fetchOneByOne(
        _ lost: [Reference], of origin: String, at location: OriginLocation
    ) throws(StoreError) -> Set<ObjectID> {
        var came: Set<ObjectID> = []
        // A few are requested before any release: most origins have no epochs.
        let areFew = lost.count < Self.worthAskingCount
        if areFew { came = try restore(lost, from: location) }
        var rest = lost.filter { !came.contains($0.address) }
        guard !rest.isEmpty else { return came }
        let places = try places(of: rest, in: origin, at: location)
        if areFew { rest = rest.filter { places[$0.address] != nil } }
        return came.union(try restore(rest, from: location, at: places))
    }

    /// Channels, pointer, delivery and opening take as many requests as this many objects.
    private static var worthAskingCount: Int { 4 }
    private static var channelCountMax: Int { 16 }
    /// How many manifests to fetch for locating objects of versions that this store does not have.
    private static var locatingManifestCountMax: Int { 64 }

    /// Returns nothing if the channels are unusable: the origin may still have objects.
    private func offered(by origin: String) throws(StoreError) -> [ChannelRelease] {
        let pointers = try unlessInterrupted { () throws(StoreError) in
            try access.pointers(of: origin, countMax: Self.channelCountMax)
        }
        return pointers?.flatMap(\.releases) ?? []
    }

    /// Where an origin's releases have objects that lie in epochs; empty if none has an epoch.
    private func places(
        of lost: [Reference], in origin: String, at location: OriginLocation
    ) throws(StoreError) -> [ObjectID: String] {
        var seen: Set<PublishedVersion> = []
        let all = try offered(by: origin).compactMap(\.version).filter {
            $0.epoch > 0 && seen.insert($0).inserted
        }
        guard !all.isEmpty else { return [:] }
        var places: [ObjectID: String] = [:]
        var wanted = Set(lost.map(\.address))
        var manifestsLeft = Self.locatingManifestCountMax
        let held = try versions.contents(ifWhole: false)
        // Versions of this store first.
        for published in all.filter({ held.contains($0.content) })
            + all.filter({ !held.contains($0.content) })
        {
            if wanted.remove(published.manifest) != nil {
                places[published.manifest] = OriginLayout.path(
                    .manifest, published.manifest, in: published.epoch)
            }
            guard !wanted.isEmpty else { break }
            // If this fails, another release may have it.
            let found = try allowing(
                [.notFound, .mismatch, .damagedOrigin, .badManifest, .tooLarge],
                try self.places(of: wanted, in: published, at: location, &manifestsLeft))
            for (address, place) in found ?? [:] {
                places[address] = place
                wanted.remove(address)
            }
        }
        return places
    }

    /// Where one release has some of the objects.
    private func places(
        of wanted: Set<ObjectID>, in published: PublishedVersion, at location: OriginLocation,
        _ manifestsLeft: inout Int
    ) throws(StoreError) -> [ObjectID: String] {
        guard let objects = try objects(of: published, at: location, &manifestsLeft) else {
            return [:]
        }
        let named = wanted.filter { objects.number(of: $0) != nil }
        guard !named.isEmpty else { return [:] }
        let epochs = try documents.fetchPlaces(of: published, at: location, count: objects.count)
        var places: [ObjectID: String] = [:]
        for address in named {
            guard let number = objects.number(of: address) else { continue }
            places[address] = OriginLayout.path(.object, address, in: epochs.epoch(of: Int(number)))
        }
        return places
    }

    /// The objects of a release: by a local manifest of the same content, or by its own.
    private func objects(
        of published: PublishedVersion, at location: OriginLocation, _ manifestsLeft: inout Int
    ) throws(StoreError) -> NumberedObjects? {
        if let manifest = try versions.manifest(with: published.content) {
            return NumberedObjects(of: manifest)
        }
        guard manifestsLeft > 0 else { return nil }
        manifestsLeft -= 1
        try documents.refuseTooLarge(published)
        let bytes = try documents.manifest(published, at: location)
        return NumberedObjects(of: try Manifest(parsing: bytes, limits: limits))
    }

    // MARK: Out of packs

    /// Fetches objects by ranges of the packs of releases that the store also has: for many lost objects, or for an
    /// origin that has them only in packs.
    /// - Parameter atAnyCost: whether to use a pack even if single objects would cost less.
    /// - Returns: the addresses of the fetched objects.
    func fetchFromPacks(
        _ lost: [Reference], of origin: String, at location: OriginLocation,
        atAnyCost isInsistent: Bool = false
    ) throws(StoreError) -> Set<ObjectID> {
        let countMin = isInsistent ? 1 : Self.worthAskingCount
        guard options.takesPacks, lost.count >= countMin else { return [] }
        let releases = try offered(by: origin)
        var arrived: Set<ObjectID> = []
        let download = try download(of: lost, from: location) { arrived.insert($0) }
        var seen: Set<ObjectID> = []
        for offered in releases {
            guard download.missing.count >= countMin, let published = offered.version,
                seen.insert(published.content).inserted,
                try named(published.content, among: download) >= countMin,
                let delivery = try documents.delivery(of: offered, at: location),
                let pack = delivery.packs.first(where: { $0.base == nil && $0.isReadable })
            else { continue }
            let place = OriginLayout.path(.pack, pack.address, in: offered.delivery?.epoch ?? 0)
            let transfer = PackTransfer(
                pack, at: try OriginURL(of: location).url(of: place), to: published, from: nil,
                asksForWhole: false, into: download.incoming, limits: limits,
                budget: options.budget(options.retries.afterAnswer.forPacks),
                isInterrupted: access.isInterrupted
            ) { [versions] (opening) throws(StoreError) in
                let wish = try PackWish(opening, of: versions.store, for: download)
                return wish.flatMap { isInsistent || $0.cost <= $0.objectsCost ? $0 : nil }
            }
            try access.run(transfer, at: location)
            if let failure = transfer.failure { throw failure }
            guard let problem = transfer.problem else { continue }
            log.noteFallback(pack, problem, missingCount: 0)
            try transfer.dropParts()
        }
        try versions.store.uninterrupted { () throws(StoreError) in try download.commit() }
        return arrived
    }

    /// How many of the missing objects belong to a version with that content, complete or not.
    private func named(_ content: ObjectID, among lost: Download) throws(StoreError) -> Int {
        guard let manifest = try versions.manifest(with: content) else { return 0 }
        let named = (0..<manifest.count).lazy.map { manifest.address(at: $0) }
        return Set(named.filter { lost.isMissing($0) }).count
    }
}
