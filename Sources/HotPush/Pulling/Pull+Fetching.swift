public import CASStore
import VersionTree

// Carrying out a plan, or an offer whose manifest comes with its content.

extension Pull {
    /// Fetches what a plan lists and registers the version, which is complete when this returns.
    ///
    /// If another pull of the store fetches the same release, waits for it first, and fetches only what is still
    /// missing.
    ///
    /// - Throws: `.outOfSpace` before the first byte; `.network`, `.mismatch`, `.notFound`, `.unsuitableRelease`,
    ///   `.interrupted`. Content that has arrived is kept for the next pull.
    public func fetch(
        _ plan: DownloadPlan, of offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        try fetch(offer, by: plan)
    }

    /// Without a plan, takes fewer requests than planning first, because a pack also brings the manifest.
    /// - Throws: as ``plan(_:)`` and ``fetch(_:of:)``.
    package func fetch(
        _ offer: FoundRelease, by made: DownloadPlan? = nil
    ) throws(StoreError) -> PullReport {
        try refuseExpired(offer)
        let turn = try takeTurn(for: offer)
        defer { withExtendedLifetime(turn) {} }
        let made = made != nil && turn.hasWaited ? try plan(offer) : made
        return try makingRoom(for: offer) { () throws(StoreError) in
            var known = offer
            // An interrupted pull or another release may have brought the manifest.
            if made == nil, offer.isPromise, let bytes = try heldManifest(of: offer) {
                known = try resolve(offer, with: bytes)
            }
            let plan = if let made { made } else { known.isPromise ? nil : try plan(known) }
            return try carryOut(plan, of: known)
        }
    }

    private func carryOut(
        _ plan: DownloadPlan?, of offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        let began = ContinuousClock.now
        let work = PackFetching(offer, in: self)
        var failure: StoreError?
        do throws(StoreError) {
            if let plan { try work.begin(plan) }
            try work.unpack()
            if work.session == nil { try work.begin(self.plan(offer)) }
            try finish(work, offer)
        } catch {
            failure = access.discreet(error)
        }
        guard let session = work.session else {
            if let failure {
                note(failure, during: "download")
                throw failure
            }
            return PullReport(version: offer.release.version.description)
        }
        var report = session.report
        for transfer in work.transfers {
            report.figures.requests += transfer.figures.requests
            report.figures.bytes += transfer.figures.bytes
            report.figures.resumedBytes += transfer.figures.resumedBytes
        }
        report.fallbacks = work.transfers.compactMap { $0.trouble?.message }
        report.hasWrongPack = work.transfers.compactMap(\.trouble).contains {
            ![.outOfSpace, .network].contains($0.code)
        }
        report.damagedBases = work.transfers.flatMap(\.damagedBases)
        report.requests = requestCount
        report.figures.milliseconds = (ContinuousClock.now - began).milliseconds
        noteEnd(of: session.plan, report.figures, failure)
        if let failure { throw failure }
        noteObeyed(offer.sighting)
        return report
    }

    /// Fetches one by one what no pack supplied.
    private func finish(
        _ work: PackFetching, _ offer: FoundRelease
    ) throws(StoreError) {
        guard let session = work.session else { return }
        let download = session.download
        if !session.isComplete {
            var failure = work.failure
            do throws(StoreError) {
                if failure == nil, download.hasWork {
                    try locate(download, of: offer)
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
                try session.settle()
            } catch {
                failure = failure ?? error
            }
            download.report(download.progress)
            if let failure { throw failure }
            try work.dropParts()
        }
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
            options.notice?("version \(other) lacked objects and is complete again")
        }
    }

    /// Ignores small files.
    func stagedByteCount(of plan: DownloadPlan) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for content in plan.contents where content.byteCount ?? 0 > Arrivals.memoryByteCount {
            let status = try versions.fileSystem.status(
                versions.directories.staging.raw, content.name.description)
            byteCount += status?.byteCount ?? 0
        }
        return byteCount
    }

    // MARK: Making room for a pull

    /// Fetches; on a full disk, makes room and fetches again.
    ///
    /// Deletes unneeded content first, then the pending version, which was never shown and which the offer replaces.
    /// Keeps the current version and those to roll back to, and deletes nothing if that could not make enough room.
    func makingRoom(
        for offer: FoundRelease, _ fetch: () throws(StoreError) -> PullReport
    ) throws(StoreError) -> PullReport {
        let name = options.version ?? offer.release.version.description
        for lettingWaitingGo in [false, true] {
            do throws(StoreError) {
                return try fetch()
            } catch {
                guard error.code == .outOfSpace,
                    try makeRoom(for: name, lettingWaitingGo: lettingWaitingGo)
                else { throw error }
            }
        }
        return try fetch()
    }

    /// Deletes parts of the channel's other releases: an origin that keeps changing while files are missing would
    /// otherwise fill the disk.
    func dropOtherParts(for offer: FoundRelease, as name: String) throws(StoreError) {
        // Repairs and pulls of a certain release follow no channel.
        if offer.sighting == nil, offer.published != nil { return }
        let release = offer.release
        do throws(StoreError) {
            let isGone = try versions.dropReplacedParts(for: name) { terms in
                offer.sighting.map { terms.isOf($0.channel) } ?? (terms.family == release.family)
            }
            guard isGone else { return }
            if options.keptGoodCount == nil {
                try versions.store.dropUnwantedPartials()
            } else {
                try versions.collect()
            }
        } catch {
            // A leftover takes room, but must not stop an update.
            if error.code == .interrupted { throw error }
            options.journal?.record(error, during: "tidy")
        }
    }

    private func makeRoom(
        for name: String, lettingWaitingGo: Bool
    ) throws(StoreError) -> Bool {
        guard let count = options.keptGoodCount else {
            guard !lettingWaitingGo,
                try couldHaveRoom(without: Array(versions.replacedParts(for: name)))
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
        guard try couldHaveRoom(without: needless.map(\.version) + [waiting].compactMap(\.self))
        else { return false }
        if lettingWaitingGo {
            guard let waiting, try versions.takeBack(pending: waiting) else { return false }
        }
        // If nothing was deleted, the pending version may still go.
        let tidied = try versions.tidy(keptGoodCount: count, for: name)
        return tidied != nil || !lettingWaitingGo
    }

    private func couldHaveRoom(without names: [String]) throws(StoreError) -> Bool {
        let (fileSystem, staging) = (versions.fileSystem, versions.directories.staging.raw)
        // The number of files that deletion would allow is unknown.
        guard let needed = lackingRoomFor, try fileSystem.freeSpace(staging).files != 0 else {
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
