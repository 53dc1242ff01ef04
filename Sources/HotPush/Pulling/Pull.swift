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
/// Every step may be repeated by any process: a partial download *is* a registered version some of
/// whose objects are missing. A version is visible only when it is whole.
///
/// Belongs to one thread.
public final class Pull {
    /// Where versions come to.
    public let versions: VersionStore
    /// How.
    public let options: PullOptions
    private let network: any Transport
    /// How many requests have been sent.
    package internal(set) var requestCount = 0

    /// Why the origin's releases are not for this device, as far as they are not.
    package internal(set) var refusals: [String] = []

    /// What the channel's pointer says of the release that was chosen; if none was, of the newest.
    package internal(set) var offered: OfferedRelease?

    /// What the answer ``OriginAnswer/known(version:)`` stands for, if its document was read.
    var knownRelease: Release?

    /// Whether somebody else judges if what is here already may be shown.
    var leavesJudgement = false

    /// Whether the last answer was an older copy of the channel's pointer: a cache or mirror is behind.
    package internal(set) var isOlderCopy = false

    /// The pointer that the last answer stands on; nil for other formats and for an older copy.
    var sighting: SeenSequences.Sighting?

    /// The channel, if the pointer offers nothing at all.
    var emptyChannel: ChannelName?

    /// Whether the pointer is an older copy that somebody insists on.
    var isInsistedOn = false

    /// How far the last download came, also if it failed.
    package internal(set) var figures = DownloadFigures()

    /// Makes a pull into a store.
    public init(
        into versions: VersionStore, over transport: any Transport,
        _ options: PullOptions = PullOptions()
    ) {
        self.versions = versions
        network = transport
        self.options = options
    }

    /// What carries requests to a location.
    func transport(to location: OriginLocation) -> any Transport {
        switch location {
        case .web: network
        case .directory(let path): DirectoryTransport(path, byteRateMax: network.byteRateMax)
        }
    }

    static var interruption: StoreError {
        StoreError(
            .interrupted, "interrupted; what has come is kept, and the next pull goes on from it")
    }

    func isInterrupted() -> Bool {
        versions.store.options.isInterrupted() || options.isInterrupted()
    }

    /// Asks, fetches what is missing, and puts the version where ``PullOptions/destination`` says.
    ///
    /// - Returns: nil if the origin offers nothing for this device.
    /// - Throws: what the steps throw; what has come is kept.
    ///   A server that switches to another release in mid-download is asked for that one.
    public func run(_ origin: String) throws(StoreError) -> PullReport? {
        var answer = try ask(origin)
        for _ in 0..<Self.switchCountMax {
            guard case .release(let offer) = answer else { break }
            let plan = try plan(offer)
            do throws(StoreError) {
                return try take(plan, of: offer)
            } catch {
                guard let next = try answerAfter(error, offer, origin) else { throw error }
                answer = next
            }
        }
        return try carryOut(answer)
    }

    /// Does what ``run(_:)`` does, with an answer that has come already.
    package func carryOut(_ answer: OriginAnswer) throws(StoreError) -> PullReport? {
        switch answer {
        case .known(let version):
            let report = try showKnown(version)
            noteObeyed(sighting)
            return report
        case .release(let offer): return try take(plan(offer), of: offer)
        case .embedded:
            // Asking found one; it may have been retired since.
            guard let embedded = try versions.lifecycle().embedded else { return nil }
            var report = try showKnown(embedded)
            report.isEmbedded = true
            noteObeyed(sighting)
            return report
        case .nothing:
            try obeyNothing()
            return nil
        }
    }

    /// Puts a version that is here where it should be.
    private func showKnown(_ version: String) throws(StoreError) -> PullReport {
        var report = PullReport(version: version)
        let row = try versions.store.versionRow(version)
        report.files = Int(row?.fileCount ?? 0)
        report.reusedBytes = row?.byteCount ?? 0
        report.isUnchanged = true
        try show(version)
        report.requests = requestCount
        return report
    }

    /// A server that switches more often than this while one pull runs is left for the next one.
    private static let switchCountMax = 3

    private func take(
        _ plan: DownloadPlan, of offer: FoundRelease
    ) throws(StoreError) -> PullReport {
        let report = try fetch(plan, of: offer)
        try show(report.version)
        return report
    }

    /// What the origin offers by now, if a failure may come from its having changed meanwhile; nil if
    /// it offers the same still.
    private func answerAfter(
        _ failure: StoreError, _ offer: FoundRelease, _ origin: String
    ) throws(StoreError) -> OriginAnswer? {
        switch failure.code {
        case .mismatch, .notFound, .unsuitableRelease, .badRelease: break
        default: return nil
        }
        let answer: OriginAnswer
        do throws(StoreError) {
            answer = try ask(origin)
        } catch {
            if error.code == .interrupted { throw error }
            // The first failure says more.
            return nil
        }
        if case .release(let now) = answer, now.release.received == offer.release.received {
            return nil
        }
        return answer
    }

    /// Lifts the ban of what is taken all the same.
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
        // Also when it is current by name: an interrupted switch may have left the link behind.
        case .current: try versions.activate(version)
        case .pending where (lifecycle.pending ?? lifecycle.current) != version:
            try versions.activateAtNextBoot(version)
        // Where it should be already; its tree may have gone with content that is back now.
        case .kept, .pending:
            if try !versions.isMaterialized(version) { try versions.materialize(version) }
        }
    }
}
