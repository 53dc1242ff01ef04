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
}
