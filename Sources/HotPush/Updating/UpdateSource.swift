public import CASStore

/// Where updates come from, as ``UpdateManager`` sees it: asks, computes costs, fetches into the store.
///
/// The methods run outside the calling actor, and may block their thread. A method whose task is
/// cancelled MUST stop soon with `.interrupted`, and keep what is staged.
public protocol UpdateSource: Sendable {
    /// The origin's name in the event log, a URL or a directory; the log omits secrets in it.
    var origin: String { get }

    /// Asks what the origin offers; `nil` if it says that nothing has changed.
    @concurrent func check() async throws(StoreError) -> Release?

    /// The app has what ``check()`` found, or is about to show it.
    ///
    /// A source that remembers what it has seen, so that older copies are no news, notes it now: it must
    /// not remember what was refused. A source without a memory need not implement this.
    @concurrent func noteObeyed() async

    /// Computes what a release would cost, before a byte of it is fetched.
    @concurrent func plan(_ release: Release) async throws(StoreError) -> UpdateCost

    /// Fetches what the store lacks of a release, verifies it and registers the version.
    ///
    /// When it returns, the version of that name is complete.
    ///
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
