public import CASStore
import Synchronization
public import VersionTree

/// Fetches updates from an origin for an ``UpdateManager``, by ``Pull``.
///
/// ```swift
/// let source = PullSource(url, into: versions, for: options) { () throws(StoreError) in
///     try CurlTransport()
/// }
/// let updates = UpdateManager(versions, source: source, options: options)
/// ```
///
/// Works on its own threads, so the app's tasks never block on it, and reuses the transport and its connections.
public final class PullSource: UpdateSource {
    /// The URL or directory to ask.
    public let origin: String
    private let versions: VersionStore
    private let options: PullOptions
    private let makeTransport: @Sendable () throws(StoreError) -> any Transport
    private let state = Mutex(State())

    private struct State {
        /// The release that the last check found, and that a download fetches.
        var found: FoundRelease?
        var observation: SeenSequences.Observation?
        var idle: IdleTransport?
    }

    // Sound: the only call that uses it takes it out of the mutex, and puts it back afterwards.
    private struct IdleTransport: @unchecked Sendable {
        let transport: any Transport
    }

    /// Creates a source without asking the origin.
    ///
    /// - Parameters:
    ///   - origin: the URL of an origin, of a channel's pointer, or a directory.
    ///   - versions: the store of the manager.
    ///   - updating: the options of the manager; its app and device choose among offers, its trust says who must sign.
    ///   - options: how to pull; `app`, `device`, `destination`, `eventLog`, `progress` and `version` are ignored,
    ///     because the manager sets them.
    ///   - makeTransport: makes what carries requests; called on the thread that uses it, and again after a failure.
    public init(
        _ origin: String, into versions: VersionStore, for updating: UpdateOptions,
        _ options: PullOptions = PullOptions(),
        over makeTransport: @escaping @Sendable () throws(StoreError) -> any Transport
    ) {
        var options = options
        options.app = updating.app
        options.device = updating.device
        options.trust = updating.trusted
        options.keptGoodCount = updating.keptGoodCount
        options.destination = .pending
        options.eventLog = nil
        options.version = nil
        options.progress = { _ in }
        self.origin = origin
        self.versions = versions
        self.options = options
        self.makeTransport = makeTransport
    }

    /// Asks the origin, with a single request if its offer is already here.
    @concurrent public func check() async throws(StoreError) -> Release? {
        try await onOwnThread(options) { [self] (pull) throws(StoreError) in
            // The manager itself tells why it ignores a version that is here.
            let reply = try pull.inquire(origin, judges: false)
            state.withLock { $0.observation = reply.observation }
            switch reply.answer {
            case .release(let found):
                state.withLock { $0.found = found }
                return concerning(found.release)
            case .known(let name):
                if let release = reply.known { return concerning(release) }
                return try Release(installed: name, reply.offered)
            case .embedded:
                guard let embedded = try versions.lifecycle().embedded else { return nil }
                return try Release(installed: embedded, reply.offered)
            case .nothing:
                pull.obeyNothing(reply.observation)
                if !reply.isOlderCopy {
                    try versions.clearPendingForced(versions.lifecycle(), offersNothing: true)
                }
                // So that the manager can tell why not.
                guard let name = reply.offered?.version?.name.description else { return nil }
                return try Release(installed: name, reply.offered)
            }
        }
    }

    /// Notes the sequence of the channel's pointer.
    @concurrent public func noteObeyed() async {
        guard let observation = state.withLock({ $0.observation }) else { return }
        // If this fails, one old copy may be accepted; that must not stop an update.
        try? await Blocking.perform { [versions, options] () throws(StoreError) in
            let bound = SequenceBound(versions, now: options.now)
            try SeenSequences(versions, bound: bound).note(
                observation, isLowering: options.isForced)
        }
    }

    /// Computes what a release would cost.
    @concurrent public func plan(_ release: Release) async throws(StoreError) -> UpdateCost {
        try await onOwnThread(options) { [self] (pull) throws(StoreError) in
            let found = try found(release, pull)
            // The manifest comes with the content, so the packs give the cost.
            if found.isPromise, let choice = found.choice { return UpdateCost(choice) }
            return UpdateCost(try pull.plan(found))
        }
    }

    /// Fetches the missing content of a release.
    @concurrent public func download(
        _ release: Release, progress: @escaping @Sendable (UpdateProgress) -> Void
    ) async throws(StoreError) -> DownloadFigures {
        var options = options
        options.progress = progress
        return try await onOwnThread(options) { [self] (pull) throws(StoreError) in
            let found = try found(release, pull)
            let report = try pull.fetch(found)
            if let now = try pull.replySince(found, origin),
                !now.stillOffers(found, as: report.version)
            {
                throw noLongerOffered(release)
            }
            return report.figures
        }
    }

    /// The release without its requirements for platforms other than the app's.
    private func concerning(_ release: Release) -> Release {
        var release = release
        release.requirements.removeAll { !$0.concerns(platform: options.platform) }
        return release
    }

    /// Where a release was found: by the last check, or by asking again.
    private func found(_ release: Release, _ pull: Pull) throws(StoreError) -> FoundRelease {
        if let found = state.withLock({ $0.found }), found.release.isSame(as: release) {
            return found
        }
        if case .release(let found) = try pull.ask(origin), found.release.isSame(as: release) {
            return found
        }
        throw noLongerOffered(release)
    }

    private func noLongerOffered(_ release: Release) -> StoreError {
        StoreError(
            .notOffered,
            "the origin no longer offers version \(release.version) as it was; check again")
    }

    // MARK: Threads

    private func onOwnThread<Value: Sendable>(
        _ options: PullOptions,
        _ body: @escaping @Sendable (Pull) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        var options = options
        options.isInterrupted = { [given = options.isInterrupted] in
            Blocking.isCancelled || given()
        }
        let chosen = options
        return try await Blocking.perform { [self] () throws(StoreError) in
            try run(chosen, body)
        }
    }

    private func run<Value>(
        _ options: PullOptions, _ body: (Pull) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let kept = state.withLock { state in
            defer { state.idle = nil }
            return state.idle
        }
        let idle = if let kept { kept } else { IdleTransport(transport: try makeTransport()) }
        let value = try body(Pull(into: versions, over: idle.transport, options))
        state.withLock { $0.idle = idle }
        return value
    }
}

extension Release {
    /// A placeholder for an offer whose manifest was not fetched, because the store has it or it is not for this
    /// device.
    fileprivate init(installed name: String, _ offered: ChannelRelease?) throws(StoreError) {
        self.init(
            family: CastreeFormat().family, version: try VersionName(name), trust: .digest,
            received: [])
        // Without an address, only the version's name identifies the content.
        files = [ReleaseFile(path: try TreePath("unread"))]
        order = offered?.sequence
        requirements = offered?.requirements ?? []
        audience = offered?.audience ?? Audience()
        isMandatory = offered?.isMandatory ?? false
    }

    fileprivate func isSame(as other: Release) -> Bool {
        version == other.version && family == other.family && received == other.received
            && statedContent == other.statedContent
    }
}

/// A source of updates for ``UpdateManager``: asks, computes costs, fetches into the store.
///
/// The methods run outside the calling actor, and may block their thread. A method whose task is cancelled MUST stop
/// soon with `.interrupted`, and keep staged content.
public protocol UpdateSource: Sendable {
    /// The origin's name in the event log, a URL or a directory; the log omits secrets in it.
    var origin: String { get }

    /// Asks what the origin offers; `nil` if it says that nothing has changed.
    @concurrent func check() async throws(StoreError) -> Release?

    /// Tells the source that the app has what ``check()`` found, or is about to show it.
    ///
    /// A source that recognizes older copies by what it has seen notes the release now, because it must not remember a
    /// refused one. Other sources need not implement this.
    @concurrent func noteObeyed() async

    /// Computes what a release would cost, before a byte of it is fetched.
    @concurrent func plan(_ release: Release) async throws(StoreError) -> UpdateCost

    /// Fetches the missing content of a release, verifies it and registers the version, which is complete when this
    /// returns.
    /// - Parameters:
    ///   - release: the release that ``check()`` returned.
    ///   - progress: called now and then, from any thread.
    @concurrent func download(
        _ release: Release, progress: @escaping @Sendable (UpdateProgress) -> Void
    ) async throws(StoreError) -> DownloadFigures
}

extension UpdateSource {
    /// Remembers nothing.
    @concurrent public func noteObeyed() async {}
}
