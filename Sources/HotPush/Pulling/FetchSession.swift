import CASStore
import StrictJSON
import VersionTree

/// A registered version while its content arrives, by whichever way; belongs to one thread.
final class FetchSession {
    let download: Download
    /// Whether the version was already complete.
    let isUnchanged: Bool
    let isComplete: Bool
    /// Whether the version was rebuilt from a tree and shows an incomplete one.
    let wasPartial: Bool
    private let draft: Draft
    private let hold: SharedHold
    private let versions: VersionStore

    var plan: DownloadPlan { download.plan }

    /// - Throws: `.versionExists`, what registering throws.
    init(
        _ reckoned: DownloadPlan, of offer: FoundRelease, _ basis: PullBasis,
        _ incoming: @autoclosure () throws(StoreError) -> IncomingContents
    ) throws(StoreError) {
        var plan = reckoned
        let versions = basis.versions
        let version = plan.release.version.description
        let draft = try Draft(plan, versions, from: offer.location)
        // Two releases under one name would each take the other's content for its own.
        hold = try SharedHold(version, for: draft.received.address, versions)
        let before = try versions.store.versionRow(version)
        // Content with wrong bytes counts as missing, whatever the index says.
        isComplete = try draft.register() && plan.wrong.isEmpty
        try Self.dropOtherParts(for: offer, as: version, basis)
        let coming = try incoming()
        if !isComplete {
            plan.leaveOut(draft.named)
            try Self.complete(&plan, draft, coming, versions)
        }
        let release = plan.release
        let context = try basis.releaseContext(of: offer)
        download = Download(
            plan, from: offer.origin, format: offer.format, incoming: coming,
            options: basis.options, isInterrupted: basis.access.isInterrupted
        ) { (file, bytes) throws(StoreError) in
            if let app = try offer.format.inspect(file, bytes, of: release, context) {
                draft.app = app
            }
        } committed: { (arrived) throws(StoreError) in
            draft.note(arrived)
            try draft.revise()
        }
        self.draft = draft
        self.versions = versions
        isUnchanged = before?.isComplete == true && isComplete
        wasPartial = before?.recovery == .partial
        if before != nil, !isComplete { try download.takeStaged() }
    }

    /// Deletes parts of the channel's other releases: an origin that keeps changing while files are missing would
    /// otherwise fill the disk.
    private static func dropOtherParts(
        for offer: FoundRelease, as name: String, _ basis: PullBasis
    ) throws(StoreError) {
        let (versions, options) = (basis.versions, basis.options)
        // Repairs and pulls of a certain release follow no channel.
        if offer.observation == nil, offer.published != nil { return }
        let release = offer.release
        do throws(StoreError) {
            let isGone = try versions.dropReplacedParts(for: name) { terms in
                offer.observation.map { terms.isOf($0.channel) } ?? (terms.family == release.family)
            }
            guard isGone else { return }
            if options.keptGoodCount == nil {
                try versions.store.dropUnwantedPartials()
            } else {
                try versions.collect()
            }
        } catch {
            // A leftover takes space, but must not stop an update.
            if error.code == .interrupted { throw error }
            options.eventLog?.record(error, during: "tidy")
        }
    }

    /// Adds content that a collection deleted between the making of the plan and the registration of the version.
    private static func complete(
        _ plan: inout DownloadPlan, _ draft: Draft, _ incoming: IncomingContents,
        _ versions: VersionStore
    ) throws(StoreError) {
        let version = plan.release.version.description
        var missing = Set(try versions.store.missingObjects(of: version)?.map(\.address) ?? [])
        if missing.remove(draft.received.address) != nil { try draft.bring(to: incoming) }
        for content in plan.contents { missing.remove(content.name) }
        try plan.add(missing)
    }

    /// Makes arrived content durable, and has the version's manifest name it.
    func commit() throws(StoreError) {
        var failure: StoreError?
        let (download, draft) = (download, draft)
        try versions.store.uninterrupted { () throws(StoreError) in
            do throws(StoreError) {
                try download.commit()
            } catch {
                failure = error
            }
            draft.skip(download.absent)
            try draft.revise()
        }
        if let failure { throw failure }
    }

    var report: PullReport {
        var report = PullReport(of: plan)
        report.isUnchanged = isUnchanged
        report.figures = download.figures
        report.reusedObjects += download.unchanged.count
        report.figures.reusedBytes = plan.reusedBytes.addingClamped(download.unchanged.byteCount)
        // The version has no entry for a file that the origin does not have.
        report.files -= plan.names.count { download.absent.contains($0) }
        report.skipped = download.skipped.sorted()
        return report
    }
}

/// The manifest of a version while it is fetched, on the way from placeholders to addresses.
final class Draft {
    private let plan: DownloadPlan
    private let versions: VersionStore
    let received: Manifest.Received
    private var contents: [ObjectID: FetchedContent] = [:]
    private var absent: Set<ObjectID> = []
    /// Files that an earlier pull of the release fetched, with their entity tags.
    private var tagged: [TreePath: FetchedContent] = [:]
    private let origin: String
    var named: Set<ObjectID> { Set(contents.keys) }
    var app: AppIdentity?
    private(set) var hasNews = false

    init(
        _ plan: DownloadPlan, _ versions: VersionStore, from location: OriginLocation
    ) throws(StoreError) {
        let release = plan.release
        origin = try KnownContent.digest(of: location)
        received = Manifest.Received(
            format: release.family, address: try ObjectID(of: release.received),
            byteCount: Int64(release.received.count))
        self.plan = plan
        self.versions = versions
        app = plan.app
        guard release.files.contains(where: \.isKnownByTag), let existing = try existing() else {
            return
        }
        for entry in existing.entries {
            let one = FetchedContent(of: entry)
            if one.entityTag != nil { tagged[entry.path] = one }
        }
    }

    /// Throws `.io` if the manifest cannot be read, because what arrived under it would be forgotten.
    private func existing() throws(StoreError) -> Manifest? {
        let name = plan.release.version.description
        let existing: Manifest?
        do throws(StoreError) {
            existing = try versions.manifestUnlessLost(of: name)
        } catch {
            guard error.isUnreadable else { throw error }
            throw error.advising(
                "check the disk (dmesg, smartctl), or retire what has come of version \(name)")
        }
        return existing?.received?.address == received.address ? existing : nil
    }

    /// Adds the received manifest to the incoming contents, so that it becomes durable together with the files.
    func bring(to incoming: IncomingContents) throws(StoreError) {
        var item = try incoming.begin(received.address, byteCount: received.byteCount)
        // All bytes are in memory, so another pull's part is useless.
        if item.offset > 0 { try item.restart() }
        let bytes = plan.release.received
        try item.append(bytes.span.bytes)
        _ = try item.finish()
    }

    /// The manifest as far as it is known; placeholders name content that has not arrived.
    private func manifest() throws(StoreError) -> Manifest {
        var release = plan.release
        // The store orders its versions itself; the publisher's order is among the terms.
        release.order = nil
        // A mirror publishes its own notes about its origin with a version; ours replace them.
        release.foreign.removeAll { $0.key == ReleaseTerms.key }
        if let terms = ReleaseTerms(of: plan.release).member { release.foreign.append(terms) }
        if let app {
            release.foreign.removeAll { $0.key == AppIdentity.key }
            release.foreign.append(app.member)
        }
        let (plan, contents, absent, tagged) = (plan, contents, absent, tagged)
        if !tagged.isEmpty || contents.values.contains(where: { $0.entityTag != nil }) {
            release.foreign.removeAll { $0.key == KnownContent.originKey }
            release.foreign.append(.init(key: KnownContent.originKey, value: .string(origin)))
        }
        var manifest = try release.manifest(ordinal: 0, createdAt: 0) {
            (position) throws(StoreError) in
            let name = plan.names[position]
            if absent.contains(name) { return nil }
            if let content = contents[name] { return content }
            let file = release.files[position]
            let byteCount = file.byteCount ?? plan.knownSizes[name] ?? 0
            let kept = tagged[file.path].flatMap { $0.address == name ? $0.entityTag : nil }
            return FetchedContent(address: name, byteCount: byteCount, entityTag: kept)
        }
        manifest.received = received
        return manifest
    }

    /// Adopts what the registered manifest of the release names as arrived, so that another pull's content is kept.
    private func takeOver() throws(StoreError) {
        let waiting = Set(plan.contents.filter(\.isPlaceholder).map(\.name))
            .subtracting(contents.keys)
        guard !waiting.isEmpty, let existing = try existing() else { return }
        for (position, file) in plan.release.files.enumerated() {
            let name = plan.names[position]
            guard waiting.contains(name), let entry = existing[file.path], entry.address != name,
                !plan.wrong.contains(entry.address),
                try versions.store.unproven([entry.address]).isEmpty
            else { continue }
            contents[name] = FetchedContent(of: entry)
        }
    }

    /// Registers the version, or replaces its incomplete manifest, whose promises nobody may be able to keep.
    /// - Returns: whether nothing is missing.
    func register() throws(StoreError) -> Bool {
        try takeOver()
        let manifest = try manifest()
        let name = manifest.version.description
        if try versions.store.versionRow(name)?.isComplete == false {
            // It was complete once, is complete by now, or is gone.
            let isWhole = try allowing([.versionInUse, .noVersion], try versions.revise(manifest))
            if let isWhole { return isWhole }
        }
        do throws(StoreError) {
            return try versions.register(manifest)
        } catch {
            guard error.code == .versionExists, try isThere(manifest) else { throw error }
            return true
        }
    }

    /// Notes contents in the store; the manifest must name them before the download's lease ends.
    func note(_ arrived: [FetchedFile]) {
        for one in arrived where one.content.isPlaceholder {
            contents[one.content.name] = one.arrived
            hasNews = true
        }
    }

    func skip(_ names: Set<ObjectID>) {
        absent = names
        if !names.isEmpty { hasNews = true }
    }

    func revise() throws(StoreError) {
        guard hasNews else { return }
        try takeOver()
        let manifest = try manifest()
        do throws(StoreError) {
            try versions.revise(manifest)
        } catch {
            guard error.code == .versionInUse, try isThere(manifest) else { throw error }
        }
        hasNews = false
    }

    /// Whether another process has completed the same release meanwhile.
    private func isThere(_ manifest: Manifest) throws(StoreError) -> Bool {
        let name = manifest.version.description
        guard try versions.isAllHere(name) else { return false }
        return try versions.manifest(of: name).received?.address == received.address
    }
}
