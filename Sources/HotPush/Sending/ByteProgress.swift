import CASStore
import Synchronization

/// How far many threads have come that read files.
final class ByteProgress: Sendable {
    private let options: PublisherOptions
    private let step: PublishProgress.Step
    private let total: Int64
    private let done = Atomic<Int64>(0)

    /// - Parameter total: how many bytes there are to be read.
    init(_ options: PublisherOptions, _ step: PublishProgress.Step, total: Int64) {
        self.options = options
        self.step = step
        self.total = total
    }

    /// Notes bytes that were read, or need not be.
    func advance(by byteCount: Int64) {
        let done = done.add(byteCount, ordering: .relaxed).newValue
        options.progress(PublishProgress(bytes: min(done, total), bytesTotal: total, step: step))
    }
}
