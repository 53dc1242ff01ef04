internal import Synchronization

/// How far a download came, for when it fails.
final class LastProgress: Sendable {
    private let state = Mutex(DownloadFigures())

    /// What it had done when it was last heard of.
    var figures: DownloadFigures { state.withLock { $0 } }

    func note(_ figures: DownloadFigures) { state.withLock { $0 = figures } }
}
