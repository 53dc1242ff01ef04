import CASStore
import VersionTree

// What to remember of a channel's pointer, and when: once it was obeyed.

extension Pull {
    /// What was noted of channels.
    var seenSequences: SeenSequences {
        SeenSequences(versions, bound: SequenceBound(versions, now: options.now))
    }

    /// Notes the sequence of a pointer: what it offers is whole here, or what it withdraws no longer waits.
    ///
    /// If this fails, one old copy may get through; that must not stop an update.
    func noteObeyed(_ sighting: SeenSequences.Sighting?) {
        guard let sighting, !options.isDryRun else { return }
        do throws(StoreError) {
            try seenSequences.note(sighting, isLowering: options.isForced)
        } catch {
            options.journal?.record(error, during: "pull")
        }
    }

    /// Carries out an answer without a release.
    ///
    /// A channel that no longer offers anything takes back what waits; it is obeyed if there was something
    /// to take back. Otherwise its sequence protects nothing, and anybody may have written it.
    func obeyNothing(_ sighting: SeenSequences.Sighting?) throws(StoreError) {
        guard !options.isDryRun, let sighting else { return }
        let hasTakenBack =
            options.destination == .kept ? false : try versions.takeBackWaiting(sighting)
        if hasTakenBack || sighting.isInsistedOn { noteObeyed(sighting) }
    }
}
