import CASStore
import VersionTree

/// Decides what to fetch of a release, and whether to fetch it at all.
struct DownloadPlanner: PullStep {
    let basis: PullBasis

    /// Inspected files are held in memory.
    static let inspectedByteCountMax = 64 << 20

    func plan(_ offer: FoundRelease) throws(StoreError) -> DownloadPlan {
        do throws(StoreError) {
            return try access.discreetly { () throws(StoreError) in
                try reckon(documents.resolved(offer), judges: !options.isForced)
            }
        } catch {
            log.note(error, during: "plan")
            throw error
        }
    }

    /// - Parameter judges: whether to refuse a release that is banned or not for this device.
    func reckon(_ offer: FoundRelease, judges: Bool) throws(StoreError) -> DownloadPlan {
        var release = offer.release
        if let name = options.version { release.version = try VersionName(name) }
        if judges {
            try refuseBanned(release, offer)
            try refuseUnmet(release, offer.format)
            // A castree channel has already chosen a release for this device.
            try refuseOthers(release)
        }
        let found = try known(of: release, from: offer.location)
        var addresses = found.addresses
        let app = try inspectKnown(release, offer, &addresses)
        let known = Set(addresses.compactMap(\.self))
        var absent = Set(try versions.store.unproven(known))
        let kept = found.kept.values.flatMap { $0.map(\.address) }
        // Content that another program has changed is fetched again, so nothing builds on it.
        let wrong = try versions.store.wrong(among: Array(known.subtracting(absent).union(kept)))
        absent.formUnion(wrong)
        var plan = try DownloadPlan(
            release, origin: offer.location.description, addresses: addresses,
            sizes: sizes(of: release, addresses, absent),
            kept: found.kept.mapValues { $0.filter { !wrong.contains($0.address) } }
        ) { !absent.contains($0) }
        plan.app = app
        plan.wrong = wrong
        return plan
    }

    /// Inspects stored files that the format wants to see; a file that fails is fetched.
    private func inspectKnown(
        _ release: Release, _ offer: FoundRelease, _ addresses: inout [ObjectID?]
    ) throws(StoreError) -> AppIdentity? {
        var app: AppIdentity?
        let context = try releaseContext(of: offer)
        for (position, file) in release.files.enumerated() where file.needsInspection {
            guard let address = addresses[position] else { continue }
            do throws(StoreError) {
                guard
                    let bytes = try versions.store.read(
                        address, limit: Self.inspectedByteCountMax)
                else { continue }
                if let found = try offer.format.inspect(file, bytes, of: release, context) {
                    app = found
                }
            } catch {
                switch error.code {
                case .damagedObject: addresses[position] = nil
                case .unsuitableRelease, .badRelease, .tooLarge:
                    // The release itself names this content, so fetching it again cannot help.
                    if file.address != nil { throw error }
                    addresses[position] = nil
                default: throw error
                }
            }
        }
        return app
    }

    func refuseUnmet(
        _ release: Release, _ format: any ReleaseFormat
    ) throws(StoreError) {
        let demand = try versions.demand(
            of: release, on: options.app, platform: options.platform)
        guard let unmet = demand.app.unmet(demand.requirements).first else { return }
        throw format.error(.unmet(unmet))
    }

    func refuseOthers(_ release: Release) throws(StoreError) {
        let reasons = try release.audience.objections(
            device: device(for: release.audience), options.app)
        guard let reason = reasons.first else { return }
        throw StoreError(
            .unsuitableRelease,
            "release \(printable(release.publisherVersion)) is not for this device: \(reason)")
    }

    private func refuseBanned(
        _ release: Release, _ offer: FoundRelease
    ) throws(StoreError) {
        let format = offer.format
        guard let content = offer.content else {
            // The content is still unknown, so its placeholder stands for it.
            let bad = try versions.lifecycle().bad
            guard bad.contains(where: { $0.version == release.version.description }) else { return }
            throw format.error(.banned(release.version.description))
        }
        guard let ban = try versions.lifecycle().ban(of: content) else { return }
        var error = format.error(.banned(release.version.description))
        error.message += " (\(printable(ban.reason)))"
        throw error
    }

    /// For each file, the address of its content if known; by index, stored candidates for files that only their server
    /// can identify.
    private func known(
        of release: Release, from origin: OriginLocation
    ) throws(StoreError) -> (addresses: [ObjectID?], kept: [Int: [FetchedContent]]) {
        var result = release.files.map(\.address)
        var kept: [Int: [FetchedContent]] = [:]
        try release.validateLabels()
        var digests = StoredDigests(
            versions.store, for: release.files, isInterrupted: access.isInterrupted)
        try digests.refuseContradicted(release)
        guard result.contains(nil) else { return (result, kept) }
        let draft = try fetchedFiles(of: release)
        var known = try KnownContent(
            versions, for: release.files, digests, from: origin, family: release.family)
        for (position, file) in release.files.enumerated() where result[position] == nil {
            // If it has gone meanwhile, the server may have other content now.
            if let address = draft[file.path.description],
                try address
                    != file.placeholderAddress(
                        origin: origin.description, version: release.version.description),
                try versions.store.unproven([address]).isEmpty
            {
                result[position] = address
            } else {
                result[position] = try known.address(of: file)
            }
            if result[position] == nil {
                kept[position] = try known.tagged(file)
            }
        }
        return (result, kept)
    }

    private func sizes(
        of release: Release, _ addresses: [ObjectID?], _ absent: Set<ObjectID>
    ) throws(StoreError) -> [ObjectID: Int64] {
        var result: [ObjectID: Int64] = [:]
        for (position, file) in release.files.enumerated() where file.byteCount == nil {
            guard let address = addresses[position], !absent.contains(address),
                let reader = try versions.store.open(address)
            else { continue }
            result[address] = reader.byteCount
        }
        return result
    }

    /// What an interrupted pull of the same release fetched, by path.
    private func fetchedFiles(of release: Release) throws(StoreError) -> [String: ObjectID] {
        guard let manifest = try versions.readableManifest(of: release.version.description),
            try manifest.isReceived(from: release)
        else { return [:] }
        var result: [String: ObjectID] = [:]
        for entry in manifest.entries { result[entry.path.description] = entry.address }
        return result
    }
}
