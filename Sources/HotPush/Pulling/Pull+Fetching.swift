public import CASStore
import StrictJSON
import VersionTree

// Carrying out a plan.

extension Pull {
    /// Fetches what a plan says and registers the version: when it returns, the version is complete.
    ///
    /// - Throws: `.outOfSpace` before the first byte; `.network`, `.mismatch`, `.notFound`,
    ///   `.unsuitableRelease`, `.interrupted`. What has come is kept for the next pull.
    public func fetch(
        _ plan: DownloadPlan, of offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        noteBeginning(of: plan)
        let began = ContinuousClock.now
        var report = PullReport(of: plan)
        var failure: StoreError?
        do throws(StoreError) {
            try obey(plan, offer, &report)
        } catch {
            failure = error
        }
        report.figures.milliseconds = (ContinuousClock.now - began).milliseconds
        noteEnd(of: plan, report.figures, failure)
        if let failure { throw failure }
        noteObeyed(offer.sighting)
        return report
    }

    /// - Parameter report: how far it came, even if it fails.
    private func obey(
        _ reckoned: DownloadPlan, _ offer: FoundRelease, _ report: inout PullReport
    ) throws(StoreError) {
        var plan = reckoned
        let release = plan.release
        try versions.store.checkSpace(for: plan.byteCount - stagedByteCount(of: plan))
        let draft = try Draft(plan, versions)
        // Two releases under one name would each take the other's content for its own.
        let hold = try VersionHold(report.version, for: draft.received.address, versions)
        defer { withExtendedLifetime(hold) {} }
        let before = try versions.store.versionRow(report.version)
        let wasHere = before?.isComplete == true
        let isComplete = try draft.register()
        report.isUnchanged = wasHere && isComplete
        if !isComplete {
            let arrivals = try Arrivals(versions.store)
            plan.leaveOut(draft.named)
            try complete(&plan, draft, arrivals)
            report.reusedObjects = plan.reusedObjects
            report.figures.reusedBytes = plan.reusedBytes
            let context = try context(of: offer)
            let download = Download(
                plan, from: offer.origin, format: offer.format, arrivals: arrivals,
                options: options, isInterrupted: access.isInterrupted
            ) { (file, bytes) throws(StoreError) in
                if let app = try offer.format.inspect(file, bytes, of: release, context) {
                    draft.app = app
                }
            } settled: { (arrived) throws(StoreError) in
                draft.note(arrived)
                try draft.revise()
            }
            let failure = run(download, draft, at: offer.location)
            report.figures = download.figures
            report.figures.reusedBytes = plan.reusedBytes
            report.skipped = download.skipped.sorted()
            if let failure { throw failure }
        }
        if before?.recovery == .partial, try versions.isMaterialized(report.version) {
            // It showed what was left of the version.
            try versions.rebuildTree(of: versions.registeredManifest(of: report.version))
        }
        report.requests = requestCount
    }

    /// Adds to a plan what has gone since it was made: a collection deletes what no version names,
    /// and until the version was registered perhaps none did.
    private func complete(
        _ plan: inout DownloadPlan, _ draft: Draft, _ arrivals: Arrivals
    ) throws(StoreError) {
        var missing: Set<ObjectID> = []
        for object in try versions.store.missingObjects(of: plan.release.version.description) ?? []
        {
            missing.insert(object.address)
        }
        if missing.remove(draft.received.address) != nil { try draft.bring(to: arrivals) }
        for content in plan.contents { missing.remove(content.name) }
        try plan.add(missing)
    }

    /// How much of a plan an interrupted pull has staged; ignores small files.
    private func stagedByteCount(of plan: DownloadPlan) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for content in plan.contents where content.byteCount ?? 0 > 256 * 1024 {
            let status = try versions.fileSystem.status(
                versions.directories.staging.raw, content.name.description)
            byteCount += status?.byteCount ?? 0
        }
        return byteCount
    }

    /// - Returns: what ended the download early; what had come by then is in the store, and the
    ///   version's manifest names it.
    private func run(
        _ download: Download, _ draft: Draft, at location: OriginLocation
    ) -> StoreError? {
        var failure: StoreError?
        do throws(StoreError) {
            if !download.plan.contents.isEmpty { try access.run(download, at: location) }
        } catch {
            failure = error
        }
        failure = download.failure ?? failure
        do throws(StoreError) {
            try versions.store.uninterrupted { () throws(StoreError) in
                do throws(StoreError) {
                    try download.settle()
                } catch {
                    failure = failure ?? error
                }
                draft.skip(download.absent)
                try draft.revise()
            }
        } catch {
            // The error to report is the first.
            failure = failure ?? error
        }
        download.report(download.progress)
        return failure
    }
}
