import CASStore
import VersionTree

/// Fetches a release and registers its version, which is complete afterwards.
///
/// If another pull of the store fetches the same release, waits for it first, and fetches only what is still missing. On
/// a full disk, frees space and fetches again.
struct ReleaseFetch: PullStep {
    let basis: PullBasis
    let offer: FoundRelease
    /// Whether to refuse a release that is banned or not for this device; a repair fetches what was here before.
    var judges = true

    /// - Parameter plan: without one, takes fewer requests than planning first, because a pack also brings the manifest.
    /// - Throws: as ``Pull/plan(_:)`` and ``Pull/fetch(_:of:)``.
    func run(by plan: DownloadPlan? = nil) throws(StoreError) -> PullReport {
        try judge.refuseExpired(offer)
        let turn = try FetchTurn(for: offer, basis)
        defer { withExtendedLifetime(turn) {} }
        let plan = turn.hasWaited ? nil : plan
        for lettingWaitingGo in [false, true] {
            var lackingByteCount: Int64?
            do throws(StoreError) {
                // It ends, with its lease, before anything is deleted.
                let attempt = FetchAttempt(self, by: plan)
                defer { lackingByteCount = attempt.lackingByteCount }
                return try attempt.run()
            } catch {
                guard error.code == .outOfSpace,
                    try makeSpace(for: lackingByteCount, lettingWaitingGo: lettingWaitingGo)
                else { throw error }
            }
        }
        return try FetchAttempt(self, by: plan).run()
    }

    /// Deletes unneeded content first, then the pending version, which was never shown and which the offer replaces.
    ///
    /// Keeps the current version and those to roll back to, and deletes nothing if that could not make enough space.
    /// - Parameter lackingByteCount: what did not fit, if known.
    private func makeSpace(
        for lackingByteCount: Int64?, lettingWaitingGo: Bool
    ) throws(StoreError) -> Bool {
        let name = options.version ?? offer.release.version.description
        guard let count = options.keptGoodCount else {
            guard !lettingWaitingGo,
                try couldHaveSpace(
                    for: lackingByteCount, without: Array(versions.replacedParts(for: name)))
            else { return false }
            let gone = try versions.dropReplacedParts(for: name)
            return try versions.collect().objectCount > 0 || gone
        }
        let lifecycle = try versions.lifecycle()
        var waiting = lifecycle.pending
        if let pending = waiting, pending == name || lifecycle.knownGood.contains(pending) {
            waiting = nil
        }
        let needless = try versions.planTidying(keptGoodCount: count, for: name).retired
        guard
            try couldHaveSpace(
                for: lackingByteCount,
                without: needless.map(\.version) + [waiting].compactMap(\.self))
        else { return false }
        if lettingWaitingGo {
            guard let waiting, try versions.takeBack(pending: waiting) else { return false }
        }
        // If nothing was deleted, the pending version may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || !lettingWaitingGo
    }

    private func couldHaveSpace(
        for lackingByteCount: Int64?, without names: [String]
    ) throws(StoreError) -> Bool {
        let (fileSystem, staging) = (versions.fileSystem, versions.directories.staging.raw)
        // The number of files that deletion would allow is unknown.
        guard let needed = lackingByteCount, try fileSystem.freeSpace(staging).files != 0 else {
            return true
        }
        let plan = try versions.planCollection(retiring: names)
        var freed = plan.byteCount - plan.staged.reduce(0) { $0 + $1.byteCount }
        // Partial content belongs to these versions, to none, or to the release itself.
        try fileSystem.list(staging) { (entry, _) throws(StoreError) in
            freed += try fileSystem.status(staging, entry)?.byteCount ?? 0
            return true
        }
        return try versions.store.hasSpace(for: needed - freed)
    }
}

/// One attempt at fetching a release: by its packs in turn, then by single objects.
///
/// A useless or wrong pack costs only its bytes.
final class FetchAttempt: PullStep {
    let basis: PullBasis
    private var offer: FoundRelease
    private let judges: Bool
    private var plan: DownloadPlan?
    private var incoming: IncomingContents?
    private var session: FetchSession?
    private var transfers: [PackTransfer] = []
    private var expectedByteCount: Int64 = 0
    /// The bytes of the release, staged parts included, that did not fit; nil if it fitted, or the disk filled up later.
    private(set) var lackingByteCount: Int64?
    /// After this many useless packs, objects come one by one.
    private static let problemCountMax = 2

    init(_ fetch: ReleaseFetch, by plan: DownloadPlan?) {
        (basis, offer, judges) = (fetch.basis, fetch.offer, fetch.judges)
        self.plan = plan
    }

    func run() throws(StoreError) -> PullReport {
        if plan == nil {
            // An interrupted pull or another release may have brought the manifest.
            if offer.isPromise, let bytes = try documents.heldManifest(of: offer) {
                offer = try documents.resolve(offer, with: bytes)
            }
            if !offer.isPromise { plan = try planner.plan(offer, judges: judges) }
        }
        let began = ContinuousClock.now
        var failure: StoreError?
        do throws(StoreError) {
            if plan != nil { try begin(offer) }
            try unpack()
            if session == nil { try begin(offer) }
            try finish()
        } catch {
            failure = access.discreet(error)
        }
        guard let session else {
            if let failure {
                log.note(failure, during: "download")
                throw failure
            }
            return PullReport(version: offer.release.version.description)
        }
        let report = pullReport(of: session, since: began)
        log.noteEnd(of: session.plan, report.figures, failure)
        if let failure { throw failure }
        noteObeyed(offer.observation)
        return report
    }

    /// Registers the version by its plan; plans now if a pack had to bring the manifest.
    private func begin(_ offer: FoundRelease) throws(StoreError) {
        let made = if let plan { plan } else { try planner.plan(offer, judges: judges) }
        log.noteBeginning(of: made)
        let needed = made.byteCount.addingClamped(made.directoryByteCount)
        lackingByteCount = needed
        try versions.store.checkSpace(for: needed - versions.stagedByteCount(of: made))
        lackingByteCount = nil
        session = try FetchSession(made, of: offer, basis, self.makeIncoming())
    }

    private func makeIncoming() throws(StoreError) -> IncomingContents {
        if let incoming { return incoming }
        let made = try IncomingContents(versions.store)
        incoming = made
        return made
    }

    private func pullReport(
        of session: FetchSession, since began: ContinuousClock.Instant
    ) -> PullReport {
        var report = session.report
        for transfer in transfers {
            report.figures.requests += transfer.figures.requests
            report.figures.bytes += transfer.figures.bytes
            report.figures.resumedBytes += transfer.figures.resumedBytes
        }
        let useless = transfers.compactMap(\.problem)
        report.fallbacks = useless.map(\.message)
        report.hasWrongPack = useless.contains { ![.outOfSpace, .network].contains($0.code) }
        report.damagedBases = transfers.flatMap(\.damagedBases)
        report.requests = access.requestCount
        report.figures.duration = ContinuousClock.now - began
        return report
    }

    // MARK: By packs

    private var failure: StoreError? { transfers.last?.failure }

    private func unpack() throws(StoreError) {
        guard let version = offer.published else { return }
        for pack in offer.packs {
            if let session, session.isComplete || session.download.missing.count == 0 { return }
            var base: Manifest?
            if let content = pack.base {
                // Another pack from there needs the same objects, most likely.
                if transfers.contains(where: { $0.pack.base == content && !$0.damagedBases.isEmpty }
                ) {
                    continue
                }
                // It was here when the offer was made.
                guard let found = try versions.manifest(with: content, ifWhole: true)
                else { continue }
                base = found
            }
            try unpack(pack, to: version, from: base)
            if failure != nil { return }
            if transfers.count(where: { $0.problem != nil }) == Self.problemCountMax { return }
        }
    }

    private func unpack(
        _ pack: Delivery.Pack, to version: PublishedVersion, from base: Manifest?
    ) throws(StoreError) {
        let asksForWhole = try isWhollyWanted(pack)
        expectedByteCount = pack.byteCount
        let transfer = PackTransfer(
            pack,
            at: offer.origin.url(
                of: OriginLayout.path(.pack, pack.address, in: offer.deliveryEpoch)),
            to: version, from: base, asksForWhole: asksForWhole, into: try makeIncoming(),
            limits: limits,
            budget: transfers.last?.budget ?? options.budget(options.retries.afterAnswer.forPacks),
            isInterrupted: access.isInterrupted, ticked: { [unowned self] in report() }
        ) { [unowned self] (opening) throws(StoreError) in
            try wish(opening, asksForWhole: asksForWhole)
        }
        transfers.append(transfer)
        try makeIncoming().writingBehind { () throws(StoreError) in
            try access.run(transfer, at: offer.location)
        }
        report()
        if let problem = transfer.problem, failure == nil {
            log.noteFallback(pack, problem, missingCount: session?.download.missing.count ?? 0)
        }
    }

    /// Whether the whole pack is probably wanted: the store is empty, or has the pack's base.
    private func isWhollyWanted(_ pack: Delivery.Pack) throws(StoreError) -> Bool {
        // Fetching the opening alone would save less than a request costs.
        if pack.byteCount - pack.openingByteCount <= PackSpans.requestByteCount { return true }
        if let session {
            // A collection may have deleted the opening and left part of a frame.
            let download = session.download
            let isPartHere = try download.incoming.hasPart(leadingTo: download.isMissing)
            let isMost = download.missing.byteCount > pack.contentByteCount / 10 * 9
            return isMost && !isPartHere
        }
        let name = options.version ?? offer.release.version.description
        // Part of the version has arrived already.
        if try versions.store.versionRow(name) != nil { return false }
        if pack.base != nil { return true }
        return try versions.store.versionRows().isEmpty
    }

    private func wish(_ opening: PackOpening, asksForWhole: Bool) throws(StoreError) -> PackWish? {
        if session == nil {
            try begin(documents.resolve(offer, with: opening.bytes, opening.manifest))
        }
        guard let session, !session.isComplete,
            let wish = try PackWish(opening, of: versions.store, for: session.download)
        else { return nil }
        if !asksForWhole {
            guard wish.cost <= wish.objectsCost else { return nil }
            expectedByteCount = wish.byteCount + opening.pack.openingByteCount
        }
        return try hasSpace(wish, session) ? wish : nil
    }

    /// Whether there is space for a pack's frames beside all objects; otherwise these would come a second time.
    private func hasSpace(_ wish: PackWish, _ session: FetchSession) throws(StoreError) -> Bool {
        let download = session.download
        // What has come of a frame has its space already.
        guard wish.besideByteCount > 0,
            try !download.incoming.hasPart(leadingTo: download.isMissing)
        else { return true }
        let needed = download.missing.byteCount.addingClamped(session.plan.directoryByteCount)
            .addingClamped(wish.besideByteCount)
        return try versions.store.hasSpace(for: needed - versions.stagedByteCount(of: session.plan))
    }

    private func report() {
        guard let download = session?.download else { return }
        let byteCount = transfers.reduce(0) { $0 + $1.figures.bytes }
        download.progress.figures.bytes = byteCount
        download.progress.bytesTotal = max(expectedByteCount, byteCount)
        download.report(download.progress)
    }

    // MARK: One by one

    /// Fetches what no pack supplied, and restores the trees that lacked it.
    private func finish() throws(StoreError) {
        guard let session else { return }
        if !session.isComplete { try fetchRest(session) }
        let version = session.plan.release.version.description
        let isRebuilt = session.wasPartial ? try versions.isMaterialized(version) : false
        if isRebuilt {
            // The tree shows an incomplete version.
            try versions.rebuildTree(of: versions.registeredManifest(of: version))
        }
        // So may the trees of other versions that a repair left incomplete.
        var others: [String] = []
        for name in session.download.completed where try versions.isMaterialized(name) {
            others.append(name)
        }
        for other in try versions.restoreTrees(of: others, except: isRebuilt ? version : "") {
            options.notice?("version \(other) was missing objects and is complete again")
        }
    }

    private func fetchRest(_ session: FetchSession) throws(StoreError) {
        let download = session.download
        var failure = failure
        do throws(StoreError) {
            if failure == nil, download.hasWork {
                try locate(download)
                download.restOfProgress()
                try access.run(download, at: offer.location)
            }
        } catch {
            failure = error
        }
        if let (path, byteCount) = download.begunAnew {
            options.notice?(
                "\(offer.location.description) sends no parts of files: \(printable(path)), of which "
                    + "\(sizeText(byteCount)) were here, came anew from its beginning, and so will every file that is "
                    + "interrupted (it ignores Range)")
        }
        failure = download.failure ?? failure
        do throws(StoreError) {
            try session.commit()
        } catch {
            failure = failure ?? error
        }
        download.report(download.progress)
        if let failure { throw failure }
        for transfer in transfers where transfer.problem != nil { try transfer.dropParts() }
    }

    /// Gives a download the epoch of each object that no pack supplied; packs need none.
    private func locate(_ download: Download) throws(StoreError) {
        guard let published = offer.published, published.places != nil else { return }
        let objects = NumberedObjects(of: download.plan.release)
        let places =
            if let known = offer.places { known } else {
                try documents.fetchPlaces(of: published, at: offer.location, count: objects.count)
            }
        download.locate { address in
            // Manifest and places were compared, so they list the same objects.
            objects.number(of: address).map { places.epoch(of: Int($0)) } ?? published.epoch
        }
    }
}
