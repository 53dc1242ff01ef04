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
/// The steps are `inquire`, which returns a reply; ``plan(_:)``, which makes a plan of its release; ``fetch(_:of:)``,
/// which carries out the plan; and `show`, which puts the version in its place.
///
/// Any process may repeat any step: a partial download *is* a registered version with missing objects. A version is
/// visible only when it is complete.
///
/// Belongs to one thread.
public final class Pull: PullStep {
    package let basis: PullBasis
    package var requestCount: Int { access.requestCount }
    package var refusal: StoreError? { access.refusal }

    /// Creates a pull into a store.
    public init(
        into versions: VersionStore, over transport: any Transport,
        _ options: PullOptions = PullOptions()
    ) {
        basis = PullBasis(versions, over: transport, options)
    }

    /// Asks an origin what it offers, with a single request if the answer is already known.
    ///
    /// A pending version that its publisher has withdrawn is no longer pending afterwards.
    ///
    /// - Parameter text: the URL of an origin, of a channel's pointer, or a directory.
    /// - Throws: `.badOrigin`, `.network`, `.notFound` if nothing there describes a release, `.badRelease`,
    ///   `.badPointer`, `.damagedOrigin`, `.unsuitableRelease`.
    public func ask(_ text: String) throws(StoreError) -> OriginAnswer {
        try inquire(text).answer
    }

    /// Does what ``ask(_:)`` does, and also returns the basis of the answer.
    /// - Parameters:
    ///   - judges: whether to refuse a version that is here and must not be shown; otherwise the caller judges it.
    ///   - pastCaches: whether to bypass caches for a channel.
    package func inquire(
        _ text: String, judges: Bool = true, pastCaches: Bool = false
    ) throws(StoreError) -> OriginReply {
        try OriginInquiry(basis: basis).reply(of: text, judges: judges, pastCaches: pastCaches)
    }

    /// Decides what to fetch of a release.
    ///
    /// - Throws: `.bannedVersion` before a byte is fetched; `.versionExists` if other content has the name.
    public func plan(_ offer: FoundRelease) throws(StoreError) -> DownloadPlan {
        try planner.plan(offer)
    }

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

    package func fetch(
        _ offer: FoundRelease, by plan: DownloadPlan? = nil
    ) throws(StoreError) -> PullReport {
        try ReleaseFetch(basis: basis, offer: offer).run(by: plan)
    }

    /// Asks, fetches what is missing, and puts the version where ``PullOptions/destination`` says.
    ///
    /// If the server switches to another release during the download, asks for that one.
    ///
    /// - Returns: nil if the origin offers nothing for this device.
    /// - Throws: what the steps throw; content that has arrived is kept.
    public func run(_ origin: String) throws(StoreError) -> PullReport? {
        var reply = try inquire(origin)
        return try carryOut(&reply, of: origin)
    }

    /// - Parameter reply: receives the new reply if the origin has switched to another release.
    package func carryOut(
        _ reply: inout OriginReply, of origin: String
    ) throws(StoreError) -> PullReport? {
        do throws(StoreError) {
            for _ in 0..<Self.switchCountMax {
                guard case .release(let offer) = reply.answer else { break }
                // Planning may refuse the release before any byte, which another offer does not change.
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
            return try obey(reply)
        } catch {
            // The failure came before the first byte, or after the last one.
            if error.message != log.failure?.message { log.note(error, during: "update") }
            throw error
        }
    }

    package func obey(_ reply: OriginReply) throws(StoreError) -> PullReport? {
        switch reply.answer {
        case .known(let version):
            let report = try showKnown(version)
            noteObeyed(reply.observation)
            return report
        case .release(let offer):
            let report = try fetch(offer)
            try show(report.version)
            return report
        case .embedded:
            // An embedded version existed when asking; it may have been retired since.
            guard let embedded = try versions.lifecycle().embedded else { return nil }
            var report = try showKnown(embedded)
            report.isEmbedded = true
            noteObeyed(reply.observation)
            return report
        case .nothing:
            obeyNothing(reply.observation)
            return nil
        }
    }

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

    /// After this many switches during one pull, the rest is left to the next pull.
    private static let switchCountMax = 3

    /// Asks again after a long download, because the release may have been withdrawn meanwhile.
    /// - Returns: `nil` if the offer is recent, or the origin cannot be asked.
    func replySince(_ offer: FoundRelease, _ origin: String) throws(StoreError) -> OriginReply? {
        guard ContinuousClock.now - offer.offeredAt > options.offerLifetime else { return nil }
        let reply = try allowing([.network], try inquire(origin))
        // A copy older than the offer says nothing about it.
        return reply?.isOlderCopy == true ? nil : reply
    }

    /// The new offer, if the pull may have failed because the offer changed; nil if it is the same.
    private func replyAfter(
        _ failure: StoreError, _ offer: FoundRelease, _ origin: String
    ) throws(StoreError) -> OriginReply? {
        switch failure.code {
        case .mismatch, .notFound, .unsuitableRelease, .badRelease: break
        default: return nil
        }
        // If this fails, the first failure says more.
        let reply = try unlessInterrupted { () throws(StoreError) in
            try inquire(origin, pastCaches: true)
        }
        if case .release(let now) = reply?.answer, now.isSame(as: offer) { return nil }
        return reply
    }

    /// Throws `.bannedVersion` or `.incompleteVersion` if ``show(_:)`` would; changes nothing.
    package func refuseUnshowable(_ version: String) throws(StoreError) {
        let lifecycle = try versions.lifecycle()
        switch options.destination {
        case .pending where (lifecycle.pending ?? lifecycle.current) == version: return
        case .pending, .current:
            if !options.isForced { try versions.refuseUnshowable(version, lifecycle) }
        case .kept: return
        }
    }

    private func unban(_ version: String) throws(StoreError) {
        guard let row = try versions.store.versionRow(version),
            try versions.lifecycle().ban(of: row.content) != nil
        else { return }
        try versions.unban(version)
    }

    /// Puts a complete version where ``PullOptions/destination`` says; throws `.bannedVersion`, `.incompleteVersion`.
    package func show(_ version: String) throws(StoreError) {
        if options.isForced { try unban(version) }
        let lifecycle = try versions.lifecycle()
        switch options.destination {
        // Even if it is current by name: an interrupted switch may not have updated the link.
        case .current: try versions.activate(version)
        case .pending where (lifecycle.pending ?? lifecycle.current) != version:
            try versions.activateAtNextBoot(version)
        // It is in its place, but its tree may have been deleted with content that is back now.
        case .kept, .pending:
            if try !versions.isMaterialized(version) { try versions.materialize(version) }
        }
    }
}

/// What all steps of a pull work with: a store, the options, and the access to origins.
package struct PullBasis: PullStep {
    package let versions: VersionStore
    package let options: PullOptions
    let access: OriginAccess
    let log: PullLog
    package var basis: PullBasis { self }

    init(_ versions: VersionStore, over transport: any Transport, _ options: PullOptions) {
        self.versions = versions
        self.options = options
        log = PullLog(options.eventLog)
        access = OriginAccess(
            over: transport, retries: options.retries, tell: options.tell,
            isInterrupted: { versions.store.options.isInterrupted() || options.isInterrupted() })
    }
}

/// A step of a pull, or all of them.
package protocol PullStep {
    var basis: PullBasis { get }
}

extension PullStep {
    package var versions: VersionStore { basis.versions }
    package var options: PullOptions { basis.options }
    var access: OriginAccess { basis.access }
    var log: PullLog { basis.log }
    var bound: SequenceBound { SequenceBound(versions, now: options.now) }
    var limits: Manifest.Limits { .foreign(entryCountMax: options.entryCountMax) }

    func device(for audience: Audience) throws(StoreError) -> String? {
        try versions.deviceName(options.device, for: audience, isDrawing: !options.isDryRun)
    }

    func releaseContext(of offer: FoundRelease) throws(StoreError) -> ReleaseContext {
        ReleaseContext(
            origin: offer.origin, platform: options.platform, app: try versions.appIdentity())
    }

    // MARK: The steps that others use

    var judge: PointerJudge { PointerJudge(basis: basis) }
    var documents: PublishedDocuments { PublishedDocuments(basis: basis) }
    var planner: DownloadPlanner { DownloadPlanner(basis: basis) }
}

/// What a pull writes to the event log; remembers the last failure, which is written once.
final class PullLog {
    private let eventLog: EventLog?
    private(set) var failure: StoreError?

    init(_ eventLog: EventLog?) { self.eventLog = eventLog }

    func note(_ error: StoreError, during operation: String) {
        failure = error
        eventLog?.record(error, during: operation)
    }

    func noteBeginning(of plan: DownloadPlan) {
        guard let eventLog, !plan.contents.isEmpty else { return }
        let version = plan.release.version.description
        eventLog.record(.planned(version: version, cost: UpdateCost(plan)))
        eventLog.record(.downloadBegan(version: version))
    }

    func noteEnd(of plan: DownloadPlan, _ figures: DownloadFigures, _ error: StoreError?) {
        guard let eventLog else { return }
        guard !plan.contents.isEmpty else {
            if let error { note(error, during: "download") }
            return
        }
        failure = error
        eventLog.record(.ended(plan.release.version, figures, error))
    }

    func noteFallback(_ pack: Delivery.Pack?, _ error: StoreError, missingCount: Int) {
        eventLog?.record(
            .fellBack(pack: pack?.address, reason: error.message, objects: missingCount))
    }
}

// What a pull asks of the versions that are here.

extension VersionStore {
    func manifest(with content: ObjectID, ifWhole: Bool = false) throws(StoreError) -> Manifest? {
        for (row, _) in try store.versionRows()
        where row.content == content && (row.isComplete || !ifWhole) {
            if let manifest = try readableManifest(of: row.name) { return manifest }
        }
        return nil
    }

    /// Whether a version of that name exists with everything that it needs.
    func isAllHere(_ name: String) throws(StoreError) -> Bool {
        try versions().contains { $0.version == name && $0.state != .incomplete }
    }

    func contents(ifWhole: Bool) throws(StoreError) -> Set<ObjectID> {
        Set(
            try store.versionRows().lazy.map(\.row).filter { $0.isComplete || !ifWhole }.map(
                \.content))
    }

    /// What the current version says about the app, for formats that check it.
    func appIdentity() throws(StoreError) -> AppIdentity {
        try currentManifest().map { AppIdentity(keptIn: $0) } ?? AppIdentity()
    }

    /// The bytes of a plan's contents that are staged; ignores small files.
    func stagedByteCount(of plan: DownloadPlan) throws(StoreError) -> Int64 {
        var byteCount: Int64 = 0
        for content in plan.contents where content.byteCount ?? 0 > IncomingContents.memoryByteCount
        {
            let status = try fileSystem.status(directories.staging.raw, content.name.description)
            byteCount += status?.byteCount ?? 0
        }
        return byteCount
    }
}

extension Manifest {
    /// Whether it was made of the documents of that release.
    func isReceived(from release: Release) throws(StoreError) -> Bool {
        try received?.address == ObjectID(of: release.received)
    }
}

extension AppIdentity {
    static let key = "app"

    var member: JSONValue.Member {
        .init(key: Self.key, value: .members(["id": .text(id), "rootURL": .text(rootURL)]))
    }

    init(keptIn manifest: Manifest) {
        let kept = manifest.foreign.first { $0.key == Self.key }?.value
        self.init(id: kept?["id"]?.asString, rootURL: kept?["rootURL"]?.asString)
    }
}
