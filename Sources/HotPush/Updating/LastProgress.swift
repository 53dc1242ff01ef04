internal import Synchronization

/// How far a download came, in case it fails.
final class LastProgress: Sendable {
    private let state = Mutex(DownloadFigures())

    /// What it had done at the last report.
    var figures: DownloadFigures { state.withLock { $0 } }

    func note(_ figures: DownloadFigures) { state.withLock { $0 = figures } }
}
