import CASStore
import VersionTree

/// What a pull writes to the event log; remembers the last failure, which is written once.
final class PullLog {
    private let journal: Journal?
    private(set) var failure: StoreError?

    init(_ journal: Journal?) { self.journal = journal }

    func note(_ error: StoreError, during deed: String) {
        failure = error
        journal?.record(error, during: deed)
    }

    func noteBeginning(of plan: DownloadPlan) {
        guard let journal, !plan.contents.isEmpty else { return }
        let version = plan.release.version.description
        journal.record(.planned(version: version, cost: UpdateCost(plan)))
        journal.record(.downloadBegan(version: version))
    }

    func noteEnd(of plan: DownloadPlan, _ figures: DownloadFigures, _ error: StoreError?) {
        guard let journal else { return }
        guard !plan.contents.isEmpty else {
            if let error { note(error, during: "download") }
            return
        }
        failure = error
        journal.record(.ended(plan.release.version, figures, error))
    }

    func noteFallback(_ pack: Delivery.Pack?, _ error: StoreError, missingCount: Int) {
        journal?.record(
            .fellBack(pack: pack?.address, reason: error.message, objects: missingCount))
    }
}
