import CASStore
package import VersionTree

/// What all steps of a pull work with: a store, the options, and the access to origins.
package struct PullBasis: PullStep {
    package let versions: VersionStore
    package let options: PullOptions
    let access: OriginAccess
    let log: PullLog
    package var basis: PullBasis { self }

    init(_ versions: VersionStore, over transport: any Transport, _ options: PullOptions) {
        self.versions = versions
        self.options = options
        log = PullLog(options.eventLog)
        access = OriginAccess(
            over: transport, retries: options.retries, tell: options.tell,
            isInterrupted: { versions.store.options.isInterrupted() || options.isInterrupted() })
    }
}

/// A step of a pull, or all of them.
package protocol PullStep {
    var basis: PullBasis { get }
}

extension PullStep {
    package var versions: VersionStore { basis.versions }
    package var options: PullOptions { basis.options }
    var access: OriginAccess { basis.access }
    var log: PullLog { basis.log }
    var bound: SequenceBound { SequenceBound(versions, now: options.now) }
    var limits: Manifest.Limits { .foreign(entryCountMax: options.entryCountMax) }

    func device(for audience: Audience) throws(StoreError) -> String? {
        try versions.deviceName(options.device, for: audience, isDrawing: !options.isDryRun)
    }

    func releaseContext(of offer: FoundRelease) throws(StoreError) -> ReleaseContext {
        ReleaseContext(
            origin: offer.origin, platform: options.platform, app: try versions.appIdentity())
    }

    // MARK: The steps that others use

    var judge: PointerJudge { PointerJudge(basis: basis) }
    var documents: PublishedDocuments { PublishedDocuments(basis: basis) }
    var planner: DownloadPlanner { DownloadPlanner(basis: basis) }
}

/// What a pull writes to the event log; remembers the last failure, which is written once.
final class PullLog {
    private let eventLog: EventLog?
    private(set) var failure: StoreError?

    init(_ eventLog: EventLog?) { self.eventLog = eventLog }

    func note(_ error: StoreError, during operation: String) {
        failure = error
        eventLog?.record(error, during: operation)
    }

    func noteBeginning(of plan: DownloadPlan) {
        guard let eventLog, !plan.contents.isEmpty else { return }
        let version = plan.release.version.description
        eventLog.record(.planned(version: version, cost: UpdateCost(plan)))
        eventLog.record(.downloadBegan(version: version))
    }

    func noteEnd(of plan: DownloadPlan, _ figures: DownloadFigures, _ error: StoreError?) {
        guard let eventLog else { return }
        guard !plan.contents.isEmpty else {
            if let error { note(error, during: "download") }
            return
        }
        failure = error
        eventLog.record(.ended(plan.release.version, figures, error))
    }

    func noteFallback(_ pack: Delivery.Pack?, _ error: StoreError, missingCount: Int) {
        eventLog?.record(
            .fellBack(pack: pack?.address, reason: error.message, objects: missingCount))
    }
}
