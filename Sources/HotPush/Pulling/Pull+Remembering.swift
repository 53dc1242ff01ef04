import CASStore
import VersionTree

// What to remember of a channel's pointer, once it was obeyed.

extension Pull {
    var seenSequences: SeenSequences {
        SeenSequences(versions, bound: bound)
    }

    /// Notes the sequence of an obeyed pointer; a failure may let one old copy through, but must not stop an update.
    func noteObeyed(_ sighting: SeenSequences.Sighting?) {
        guard let sighting, !options.isDryRun else { return }
        do throws(StoreError) {
            try seenSequences.note(sighting, isLowering: options.isForced)
        } catch {
            options.journal?.record(error, during: "pull")
        }
    }

    /// Unsets a withdrawn pending version at once: its replacement may never come.
    func obeyWithdrawal(by sighting: SeenSequences.Sighting) throws(StoreError) {
        guard let withdrawal = try versions.withdrawal(by: sighting) else { return }
        guard !options.isDryRun, options.destination != .kept else {
            return options.withdrawn(withdrawal)
        }
        _ = try versions.obey(withdrawal, now: options.now)
    }

    /// Notes the sequence only with `--force`: it protects nothing, and anybody may have written it.
    func obeyNothing(_ sighting: SeenSequences.Sighting?) {
        if sighting?.isInsistedOn == true { noteObeyed(sighting) }
    }

    /// The ban of an offer, as far as its content is known before it is fetched.
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

// What a pull writes to the event log.

extension Pull {
    func note(_ reply: OriginReply, of origin: String) throws(StoreError) {
        guard let journal = options.journal else { return }
        var outcome = CheckOutcome.nothingNew
        var version: String?
        var reason: String?
        let failure = reply.isOlderCopy ? JournalFailure(code: JournalFailure.olderCopy) : nil
        switch reply.answer {
        case .release(let found):
            version = found.release.version.description
            if try !isHere(found) { outcome = .available }
        case .known(let name): version = name
        case .embedded: reason = "the app should show what it was shipped with"
        case .nothing(let reasons):
            version = reply.offered?.version?.name.description
            outcome = reasons.isEmpty ? .nothingNew : .refused
            reason = reasons.isEmpty ? nil : reasons.joined(separator: "; ")
        }
        if !options.isForced, let ban = try ban(of: reply.answer) {
            (outcome, reason) = (.refused, "it is banned on this device: \(ban.reason)")
        }
        journal.record(
            .checked(
                origin: origin, channel: options.unusualChannel, release: options.release,
                outcome: outcome, version: version, reason: reason, failure: failure))
    }

    func note(_ error: StoreError, during deed: String) {
        notedFailure = error
        options.journal?.record(error, during: deed)
    }

    func noteBeginning(of plan: DownloadPlan) {
        guard let journal = options.journal, !plan.contents.isEmpty else { return }
        let version = plan.release.version.description
        journal.record(.planned(version: version, cost: UpdateCost(plan)))
        journal.record(.downloadBegan(version: version))
    }

    func noteEnd(of plan: DownloadPlan, _ figures: DownloadFigures, _ error: StoreError?) {
        guard let journal = options.journal else { return }
        guard !plan.contents.isEmpty else {
            if let error { note(error, during: "download") }
            return
        }
        notedFailure = error
        journal.record(.ended(plan.release.version, figures, error))
    }

    /// Judges by name if the format does not give the content.
    private func isHere(_ found: FoundRelease) throws(StoreError) -> Bool {
        if let content = found.content {
            return try versions.contents(ifWhole: true).contains(content)
        }
        let name = options.version ?? found.release.version.description
        return try versions.store.versionRow(name)?.isComplete == true
    }
}

extension UpdateCost {
    /// The cheapest way's cost before the manifest is known; does not subtract what is here.
    init(_ choice: DeliveryChoice) {
        self.init()
        files = Int(clamping: choice.objectCount)
        bytes = choice.ways.first?.byteCount ?? choice.contentByteCount
    }

    package init(_ plan: DownloadPlan) {
        self.init()
        files = plan.contents.count
        bytes = plan.byteCount
        reusedFiles = plan.reusedObjects
        reusedBytes = plan.reusedBytes
    }
}
