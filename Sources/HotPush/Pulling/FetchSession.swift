import CASStore
import StrictJSON
import VersionTree

/// A release while it is fetched: the version is registered, and what comes goes into it, whichever way it comes.
///
/// Belongs to one thread.
final class FetchSession {
    let download: Download
    /// Whether the version was here before, and whole.
    let isUnchanged: Bool
    /// Whether nothing was missing when it began.
    let isComplete: Bool
    /// Whether the version was made again from a tree, and shows what was left of it.
    let wasPartial: Bool
    private let draft: Draft
    private let hold: SharedHold
    private let versions: VersionStore

    var plan: DownloadPlan { download.plan }

    /// Registers the version of a plan.
    ///
    /// - Parameter arrivals: what has begun to arrive, if anything has.
    /// - Throws: `.outOfSpace`, `.versionExists`, what registering throws.
    init(
        _ reckoned: DownloadPlan, of offer: FoundRelease, in pull: Pull,
        _ arrivals: @autoclosure () throws(StoreError) -> Arrivals
    ) throws(StoreError) {
        var plan = reckoned
        let versions = pull.versions
        let version = plan.release.version.description
        let needed = plan.byteCount.addingClamped(plan.directoryByteCount)
        pull.lackingRoomFor = needed
        try versions.store.checkSpace(for: needed - pull.stagedByteCount(of: plan))
        pull.lackingRoomFor = nil
        let draft = try Draft(plan, versions, from: offer.location)
        // Two releases under one name would each take the other's content for its own.
        hold = try SharedHold(version, for: draft.received.address, versions)
        let before = try versions.store.versionRow(version)
        // What is there with wrong bytes is missing, whatever the index says.
        isComplete = try draft.register() && plan.wrong.isEmpty
        try pull.dropUnlistedParts(for: offer, as: version)
        let coming = try arrivals()
        if !isComplete {
            plan.leaveOut(draft.named)
            try Self.complete(&plan, draft, coming, versions)
        }
        let release = plan.release
        let context = try pull.context(of: offer)
        download = Download(
            plan, from: offer.origin, format: offer.format, arrivals: coming,
            options: pull.options, isInterrupted: pull.access.isInterrupted
        ) { (file, bytes) throws(StoreError) in
            if let app = try offer.format.inspect(file, bytes, of: release, context) {
                draft.app = app
            }
        } settled: { (arrived) throws(StoreError) in
            draft.note(arrived)
            try draft.revise()
        }
        self.draft = draft
        self.versions = versions
        isUnchanged = before?.isComplete == true && isComplete
        wasPartial = before?.recovery == .partial
        if before != nil, !isComplete { try download.takeStaged() }
    }

    /// Adds to a plan what has gone since it was made: a collection deletes what no version names, and until the
    /// version was registered perhaps none did.
    private static func complete(
        _ plan: inout DownloadPlan, _ draft: Draft, _ arrivals: Arrivals, _ versions: VersionStore
    ) throws(StoreError) {
        let version = plan.release.version.description
        var missing = Set(try versions.store.missingObjects(of: version)?.map(\.address) ?? [])
        if missing.remove(draft.received.address) != nil { try draft.bring(to: arrivals) }
        for content in plan.contents { missing.remove(content.name) }
        try plan.add(missing)
    }

    /// Makes durable what has come, and has the version's manifest name it.
    /// - Throws: the first thing that went wrong.
    func settle() throws(StoreError) {
        var failure: StoreError?
        let (download, draft) = (download, draft)
        try versions.store.uninterrupted { () throws(StoreError) in
            do throws(StoreError) {
                try download.settle()
            } catch {
                failure = error
            }
            draft.skip(download.absent)
            try draft.revise()
        }
        if let failure { throw failure }
    }

    /// What it did.
    var report: PullReport {
        var report = PullReport(of: plan)
        report.isUnchanged = isUnchanged
        report.figures = download.figures
        report.reusedObjects += download.unchanged.count
        report.figures.reusedBytes = plan.reusedBytes.addingClamped(download.unchanged.byteCount)
        // The version has no entry for a file that the origin lacks.
        report.files -= plan.names.count { download.absent.contains($0) }
        report.skipped = download.skipped.sorted()
        return report
    }
}
