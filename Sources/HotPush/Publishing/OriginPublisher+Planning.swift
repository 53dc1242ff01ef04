package import CASStore
package import VersionTree

extension OriginPublisher {
    /// What publishing a version would write; writes nothing, not even to look what the store can do.
    ///
    /// - Throws: as ``publish(_:of:as:)``.
    package func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        let (manifest, version) = try Publisher.describe(
            name, of: versions, offer, options.limits)
        let log = makeLog()
        let seen = try PointerCopy(offer.channel, in: storage).read()
        let known = try logged(offer.channel, seen, log)
        let there = if let known { known } else { try OriginFoundation(self, log).planned(seen) }
        try Publisher.checkName(version, there.pointers)
        let state = try trusted(there, offer.channel, log)
        let packing = ReleasePacking(
            manifest, version, of: versions, to: storage, offer.channel, options)
        if options.verifiesObjects, options.packs.moment == .never {
            try packing.checkKept(in: state)
        }
        let report = options.packs.moment == .never ? nil : try packing.plan(in: state)
        let layout = ReleaseLayout(
            manifest, version, for: offer.channel, of: versions, SeenFiles(in: storage),
            options)
        let plan = try layout.plan(in: state)
        var release = offer.release(.version(plan.standing ?? version))
        release.delivery = state.delivery(of: version.manifest, in: offer.channel)
        let facts = try planFacts(manifest, version, offer.channel, versions, state, log)
        release.published = facts?.standing ?? facts.map { PublishedFacts(address: $0.address) }
        let before = state.pointers[offer.channel] ?? .empty(offer.channel, now: now())
        var after = offering(release, version, upon: before)
        if options.verifiesObjects, before.offersOlder(version) {
            options.notice(Publisher.mending(version, offer.channel))
        }
        if after == nil, options.sealing.renews(before, now: now()) {
            after = before.renewed(now: now())
        }
        if var pointer = after {
            pointer.log = state.number + 1
            after = try seal(pointer, upon: state)
        }
        var planned = PublishPlan(
            version: version, objects: plan.lacking,
            reusedObjectCount: layout.objects.count - plan.lacking.count,
            reusedByteCount: layout.objects.reduce(0) { $0 + $1.byteCount }
                - plan.lacking.reduce(0) { $0 + $1.byteCount },
            writesManifest: plan.standing == nil, packing: report, pointer: after ?? before,
            writesPointer: after != nil)
        planned.facts = facts.map(PlannedFacts.init)
        planned.before = state.pointers[offer.channel]
        planned.head = before.releases.first?.sequence
        return planned
    }

    private func planFacts(
        _ manifest: Manifest, _ version: PublishedVersion, _ channel: ChannelName,
        _ versions: VersionStore, _ state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> FactsUpload.Plan? {
        let source = ReleaseSource(SeenFiles(in: storage), versions)
        guard try tells(of: channel, state, log, source) else { return nil }
        return try FactsUpload(
            manifest, version, for: channel,
            TwinMaking(versions, storage, options, keepsTwins: false), source,
            UploadWatch(log, now: now), options
        ).plan(in: state)
    }
}
