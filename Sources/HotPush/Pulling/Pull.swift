public import CASStore
import StrictJSON
public import VersionTree

/// Brings versions from an origin into a store: ask, plan, fetch, show.
///
/// ```swift
/// let pull = Pull(into: versions, over: try CurlTransport())
/// let report = try pull.run("https://example.org/app")
/// ```
///
/// The steps are functions from values to values: `inquire` gives a reply, ``plan(_:)`` makes a plan
/// of the release in it, ``fetch(_:of:)`` carries out the plan and gives a report, `show` puts the
/// version in its place.
///
/// Any process may repeat any step: a partial download *is* a registered version some of whose
/// objects are missing. A version is visible only when it is whole.
///
/// Belongs to one thread.
public final class Pull {
    /// Where versions are stored.
    package let versions: VersionStore
    /// How to pull.
    package let options: PullOptions
    /// The way to origins: all that changes during a pull besides the store.
    let access: OriginAccess
    /// The bytes of a release for which there was no room, with those that had come in part; nil if there was, or it ran
    /// out later.
    var lackingRoomFor: Int64?
    /// What has failed, once the event log has it.
    var notedFailure: StoreError?
    /// What came in place of a channel's pointer: the status, and the type of a page.
    var absence: (status: Int, page: String?)?
    /// How many requests have been sent.
    package var requestCount: Int { access.requestCount }
    /// Why a bucket has refused a file; `nil` if none has.
    package var refusal: StoreError? { access.refusal }

    /// Makes a pull into a store.
    public init(
        into versions: VersionStore, over transport: any Transport,
        _ options: PullOptions = PullOptions()
    ) {
        self.versions = versions
        self.options = options
        access = OriginAccess(
            over: transport, retries: options.retries, tell: options.tell,
            isInterrupted: { versions.store.options.isInterrupted() || options.isInterrupted() })
    }

    /// Asks, fetches what is missing, and puts the version where ``PullOptions/destination`` says.
    ///
    /// - Returns: nil if the origin offers nothing for this device.
    /// - Throws: what the steps throw; what has come is kept. If a server switches to another
    ///   release during the download, asks for that one.
    public func run(_ origin: String) throws(StoreError) -> PullReport? {
        var reply = try inquire(origin)
        return try carryOut(&reply, of: origin)
    }

    /// Does what ``run(_:)`` does, with a reply that has already come.
    ///
    /// - Parameter reply: becomes the one that was carried out, if the origin has switched to another release.
    package func carryOut(
        _ reply: inout OriginReply, of origin: String
    ) throws(StoreError) -> PullReport? {
        do throws(StoreError) {
            for _ in 0..<Self.switchCountMax {
                guard case .release(let offer) = reply.answer else { break }
                // What is refused before a byte comes is refused whatever else is offered.
                let plan = offer.isPromise ? nil : try plan(offer)
                do throws(StoreError) {
                    let report = try fetch(offer, by: plan)
                    if let now = try replySince(offer, origin) {
                        reply = now
                        guard now.stillOffers(offer, as: report.version) else { continue }
                    }
                    try show(report.version)
                    return report
                } catch {
                    guard let next = try replyAfter(error, offer, origin) else { throw error }
                    reply = next
                }
            }
            return try carryOut(reply)
        } catch {
            // Before the first byte, or after the last one.
            if error.message != notedFailure?.message { note(error, during: "update") }
            throw error
        }
    }

    /// Carries out a reply, and does not ask again.
    package func carryOut(_ reply: OriginReply) throws(StoreError) -> PullReport? {
        switch reply.answer {
        case .known(let version):
            let report = try showKnown(version)
            noteObeyed(reply.sighting)
            return report
        case .release(let offer):
            let report = try fetch(offer)
            try show(report.version)
            return report
        case .embedded:
            // Asking found one; it may have been retired since.
            guard let embedded = try versions.lifecycle().embedded else { return nil }
            var report = try showKnown(embedded)
            report.isEmbedded = true
            noteObeyed(reply.sighting)
            return report
        case .nothing:
            obeyNothing(reply.sighting)
            return nil
        }
    }

    /// Puts a version that is already here where it should be.
    private func showKnown(_ version: String) throws(StoreError) -> PullReport {
        var report = PullReport(version: version)
        let row = try versions.store.versionRow(version)
        report.files = Int(row?.fileCount ?? 0)
        report.figures.reusedBytes = row?.byteCount ?? 0
        report.isUnchanged = true
        try show(version)
        report.requests = requestCount
        return report
    }

    /// If a server switches more often than this during one pull, the rest is left to the next pull.
    private static let switchCountMax = 3

    /// What the origin offers now that a release has been fetched: it may have been withdrawn meanwhile.
    ///
    /// - Returns: `nil` if the offer is so young that it still counts, or the origin cannot be asked.
    func replySince(
        _ offer: FoundRelease, _ origin: String
    ) throws(StoreError) -> OriginReply? {
        guard ContinuousClock.now - offer.offeredAt > options.offerLifetime else { return nil }
        let reply = try allowing(.network) { () throws(StoreError) in try inquire(origin) }
        // A copy that is older than the offer says nothing of it.
        return reply?.isOlderCopy == true ? nil : reply
    }

    /// The origin's new offer, if a change of it may be why the pull failed; nil if it still offers
    /// the same.
    private func replyAfter(
        _ failure: StoreError, _ offer: FoundRelease, _ origin: String
    ) throws(StoreError) -> OriginReply? {
        switch failure.code {
        case .mismatch, .notFound, .unsuitableRelease, .badRelease: break
        default: return nil
        }
        // If that fails, the first failure says more.
        let reply = try ifPossible { () throws(StoreError) in
            try inquire(origin, pastCaches: true)
        }
        if case .release(let now) = reply?.answer, now.isSame(as: offer) { return nil }
        return reply
    }

    /// Refuses a version that is here as ``show(_:)`` would, and changes nothing.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`.
    package func refuseUnshowable(_ version: String) throws(StoreError) {
        let lifecycle = try versions.lifecycle()
        switch options.destination {
        case .pending where (lifecycle.pending ?? lifecycle.current) == version: return
        case .pending, .current:
            if !options.isForced { try versions.refuseUnshowable(version, lifecycle) }
        case .kept: return
        }
    }

    /// Lifts the ban of a version that is taken all the same.
    private func forgive(_ version: String) throws(StoreError) {
        guard let row = try versions.store.versionRow(version),
            try versions.lifecycle().ban(of: row.content) != nil
        else { return }
        try versions.forgive(version)
    }

    /// Puts a complete version where ``PullOptions/destination`` says.
    /// - Throws: `.bannedVersion`, `.incompleteVersion`.
    package func show(_ version: String) throws(StoreError) {
        if options.isForced { try forgive(version) }
        let lifecycle = try versions.lifecycle()
        switch options.destination {
        // Even if it is current by name: an interrupted switch may not have updated the link.
        case .current: try versions.activate(version)
        case .pending where (lifecycle.pending ?? lifecycle.current) != version:
            try versions.activateAtNextBoot(version)
        // It is already where it should be, but its tree may have gone with content that is back now.
        case .kept, .pending:
            if try !versions.isMaterialized(version) { try versions.materialize(version) }
        }
    }
}
