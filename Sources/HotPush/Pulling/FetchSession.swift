import CASStore
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
