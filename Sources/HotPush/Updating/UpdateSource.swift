public import CASStore

/// Where updates come from, as ``UpdateManager`` sees it: asks, reckons, fetches into the store.
///
/// The methods run beside the actor that calls them, and may block their thread. A method whose task is
/// cancelled MUST stop soon with `.interrupted`, and keep what is staged.
public protocol UpdateSource: Sendable {
    /// What the event log calls the origin: a URL or a directory. Secrets in it are left out there.
    var origin: String { get }

    /// Asks what the origin offers; `nil` if it says that nothing has changed.
    @concurrent func check() async throws(StoreError) -> Release?

    /// Told that the app has what ``check()`` found, or that it is about to show it.
    ///
    /// A source that remembers what it has seen, so that older copies are no news, does so now: what was
    /// refused must not be remembered. Sources without a memory need not have it.
    @concurrent func noteObeyed() async

    /// Reckons what a release would cost, before a byte of it is fetched.
    @concurrent func plan(_ release: Release) async throws(StoreError) -> UpdateCost

    /// Fetches what the store lacks of a release, verifies it and registers the version.
    ///
    /// When it returns, the version of that name is complete.
    ///
    /// - Parameters:
    ///   - release: what ``check()`` gave.
    ///   - progress: called now and then, from any thread.
    @concurrent func download(
        _ release: Release, progress: @escaping @Sendable (UpdateProgress) -> Void
    ) async throws(StoreError) -> DownloadFigures
}

extension UpdateSource {
    /// Remembers nothing.
    @concurrent public func noteObeyed() async {}
}
