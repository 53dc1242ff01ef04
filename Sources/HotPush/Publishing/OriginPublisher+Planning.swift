package import CASStore
package import VersionTree

extension OriginPublisher {
    /// What publishing a version would write; writes nothing, not even to look what the store can do.
    ///
    /// - Throws: as ``publish(_:of:as:)``.
    package func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        let log = makeLog()
        let publication = try publication(name, of: versions, as: offer, log, options.limits)
        let (version, channel) = (publication.version, offer.channel)
        let seen = try LogCopy.pointer(channel).read(from: storage)
        let known = try logged(channel, seen, log)
        let there = if let known { known } else { try OriginFoundation(self, log).planned(seen) }
        try Publisher.checkName(version, there.pointers)
        let state = try trusted(there, channel, log)
        let packing = ReleasePacking(publication)
        if options.verifiesObjects, options.packs.moment == .never {
            try packing.checkKept(in: state)
        }
        let report = options.packs.moment == .never ? nil : try packing.plan(in: state)
        let upload = ReleaseUpload(publication)
        let plan = try upload.plan(in: state)
        var release = offer.release(.version(plan.standing ?? version))
        release.delivery = state.delivery(of: version.manifest, in: channel)
        let facts = try planFacts(publication, state, log)
        release.published = facts?.standing ?? facts.map { PublishedFacts(address: $0.address) }
        let before = state.pointers[channel] ?? .empty(channel, now: now())
        var after = offering(release, version, upon: before)
        if options.verifiesObjects, before.offersOlder(version) {
            options.notice(Publisher.mending(version, channel))
        }
        if after == nil, options.sealing.renews(before, now: now()) {
            after = before.renewed(now: now())
        }
        if var pointer = after {
            pointer.log = state.number + 1
            after = try seal(pointer, upon: state)
        }
        return PublishPlan(
            version, sending: plan.lacking, of: upload, writesManifest: plan.standing == nil,
            packing: report, facts: facts.map(PlannedFacts.init), pointer: after ?? before,
            before: state.pointers[channel], writesPointer: after != nil)
    }

    private func planFacts(
        _ work: Publication, _ state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> FactsUpload.Plan? {
        let source = ReleaseSource(SeenFiles(in: storage), work.versions)
        guard try tells(of: work.channel, state, log, source) else { return nil }
        let making = TwinMaking(work.versions, storage, options, keepsTwins: false)
        return try FactsUpload(
            work.manifest, work.version, for: work.channel, making, source, work.watch, options
        ).plan(in: state)
    }
}
