public import CASStore

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
