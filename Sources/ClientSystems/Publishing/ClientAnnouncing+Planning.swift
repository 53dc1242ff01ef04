package import CASStore
import HotPush
package import Origin
package import VersionTree

// What the feeds would announce, and what they refuse before anything is announced.

extension ClientAnnouncing {
    /// What publishing by a plan would announce; writes nothing.
    /// - Parameters:
    ///   - plan: of ``Origin/Publisher/plan(_:of:as:)``.
    ///   - versions: has the version.
    /// - Throws: as publishing does; an objection is an outcome.
    package func outcomes(
        of plan: PublishPlan, _ versions: VersionStore, by publisher: OriginPublisher
    ) throws(StoreError) -> [ClientOutcome] {
        guard let facts = plan.facts, let release = plan.pointer.releases.first else { return [] }
        let clients = try publisher.clients(with: versions)
        try refuseTakingBack(plan.pointer, upon: plan.before, clients)
        let manifest = try versions.registeredManifest(of: plan.version.name.description)
        let content = clients.content(of: manifest, facts.facts)
        var outcomes: [ClientOutcome] = []
        for configuration in try clients.configurations(of: systems, passingOver: leaveOut)
        where configuration.announces(of: plan.pointer.channel) {
            let rules = try rules(of: configuration.system)
            let existing = try clients.history(of: plan.pointer.channel, configuration.system)
            let history = try unforged(existing, rules, clients) ?? existing
            let now = history.time(
                of: ClientHistory.Lacking(release: release, isAgain: false), in: plan.pointer)
            var client = ClientRelease(
                release, content, now: now, for: configuration, in: clients)
            client.head = plan.before?.releases.first?.sequence
            var outcome = try self.outcome(of: client, rules, history, clients)
            // Ids that depend on the time are not known yet; find them by making a second offer later.
            client.now = max(now, history.newest?.createdAt ?? now) + 1000
            if let offer = outcome.prepared?.offer,
                let later = try self.outcome(of: client, rules, history, clients)
                    .prepared?.offer
            {
                outcome.prepared?.offer = offer.what(isAlsoIn: later)
            }
            outcomes.append(outcome)
            if isStrict, let refusal = outcome.objections.first(where: { $0.refuses }) {
                throw StoreError(
                    .notExpressible,
                    "nothing would be offered, since --strict: version \(plan.version.name) is not for the clients of "
                        + "\(outcome.system.rawValue): \(refusal.message)")
            }
        }
        return outcomes
    }
}

extension ClientAnnouncing {
    /// Refuses to narrow an existing offer: clients that have the release would not learn of it, and the others would
    /// get an older one.
    /// - Throws: `.notExpressible`.
    func refuseTakingBack(
        _ pointer: ChannelPointer, upon before: ChannelPointer?, _ clients: ClientLog
    ) throws(StoreError) {
        guard let before, before != pointer else { return }
        try refuseNarrowing(pointer, upon: before, clients)
        guard let systems else { return }
        let listed = Set(pointer.releases.map(\.sequence))
        let replaced = before.releases.filter { old in
            !listed.contains(old.sequence)
                && pointer.releases.first?.version?.content == old.version?.content
        }
        guard !replaced.isEmpty else { return }
        // Errors in another system's files are reported elsewhere.
        for configuration in try clients.configurations(passingOver: { _, _ in })
        where !systems.contains(configuration.system)
            && configuration.announces(of: pointer.channel)
        {
            let system = configuration.system
            let history: ClientHistory
            do throws(StoreError) {
                history = try clients.history(of: pointer.channel, system)
            } catch {
                guard error.isOfClients else { throw error }
                continue
            }
            guard let old = replaced.first(where: { history.offer(of: $0.sequence) != nil }) else {
                continue
            }
            let version =
                old.version.map { "version \($0.name)" } ?? "the embedded version"
            throw StoreError(
                .notExpressible,
                "nothing is offered: the clients of \(system.rawValue) were offered \(version) already, and would be led "
                    + "back to what is older: name them by --for, too, or leave it out")
        }
    }

    /// Refuses a smaller share of the clients than before, as CodePush's server does.
    private func refuseNarrowing(
        _ pointer: ChannelPointer, upon before: ChannelPointer, _ clients: ClientLog
    ) throws(StoreError) {
        func share(_ release: ChannelRelease) -> Int { release.rollout?.perMille ?? 1000 }
        // Only the first is offered now; an older one may have been for fewer when others got its content.
        guard let release = pointer.releases.first, let content = release.version?.content,
            let wider = before.releases.first(where: { old in
                old.version?.content == content && share(old) > share(release)
            }), let name = wider.version?.name
        else { return }
        let told = try clients.configurations(passingOver: leaveOut).first {
            $0.announces(of: pointer.channel)
        }
        guard let told else { return }
        throw StoreError(
            .notExpressible,
            "nothing is offered: version \(name) is offered to \(share(wider)) of 1000 devices already, and a smaller "
                + "share of its files takes it back from no client of \(told.system.rawValue): castree withdraw it "
                + "first, then publish to fewer")
    }
}

extension ClientOffer {
    /// Without the ids and digests that another offer of the same release does not have.
    fileprivate func what(isAlsoIn other: ClientOffer) -> ClientOffer {
        var offer = self
        if id != other.id { offer.id = nil }
        if label != other.label { offer.label = nil }
        if archive != other.archive { offer.archive = nil }
        if manifestDigest != other.manifestDigest { offer.manifestDigest = nil }
        offer.documents = zip(documents, other.documents).filter { $0.0.address == $0.1.address }
            .map(\.0)
        return offer
    }
}
