import CASStore
import VersionTree

/// Fetches a release by its packs, one after the other, as far as they go.
///
/// A pack that is useless, or brings something else, costs nothing but its bytes: what is still missing is left to the
/// next one, and in the end to objects one by one. Belongs to one thread.
final class PackFetching {
    private let offer: FoundRelease
    private let pull: Pull
    private var arrivals: Arrivals?
    /// The release while it is fetched; `nil` until its manifest is known.
    private(set) var session: FetchSession?
    /// What the packs took.
    private(set) var figures = DownloadFigures()
    /// What ended everything early.
    private(set) var failure: StoreError?
    private var expectedByteCount: Int64 = 0
    private var budget: RetryBudget
    /// What was asked of each pack, and may have left parts.
    private var transfers: [PackTransfer] = []
    /// So many packs that are of no use, and objects come one by one.
    private static let troubleCountMax = 2

    init(_ offer: FoundRelease, in pull: Pull) {
        self.offer = offer
        self.pull = pull
        budget = pull.options.budget(pull.options.retries.afterAnswer.forPacks)
    }

    /// Registers the version.
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

    /// Fetches pack by pack until nothing is missing, or no pack is left.
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
            let troubleCount = transfers.reduce(0) { $0 + ($1.trouble == nil ? 0 : 1) }
            if troubleCount == Self.troubleCountMax { return }
        }
    }

    /// Why packs were of no use.
    var troubles: [String] { transfers.compactMap { $0.trouble?.message } }

    /// What packs lead from and is damaged here.
    var damagedBases: [ObjectID] { transfers.flatMap(\.damagedBases) }

    /// Deletes what is left of packs when nothing is missing any more.
    func dropParts() throws(StoreError) {
        for transfer in transfers where transfer.trouble != nil { try transfer.dropParts() }
    }

    private func unpack(
        _ pack: Delivery.Pack, to version: PublishedVersion, from base: Manifest?
    ) throws(StoreError) {
        let beginning = try beginning(of: pack)
        expectedByteCount = pack.byteCount
        let before = figures.bytes
        let transfer = PackTransfer(
            pack,
            at: offer.origin.url(of: OriginLayout.pack(pack.address, in: offer.deliveryEpoch)),
            to: version, from: base, beginning: beginning, into: try makeArrivals(),
            limits: pull.limits, budget: budget, isInterrupted: pull.access.isInterrupted
        ) { [unowned self] (opening) throws(StoreError) in
            try wish(opening, beginning: beginning)
        }
        transfer.ticked = { [unowned self, unowned transfer] in
            figures.bytes = before + transfer.figures.bytes
            report()
        }
        try makeArrivals().writingBehind { () throws(StoreError) in
            try pull.access.run(transfer, at: offer.location)
        }
        transfer.ticked()
        budget = transfer.budget
        transfers.append(transfer)
        figures.requests += transfer.figures.requests
        figures.resumedBytes += transfer.figures.resumedBytes
        failure = transfer.failure
        if let trouble = transfer.trouble, failure == nil {
            pull.noteFallback(pack, trouble, session)
        }
    }

    /// How much to ask for before the table is known.
    ///
    /// All, where all is likely to be wanted: by a store without a version, or from the content that it has.
    private func beginning(of pack: Delivery.Pack) throws(StoreError) -> PackTransfer.Beginning {
        // What an opening alone would save is less than a request is worth.
        if pack.byteCount - pack.openingByteCount <= PackSpans.requestByteCount { return .whole }
        if let session {
            // A collection may have taken the opening and left what has come of a frame.
            let download = session.download
            let isPartHere = try download.arrivals.hasPart(leadingTo: download.isMissing)
            let isMost = download.missing.byteCount > pack.contentByteCount / 10 * 9
            return isMost && !isPartHere ? .whole : .opening
        }
        let name = pull.options.version ?? offer.release.version.description
        // Part of it has come already.
        if try pull.versions.store.versionRow(name) != nil { return .opening }
        if pack.base != nil { return .whole }
        return try pull.versions.store.versionRows().isEmpty ? .whole : .opening
    }

    /// What is wanted of a pack, now that it is open; `nil` if objects one by one cost less.
    private func wish(
        _ opening: PackOpening, beginning: PackTransfer.Beginning
    ) throws(StoreError) -> PackWish? {
        if session == nil {
            let known = try pull.resolve(offer, with: opening.bytes, opening.manifest)
            try begin(pull.plan(known))
        }
        guard let session, !session.isComplete,
            let wish = try PackWish(opening, of: pull.versions.store, for: session.download)
        else { return nil }
        if beginning == .opening {
            guard wish.cost <= wish.objectsCost else { return nil }
            expectedByteCount = wish.byteCount + opening.pack.openingByteCount
        }
        return wish
    }

    private func report() {
        guard let download = session?.download else { return }
        download.progress.figures.bytes = figures.bytes
        download.progress.bytesTotal = max(expectedByteCount, figures.bytes)
        download.report(download.progress)
    }
}
