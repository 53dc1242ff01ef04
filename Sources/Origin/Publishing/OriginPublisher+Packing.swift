package import CASStore
package import HotPush
import Storage
package import VersionTree

extension OriginPublisher {
    /// Makes and offers the packs of an offered version, as the second half of a publication without packs.
    ///
    /// The release keeps its position and its sequence. If it has been withdrawn in the meantime, nothing happens.
    /// - Returns: what was committed; ``OriginCommit/packing`` is `nil` if the release has its packs already.
    /// - Throws: `.noOrigin`; `.notOffered` if the channel does not offer the version; as ``publish(_:of:as:_:)``.
    package func pack(
        _ name: String, of versions: VersionStore, in channel: ChannelName = .stable
    ) throws(StoreError) -> OriginCommit {
        try advising { () throws(StoreError) in
            let pin = try Publisher.pin(name, of: versions)
            defer { withExtendedLifetime(pin) {} }
            let log = makeLog()
            let publication = publication(
                try Publisher.describe(name, of: versions, ReleaseOffer(channel: channel)),
                of: versions, in: channel, log)
            let manifest = publication.version.manifest
            let (opened, seen) = try open(channel, log) { (state) throws(StoreError) in
                let known = try trusted(state, channel, log, isSaid: false)
                try checkOffered(publication.version, in: channel, known)
                try checkSigning(channel, upon: state, log)
            }
            let state = try trusted(opened, channel, log)
            let packing = ReleasePacking(publication)
            guard try packing.prepare(in: state) else {
                var commit = try finish(channel, seen, state, log, isUnchanged: true)
                commit.packing = packing.report
                return commit
            }
            let lock = try OriginLock(storage, options, .sharing)
            defer { withExtendedLifetime(lock) {} }
            var isWithdrawn = false
            let (done, after) = try committing(to: channel, seen, upon: state, log) {
                (state: inout OriginState) throws(StoreError) -> (ChannelPointer, LogEntry.Kind)? in
                func isOffered() -> Bool { state.pointers[channel]?.offers(manifest) == true }
                let delivery = isOffered() ? try packing.place(in: &state) : nil
                isWithdrawn = !isOffered()
                if isWithdrawn { return nil }
                return state.pointers[channel]?
                    .delivering(manifest, by: delivery, now: now()).map { ($0, .pack) }
            }
            // The packs are offered; frames that are not noted are made again.
            if !isWithdrawn { try? packing.note(after) }
            var commit = done
            commit.packing = isWithdrawn ? .withdrawn : packing.report
            commit.fetched = packing.fetched
            return commit
        }
    }

    /// What packing would make, without writing anything; `nil` if there is nothing to do.
    /// - Throws: as ``pack(_:of:in:)``.
    package func planPacks(
        _ name: String, of versions: VersionStore, in channel: ChannelName = .stable
    ) throws(StoreError) -> PackReport? {
        let log = makeLog()
        let publication = publication(
            try Publisher.describe(name, of: versions, ReleaseOffer(channel: channel)),
            of: versions, in: channel, log)
        let state = try trusted(open(channel, log).state, channel, log)
        try checkOffered(publication.version, in: channel, state)
        return try ReleasePacking(publication).plan(in: state)
    }

    private func checkOffered(
        _ version: PublishedVersion, in channel: ChannelName, _ state: OriginState
    ) throws(StoreError) {
        let pointer = state.pointers[channel]
        guard pointer?.offers(version.manifest) != true else { return }
        let offer = "channel \(channel) of \(storage.place)"
        let named = pointer?.releases.first { $0.version?.name == version.name }?.version
        guard let named else {
            throw StoreError(
                .notOffered, "\(offer) does not offer version \(version.name); publish it")
        }
        let problem =
            named.content == version.content
            ? "\(offer) offers the files of version \(version.name) by the manifest of another store, which added them "
                + "itself"
            : "\(offer) offers a version \(version.name) with other files than this store has"
        throw StoreError(
            .notOffered,
            "\(problem); run castree pack with the store that published it, or with one that pulled it from there"
        )
    }

    /// What publishing a version would write; writes nothing, and does not probe the store.
    /// - Throws: as ``publish(_:of:as:_:)``.
    package func plan(
        _ name: String, of versions: VersionStore, as offer: ReleaseOffer = ReleaseOffer()
    ) throws(StoreError) -> PublishPlan {
        let log = makeLog()
        let publication = publication(
            try Publisher.describe(name, of: versions, offer, options.limits), of: versions,
            in: offer.channel, log)
        let (version, channel) = (publication.version, offer.channel)
        let seen = try LogCopy.pointer(channel).read(from: storage)
        let known = try logged(channel, seen, log)
        let there = if let known { known } else { try GenesisEntry(self, log).planned(seen) }
        try checkSigning(channel, upon: there, log)
        let state = try base(for: version, in: channel, there, log)
        let packing = ReleasePacking(publication)
        if options.verifiesObjects, options.packs.timing == .never {
            try packing.checkKept(in: state)
        }
        let report = options.packs.timing == .never ? nil : try packing.plan(in: state)
        let upload = ReleaseUpload(publication)
        let plan = try upload.plan(in: state)
        var release = offer.release(.version(plan.existing ?? version))
        release.delivery = state.counted(channel, options.signing)
            .delivery(of: version.manifest, in: channel)
        let facts = try planFacts(publication, state, log)
        release.facts = facts?.existing ?? facts.map { PublishedFacts(address: $0.address) }
        let before = state.pointers[channel] ?? .empty(channel, now: now())
        var after = offering(release, version, upon: before)
        if options.verifiesObjects, before.offersOlder(version) {
            options.notice(Publisher.mending(version, channel))
        }
        if after == nil, options.signing.renews(before, now: now()) {
            after = before.renewed(now: now())
        }
        if var pointer = after {
            pointer.log = state.number + 1
            after = try sign(pointer, upon: state)
        }
        return PublishPlan(
            version, sending: plan.lacking, of: upload, writesManifest: plan.existing == nil,
            packing: report, facts: facts.map(PlannedFacts.init), pointer: after ?? before,
            before: state.pointers[channel], writesPointer: after != nil)
    }

    private func planFacts(
        _ work: Publication, _ state: OriginState, _ log: OriginLog
    ) throws(StoreError) -> FactsUpload.Plan? {
        let source = ReleaseSource(SeenFiles(in: storage), work.versions)
        guard try announces(of: work.channel, state, log, source) else { return nil }
        let making = DeflatedCopyMaking(source, options, keepsDeflatedCopies: false)
        return try FactsUpload(
            work.manifest, work.version, for: work.channel, making, work.watch
        ).plan(in: state)
    }
}
