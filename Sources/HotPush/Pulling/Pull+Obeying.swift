package import CASStore
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

    /// Carries out an answer that brings no release: there is none, or it is banned here.
    ///
    /// A channel takes back what waits by no longer listing it; it is obeyed if there was something to take
    /// back. Otherwise its sequence protects nothing, and anybody may have written it.
    func obeyNothing(_ sighting: SeenSequences.Sighting?) throws(StoreError) {
        guard !options.isDryRun, let sighting else { return }
        if options.destination != .kept, let withdrawal = try versions.withdrawal(by: sighting) {
            _ = try versions.obey(withdrawal, now: options.now)
        }
        if sighting.isInsistedOn { noteObeyed(sighting) }
    }

    /// What waits here and was taken back, for another process to obey.
    package func withdrawal(_ reply: OriginReply) throws(StoreError) -> Withdrawal? {
        guard let sighting = reply.sighting else { return nil }
        return try versions.withdrawal(by: sighting)
    }

    /// Whether what an origin offers is banned here.
    func isBanned(_ answer: OriginAnswer) throws(StoreError) -> Bool {
        try ban(of: answer) != nil
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
