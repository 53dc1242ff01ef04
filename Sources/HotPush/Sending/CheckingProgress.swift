import CASStore
import Synchronization

/// Reads files of an origin to hold them against their addresses, and tells how far it has come; from several threads.
final class CheckingProgress: Sendable {
    private let options: PublisherOptions
    private let total: Int64
    private let done = Atomic<Int64>(0)

    /// - Parameter total: how many bytes there are to be read.
    init(_ options: PublisherOptions, total: Int64) {
        self.options = options
        self.total = total
        report()
    }

    private func report() {
        let done = min(done.load(ordering: .relaxed), total)
        options.progress(PublishProgress(bytes: done, bytesTotal: total, step: .checking))
    }

    /// Notes bytes that need not be read.
    func skip(_ byteCount: Int64) {
        done.add(byteCount, ordering: .relaxed)
        report()
    }
}
