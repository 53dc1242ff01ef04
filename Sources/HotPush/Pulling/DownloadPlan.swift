package import CASStore
import VersionTree

/// What a pull would fetch, decided before it fetches a byte: ``Pull`` follows it, `--dry-run` prints it.
public struct DownloadPlan: Sendable {
    package struct Content: Sendable, Hashable {
        /// Its address, or a placeholder until it has arrived.
        package var name: ObjectID
        package var isPlaceholder: Bool
        /// `nil` if the release does not give the size.
        package var byteCount: Int64?
        /// The index in the release of the file for which it is fetched; other files may share it.
        package var file: Int
        package var isFirst: Bool
        /// Candidates in the store, if only the server can tell whether one of them is still this content.
        var kept: [FetchedContent] = []
    }

    package var release: Release
    /// In the order of the requests.
    package var contents: [Content] = []
    /// For each file of the release, the address or placeholder of its content.
    package var names: [ObjectID] = []
    /// Sizes that the release omits and the store or another file supplies.
    private(set) var knownSizes: [ObjectID: Int64]
    /// What stored files say about the app.
    var app: AppIdentity?
    /// Contents that the store holds with wrong bytes.
    var wrong: Set<ObjectID> = []
    package var reusedObjects = 0
    package var reusedBytes: Int64 = 0

    /// The bytes to fetch, as far as the release gives sizes.
    public var byteCount: Int64 {
        // The sum over objects of several versions may overflow.
        contents.reduce(0) { $0.addingClamped($1.byteCount ?? 0) }
    }

    /// The disk usage of the tree's directories: a block each.
    var directoryByteCount: Int64 { Int64(release.directoryCount) * 4096 }

    /// Whether some size is unknown, so that ``byteCount`` is a lower bound.
    public var isLowerBound: Bool { contents.contains { $0.byteCount == nil } }

    /// What contents must match besides their addresses, from all files that share them.
    var labels: [ObjectID: [Label]] {
        var result: [ObjectID: [Label]] = [:]
        for (position, file) in release.files.enumerated() where !file.checks.isEmpty {
            for label in file.labels where result[names[position]]?.contains(label) != true {
                result[names[position], default: []].append(label)
            }
        }
        for content in contents where content.isPlaceholder {
            guard let address = release.files[content.file].address,
                let label = Label(.sha256, bytes: address.bytes),
                result[content.name]?.contains(label) != true
            else { continue }
            result[content.name, default: []].append(label)
        }
        return result
    }

    /// Launch files come first, so that a page can show early; then small files before large ones, so that the
    /// connections finish together.
    /// - Parameters:
    ///   - addresses: for each file, the address of its content if known.
    ///   - kept: by file index, what the store has of it from the same server.
    /// - Throws: `.unsuitableRelease` if some content is offered only in forms that castree cannot read.
    init(
        _ release: Release, origin: String, addresses: [ObjectID?],
        sizes: [ObjectID: Int64] = [:], kept: [Int: [FetchedContent]] = [:],
        isPresent: (ObjectID) -> Bool
    ) throws(StoreError) {
        self.release = release
        knownSizes = Self.sizes(of: release, sizes)
        names.reserveCapacity(release.files.count)
        var places: [ObjectID: Int] = [:]
        var present: Set<ObjectID> = []
        let version = release.version.description
        let unproved = Self.unproved(release, addresses)
        for (position, file) in release.files.enumerated() {
            var address = addresses[position]
            let name: ObjectID
            if let known = address, !unproved.contains(known) || isPresent(known) {
                name = known
            } else {
                name = try file.placeholderAddress(origin: origin, version: version)
                if let known = address { knownSizes[name] = knownSizes[known] }
                address = nil
            }
            names.append(name)
            if present.contains(name) { continue }
            if places[name] == nil, address != nil, isPresent(name) {
                present.insert(name)
                reusedObjects += 1
                reusedBytes = reusedBytes.addingClamped(file.byteCount ?? knownSizes[name] ?? 0)
                continue
            }
            want(position, isPlaceholder: address == nil, kept: kept[position] ?? [], &places)
        }
        try refuseUnreadable()
        sort()
    }

    /// Addresses that do not fully prove some file; until it arrives, its content has a placeholder.
    private static func unproved(_ release: Release, _ addresses: [ObjectID?]) -> Set<ObjectID> {
        var result: Set<ObjectID> = []
        for (position, file) in release.files.enumerated() where !file.isProvedByAddress {
            // Content found in the store was compared with everything.
            if let address = addresses[position], file.address != nil { result.insert(address) }
        }
        return result
    }

    private static func sizes(
        of release: Release, _ stored: [ObjectID: Int64]
    ) -> [ObjectID: Int64] {
        let isUnknown = release.files.contains { $0.address != nil && $0.byteCount == nil }
        guard isUnknown else { return stored }
        var result = stored
        for file in release.files {
            if let address = file.address, let byteCount = file.byteCount {
                result[address] = byteCount
            }
        }
        return result
    }

    private func refuseUnreadable() throws(StoreError) {
        for content in contents {
            let file = release.files[content.file]
            if file.isOptional || file.sources.contains(where: \.isPlain) { continue }
            let forms = file.sources.map { $0.steps.map(\.name).joined(separator: ", ") }
            throw StoreError(
                .unsuitableRelease,
                "release \(printable(release.publisherVersion)) offers "
                    + "\(quoted(file.path.description)) only as \(forms.joined(separator: " or ")), "
                    + "which castree does not read; publish the plain file as well")
        }
    }

    private mutating func sort() {
        contents.sort { left, right in
            if left.isFirst != right.isFirst { return left.isFirst }
            let sizes = (left.byteCount ?? 0, right.byteCount ?? 0)
            return sizes.0 != sizes.1 ? sizes.0 < sizes.1 : left.file < right.file
        }
    }

    /// Adds contents that have disappeared from the store since the plan was made.
    mutating func add(_ lost: Set<ObjectID>) throws(StoreError) {
        var places: [ObjectID: Int] = [:]
        for (position, file) in release.files.enumerated() where lost.contains(names[position]) {
            if places[names[position]] == nil {
                reusedObjects -= 1
                reusedBytes -= file.byteCount ?? knownSizes[names[position]] ?? 0
            }
            want(position, isPlaceholder: false, &places)
        }
        guard !places.isEmpty else { return }
        try refuseUnreadable()
        sort()
    }

    /// Omits contents that another pull has fetched meanwhile, unless the format must inspect them.
    mutating func leaveOut(_ names: Set<ObjectID>) {
        guard !names.isEmpty else { return }
        contents.removeAll { content in
            guard names.contains(content.name), !release.files[content.file].needsInspection
            else { return false }
            reusedObjects += 1
            reusedBytes = reusedBytes.addingClamped(content.byteCount ?? 0)
            return true
        }
    }

    private mutating func want(
        _ position: Int, isPlaceholder: Bool, kept: [FetchedContent] = [],
        _ places: inout [ObjectID: Int]
    ) {
        let (file, name) = (release.files[position], names[position])
        guard let place = places[name] else {
            places[name] = contents.count
            contents.append(
                Content(
                    name: name, isPlaceholder: isPlaceholder,
                    byteCount: file.byteCount ?? knownSizes[name], file: position,
                    isFirst: file.isLaunchFile, kept: kept))
            return
        }
        if file.isLaunchFile { contents[place].isFirst = true }
        if file.isBetterThan(release.files[contents[place].file]) {
            contents[place].file = position
        }
    }
}

extension ReleaseFile {
    /// Whether it is the better file to fetch a shared content by: readable, required, inspected.
    fileprivate func isBetterThan(_ other: ReleaseFile) -> Bool {
        for (own, others) in [
            (sources.contains(where: \.isPlain), other.sources.contains(where: \.isPlain)),
            (!isOptional, !other.isOptional), (needsInspection, other.needsInspection),
        ] where own != others {
            return own
        }
        return false
    }
}

extension UpdateCost {
    package init(_ plan: DownloadPlan) {
        self.init()
        files = plan.contents.count
        bytes = plan.byteCount
        reusedFiles = plan.reusedObjects
        reusedBytes = plan.reusedBytes
    }
}

/// Decides what to fetch of a release, and whether to fetch it at all.
struct DownloadPlanner: PullStep {
    let basis: PullBasis

    /// Inspected files are held in memory.
    static let inspectedByteCountMax = 64 << 20

    /// - Parameter judges: whether to refuse a release that is banned or not for this device, unless it is forced.
    func plan(_ offer: FoundRelease, judges: Bool = true) throws(StoreError) -> DownloadPlan {
        do throws(StoreError) {
            return try access.discreetly { () throws(StoreError) in
                try reckon(documents.resolved(offer), judges: judges && !options.isForced)
            }
        } catch {
            log.note(error, during: "plan")
            throw error
        }
    }

    private func reckon(_ offer: FoundRelease, judges: Bool) throws(StoreError) -> DownloadPlan {
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
                    let bytes = try versions.store.read(address, limit: Self.inspectedByteCountMax)
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

    func refuseUnmet(_ release: Release, _ format: any ReleaseFormat) throws(StoreError) {
        let demand = try versions.demand(of: release, on: options.app, platform: options.platform)
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

    private func refuseBanned(_ release: Release, _ offer: FoundRelease) throws(StoreError) {
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
