import CASStore
import VersionTree

/// Fetches a release by its packs in turn, then by single objects; a useless or wrong pack costs only its bytes.
final class PackFetching {
    private let offer: FoundRelease
    private let pull: Pull
    private var arrivals: Arrivals?
    private(set) var session: FetchSession?
    private var expectedByteCount: Int64 = 0
    private(set) var transfers: [PackTransfer] = []
    /// After this many useless packs, objects come one by one.
    private static let troubleCountMax = 2

    init(_ offer: FoundRelease, in pull: Pull) {
        self.offer = offer
        self.pull = pull
    }

    var failure: StoreError? { transfers.last?.failure }

    func begin(_ plan: DownloadPlan) throws(StoreError) {
        pull.noteBeginning(of: plan)
        session = try FetchSession(plan, of: offer, in: pull, self.makeArrivals())
    }

    private func makeArrivals() throws(StoreError) -> Arrivals {
        if let arrivals { return arrivals }
        let made = try Arrivals(pull.versions.store)
        arrivals = made
        return made
    }

    func unpack() throws(StoreError) {
        guard let version = offer.published else { return }
        for pack in offer.packs {
            if let session, session.isComplete || session.download.missing.count == 0 { return }
            var base: Manifest?
            if let content = pack.base {
                // It was here when the offer was made.
                guard let found = try pull.versions.manifest(with: content, ifWhole: true)
                else { continue }
                base = found
            }
            try unpack(pack, to: version, from: base)
            if failure != nil { return }
            if transfers.count(where: { $0.trouble != nil }) == Self.troubleCountMax { return }
        }
    }

    func dropParts() throws(StoreError) {
        for transfer in transfers where transfer.trouble != nil { try transfer.dropParts() }
    }

    private func unpack(
        _ pack: Delivery.Pack, to version: PublishedVersion, from base: Manifest?
    ) throws(StoreError) {
        let asksForWhole = try isWhollyWanted(pack)
        expectedByteCount = pack.byteCount
        let options = pull.options
        let transfer = PackTransfer(
            pack,
            at: offer.origin.url(
                of: OriginLayout.path(.pack, pack.address, in: offer.deliveryEpoch)),
            to: version, from: base, asksForWhole: asksForWhole, into: try makeArrivals(),
            limits: pull.limits,
            budget: transfers.last?.budget
                ?? options.budget(options.retries.afterAnswer.forPacks),
            isInterrupted: pull.access.isInterrupted, ticked: { [unowned self] in report() }
        ) { [unowned self] (opening) throws(StoreError) in
            try wish(opening, asksForWhole: asksForWhole)
        }
        transfers.append(transfer)
        try makeArrivals().writingBehind { () throws(StoreError) in
            try pull.access.run(transfer, at: offer.location)
        }
        report()
        if let trouble = transfer.trouble, failure == nil {
            pull.noteFallback(pack, trouble, session)
        }
    }

    /// Whether the whole pack is probably wanted: the store is empty, or has the pack's base.
    private func isWhollyWanted(_ pack: Delivery.Pack) throws(StoreError) -> Bool {
        // Fetching the opening alone would save less than a request costs.
        if pack.byteCount - pack.openingByteCount <= PackSpans.requestByteCount { return true }
        if let session {
            // A collection may have deleted the opening and left part of a frame.
            let download = session.download
            let isPartHere = try download.arrivals.hasPart(leadingTo: download.isMissing)
            let isMost = download.missing.byteCount > pack.contentByteCount / 10 * 9
            return isMost && !isPartHere
        }
        let name = pull.options.version ?? offer.release.version.description
        // Part of the version has arrived already.
        if try pull.versions.store.versionRow(name) != nil { return false }
        if pack.base != nil { return true }
        return try pull.versions.store.versionRows().isEmpty
    }

    private func wish(
        _ opening: PackOpening, asksForWhole: Bool
    ) throws(StoreError) -> PackWish? {
        if session == nil {
            let known = try pull.resolve(offer, with: opening.bytes, opening.manifest)
            try begin(pull.plan(known))
        }
        guard let session, !session.isComplete,
            let wish = try PackWish(opening, of: pull.versions.store, for: session.download)
        else { return nil }
        if !asksForWhole {
            guard wish.cost <= wish.objectsCost else { return nil }
            expectedByteCount = wish.byteCount + opening.pack.openingByteCount
        }
        return try hasRoom(wish, session) ? wish : nil
    }

    /// Whether there is room for a pack's frames beside all objects; otherwise these would come a second time.
    private func hasRoom(_ wish: PackWish, _ session: FetchSession) throws(StoreError) -> Bool {
        let download = session.download
        // What has come of a frame has its room already.
        guard wish.besideByteCount > 0,
            try !download.arrivals.hasPart(leadingTo: download.isMissing)
        else { return true }
        let needed = download.missing.byteCount.addingClamped(session.plan.directoryByteCount)
            .addingClamped(wish.besideByteCount)
        return try pull.versions.store.hasSpace(
            for: needed - pull.stagedByteCount(of: session.plan))
    }

    private func report() {
        guard let download = session?.download else { return }
        let byteCount = transfers.reduce(0) { $0 + $1.figures.bytes }
        download.progress.figures.bytes = byteCount
        download.progress.bytesTotal = max(expectedByteCount, byteCount)
        download.report(download.progress)
    }
}
