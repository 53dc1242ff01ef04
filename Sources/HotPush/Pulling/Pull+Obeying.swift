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

    /// Lets what a channel takes back, by no longer listing it, wait no longer: at once, since what it offers instead may
    /// never come.
    func obeyWithdrawal(by sighting: SeenSequences.Sighting) throws(StoreError) {
        guard let withdrawal = try versions.withdrawal(by: sighting) else { return }
        guard !options.isDryRun, options.destination != .kept else {
            return options.withdrawn(withdrawal)
        }
        _ = try versions.obey(withdrawal, now: options.now)
    }

    /// Carries out an answer that brings no release.
    ///
    /// Unless somebody insists, its sequence protects nothing, and anybody may have written it.
    func obeyNothing(_ sighting: SeenSequences.Sighting?) {
        if sighting?.isInsistedOn == true { noteObeyed(sighting) }
    }

    /// The ban of what an origin offers, as far as its content is known before it comes.
    func ban(of answer: OriginAnswer) throws(StoreError) -> Lifecycle.Ban? {
        switch answer {
        case .release, .known: break
        case .embedded, .nothing: return nil
        }
        let lifecycle = try versions.lifecycle()
        if lifecycle.bad.isEmpty { return nil }
        let content: ObjectID? =
            switch answer {
            case .release(let found): found.content
            case .known(let name): try versions.content(of: name)
            case .embedded, .nothing: nil
            }
        return content.flatMap { lifecycle.ban(of: $0) }
    }
}
